package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestBackupAfterACrash checks a backup that is the first to open a file whose server was killed.
// Afterwards the file must not look like a copy without its log.
func TestBackupAfterACrash(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	served := open(t, address)
	if err := served.MarkInUse(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	insert(t, served, noon)
	crashed := filepath.Join(t.TempDir(), "crashed.db") // the files that a killed server leaves
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
			t.Errorf("%s is marked as without its log since %s", path, lost)
		}
	}
}

// TestBackupWithoutTheLog checks that a file without its log gets no backup, because the backup
// would look complete.
func TestBackupWithoutTheLog(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	served := open(t, address)
	if err := served.MarkInUse(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	insert(t, served, noon)
	content, err := os.ReadFile(strings.TrimPrefix(address, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copied.db") // copied by cp, without the log
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	_, err = backup.Make(t.Context(), backup.Options{Database: "sqlite://" + copied, File: filepath.Join(folder, "backup")})
	if err == nil || !strings.Contains(err.Error(), "lost its -wal file") || !strings.Contains(err.Error(), "pulsecast doctor") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, error %v", left, err)
	}
	if lost := open(t, "sqlite://"+copied).LostWAL(); lost.IsZero() {
		t.Error("the file looks complete afterwards")
	}
}

// TestRestoreThatFailsAfterItsCommit checks that a restore is incomplete, and the database isn't
// served, if pg_restore fails after it has committed.
func TestRestoreThatFailsAfterItsCommit(t *testing.T) {
	address := dbtest.URL(t, database.Postgres)
	insert(t, open(t, address), noon)
	file, _ := mustMake(t, address)
	script := "#!/bin/sh\n" + newest(t, "pg_restore") + ` "$@" && case "$*" in *--single-transaction*) exit 1;; esac` + "\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "pg_restore"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", folder+":"+path)
	target := dbtest.Empty(t, database.Postgres)
	if _, err := backup.Restore(t.Context(), target, file, clock); err == nil {
		t.Fatal("the restore succeeded although pg_restore failed")
	}
	db := open(t, target)
	if _, err := db.Migrate(t.Context()); !errors.Is(err, database.ErrIncoming) {
		t.Errorf("got error %v, want ErrIncoming: the database could be served", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	if r, err := backup.Restore(t.Context(), target, file, clock); err != nil || r.Predictions != 1 {
		t.Errorf("the second restore: %+v, error %v", r, err)
	}
}

// TestVerificationKeepsNoSnapshot checks that a backup's snapshot has ended when the backup is verified. While there is a
// snapshot, Postgres keeps every version of a row.
func TestVerificationKeepsNoSnapshot(t *testing.T) {
	address := dbtest.URL(t, database.Postgres)
	folder := t.TempDir()
	seen := filepath.Join(folder, "seen")
	// The verification runs pg_restore. Here it first counts the transactions on the database, without its own. That of
	// pg_dump, which has ended, may end a moment later, so it counts again for at most ten seconds.
	script := "#!/bin/sh\n" + `for try in $(seq 100); do
			open=$("` + newest(t, "psql") + `" -XAtc "SELECT COUNT(*) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL" "` + address + `") || exit 1
			[ "$open" != 0 ] || break
			sleep 0.1
		done
		echo "$open" >> "` + seen + `"
		exec "` + newest(t, "pg_restore") + `" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(folder, "pg_restore"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	mustMake(t, address)
	got, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Fields(string(got)); len(n) == 0 || slices.ContainsFunc(n, func(n string) bool { return n != "0" }) {
		t.Errorf("during the verifications, the database had %v open transactions", n)
	}
}

// newest returns the path of a client program of Postgres.
func newest(t *testing.T, name string) string {
	t.Helper()
	tools, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(tools) == 0 {
		t.Fatalf("%s is not installed (error %v)", name, err)
	}
	return tools[len(tools)-1]
}
