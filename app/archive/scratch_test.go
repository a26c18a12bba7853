package archive_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/pulsecast/pulsecast/app/archive"
)

// TestScratch checks that a node that is killed while it writes a day leaves no file behind.
func TestScratch(t *testing.T) {
	t.Parallel()
	file, err := archive.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is in the folder: %v", file.Name(), err)
	}
	if _, err := file.WriteString("rows"); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 10))
	if err != nil || string(content) != "rows" {
		t.Errorf("read %q: %v", content, err)
	}
}
