package app_test

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// typist is a person at a terminal.
type typist struct {
	t           *testing.T
	screen, tty *os.File
	shown       *buffer
}

// startAtTerminal runs the program at a terminal, in an environment without any other program, as in the container.
func startAtTerminal(t *testing.T, settings []string, args ...string) (*typist, func(os.Signal) (code int)) {
	t.Helper()
	screen, tty := terminal(t)
	p := &typist{t: t, screen: screen, tty: tty, shown: &buffer{}}
	go func() {
		part := make([]byte, 256)
		for {
			n, err := screen.Read(part)
			p.shown.Write(part[:n])
			if err != nil {
				return
			}
		}
	}()
	cmd := command(t, append(settings, "PATH=/nowhere"), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p, func(signal os.Signal) int {
		if signal != nil {
			cmd.Process.Signal(signal)
		}
		cmd.Wait()
		return cmd.ProcessState.ExitCode()
	}
}

// await waits until a condition holds.
func (p *typist) await(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s; the terminal shows %q", what, p.shown)
		}
	}
}

func (p *typist) echoes() bool {
	p.t.Helper()
	state, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// answer waits for a question, and types a line once the terminal hides it.
func (p *typist) answer(question, line string) {
	p.t.Helper()
	p.await(question, func() bool { return strings.HasSuffix(p.shown.String(), question) && !p.echoes() })
	if _, err := p.screen.WriteString(line + "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// TestPasswordAtTerminal checks that a password is asked for twice and never shown, even where stty isn't installed,
// and that Ctrl-C ends a question for a password or a key and leaves a terminal that shows again what is typed.
func TestPasswordAtTerminal(t *testing.T) {
	t.Parallel()
	const first, again = "Password (at least 12 characters): ", "Repeat the password: "
	settings := func(t *testing.T) []string { return []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite)} }
	for name, c := range map[string]struct{ second, want string }{
		"the same": {"correct horse battery", "ada can sign in"}, "another": {"correct horse batteri", "the two passwords differ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, wait := startAtTerminal(t, settings(t), "admin", "create", "ada")
			p.answer(first, "correct horse battery")
			p.answer(again, c.second)
			code := wait(nil)
			p.await(c.want, func() bool { return strings.Contains(p.shown.String(), c.want) })
			if succeeded := c.want == "ada can sign in"; succeeded != (code == 0) {
				t.Errorf("exit code %d", code)
			}
			if strings.Contains(p.shown.String(), "horse") {
				t.Errorf("the terminal shows %q", p.shown)
			}
		})
	}
	for _, c := range []struct {
		question string
		args     []string
	}{
		{first, []string{"admin", "create", "ada"}},
		{"API key for http://127.0.0.1:9: ", []string{"login", "--base-url", "http://127.0.0.1:9"}},
	} {
		t.Run("interrupted "+c.args[0], func(t *testing.T) {
			t.Parallel()
			p, end := startAtTerminal(t, append(settings(t), "HOME="+t.TempDir()), c.args...)
			p.await(c.question, func() bool { return strings.HasSuffix(p.shown.String(), c.question) && !p.echoes() })
			if code := end(syscall.SIGINT); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if !p.echoes() {
				t.Error("the terminal doesn't show what is typed")
			}
		})
	}
}
