package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestBackupAfterACrash: a backup may be the first to open a file whose server was killed. The
// file must not look like a copy without its log afterwards.
func TestBackupAfterACrash(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	served := open(t, address)
	if err := served.MarkInUse(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	insert(t, served, noon)
	crashed := filepath.Join(t.TempDir(), "crashed.db") // as a killed server leaves it
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(strings.TrimPrefix(address, "sqlite://") + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(crashed+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "backup")
	r, err := backup.Make(t.Context(), backup.Options{Database: "sqlite://" + crashed, File: file})
	if err != nil || r.Predictions != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, path := range []string{crashed, file} {
		if lost := open(t, "sqlite://"+path).LostWAL(); !lost.IsZero() {
			t.Errorf("%s looks as if it had lost its log since %s", path, lost)
		}
	}
}
