package app_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// terminal returns both ends of a new terminal: what a program writes to tty can be read from screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this machine has no terminals: /dev/ptmx is missing")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// TestCopyShowsProgress checks that copy draws its progress on a terminal, and there only on stderr. TestCopyCommand
// checks that it draws none elsewhere.
func TestCopyShowsProgress(t *testing.T) {
	t.Parallel()
	screen, tty := terminal(t)
	cmd := command(t, nil, "copy", "--from", dbtest.URL(t, database.SQLite), "--to", dbtest.Empty(t, database.Postgres))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tty.Close(); err != nil { // so that reading ends with the program
		t.Fatal(err)
	}
	drawn, err := io.ReadAll(screen) // ends with EIO
	if waited := cmd.Wait(); waited != nil {
		t.Fatalf("%v, %v: %s", waited, err, drawn)
	}
	if !strings.Contains(string(drawn), "Copying and comparing") || !strings.Contains(string(drawn), "%") {
		t.Errorf("the terminal shows %q", drawn)
	}
	if strings.Contains(out.String(), "Copying") || !strings.Contains(out.String(), "the checksums of both sides agree") {
		t.Errorf("stdout: %q", &out)
	}
}
