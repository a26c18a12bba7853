package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/partition"
	"github.com/pulsecast/pulsecast/app/update"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// insert adds a prediction row directly, because these tests are about rows.
func insert(t *testing.T, db *database.DB, at time.Time) uuid.UUID {
	t.Helper()
	id := database.NewID(at)
	_, err := db.NewRaw(`INSERT INTO predictions (agent_id, id, title, thesis, confidence, horizon_at, category, model, evidence, hidden, sample, created_at)
		VALUES (?, ?, ?, 'It must.', 0.7, ?, 'general', '', '[]', FALSE, FALSE, ?)`,
		"00000000-0000-7000-8000-000000000002", id, "A title\twith \\. and\nlines", at, at).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func open(t *testing.T, address string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// each runs a test on both engines with the address of a migrated database.
func each(t *testing.T, test func(t *testing.T, address string, kind database.Kind)) {
	t.Helper()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, dbtest.URL(t, kind), kind)
		})
	}
}

func mustMake(t *testing.T, address string) (file string, r *backup.Report) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup")
	r, err := backup.Make(t.Context(), backup.Options{Database: address, File: file})
	if err != nil {
		t.Fatal(err)
	}
	return file, r
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		db := open(t, address)
		if err := db.MarkInUse(t.Context(), noon); err != nil {
			t.Fatal(err)
		}
		ids := []uuid.UUID{insert(t, db, noon.Add(-time.Minute)), insert(t, db, noon)}
		for _, statement := range []string{
			"INSERT INTO leases (name, holder, expires_at) VALUES ('markets', 'x', ?)",
			"INSERT INTO sessions (hash, agent_id, credential, scope, created_at, expires_at) VALUES ('x', '00000000-0000-7000-8000-000000000002', '', '', ?0, ?0)",
			"UPDATE update_head SET last = 41",
		} {
			if _, err := db.NewRaw(statement, noon).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		file, made := mustMake(t, address)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != made.Bytes || made.Predictions != 2 || made.Kind != kind {
			t.Errorf("report %+v, file %v, error %v", made, info, err)
		}
		if left, err := filepath.Glob(file + ".*"); err != nil || len(left) > 0 {
			t.Errorf("files left: %q, error %v", left, err)
		}
		insert(t, db, noon.Add(time.Minute))

		target := dbtest.Empty(t, kind)
		got, err := backup.Restore(t.Context(), target, file, clock)
		if err != nil {
			t.Fatal(err)
		}
		if got.Predictions != 2 || !got.Latest.Equal(noon) || len(got.Migrated) > 0 || got.Sessions != 1 {
			t.Errorf("%+v", got)
		}
		again := open(t, target)
		var found []uuid.UUID
		if err := again.NewRaw("SELECT id FROM predictions ORDER BY id").Scan(t.Context(), &found); err != nil || !slices.Equal(found, ids) {
			t.Errorf("restored %v (error %v), want %v", found, err, ids)
		}
		head, err := update.Store{}.Head(t.Context(), again)
		if err != nil || head.Last < noon.UnixMicro() || head.Deleted != head.Last {
			t.Errorf("the updates continue at %+v (error %v)", head, err)
		}
		for table, want := range map[string]int64{"leases": 0, "sessions": 0, "audit_log": 1} {
			if n, err := database.CountRows(t.Context(), again, table); err != nil || n != want {
				t.Errorf("%s has %d rows, want %d (error %v)", table, n, want, err)
			}
		}
		if !again.LostWAL().IsZero() {
			t.Error("the restored file is marked as a copy without its -wal file")
		}
		if names, err := again.Migrate(t.Context()); err != nil || len(names) > 0 {
			t.Errorf("migrations %q, error %v: the database can't be served", names, err)
		}
	})
}

// TestBackupOfPartitions checks that the rows of a partitioned table are counted, and that they are
// restored into partitions.
func TestBackupOfPartitions(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.Postgres)
	dbtest.Spread(t, address)
	db := open(t, address)
	if err := partition.Prepare(t.Context(), db, partition.Monthly, noon, noon); err != nil {
		t.Fatal(err)
	}
	insert(t, db, noon)
	insert(t, db, noon.Add(time.Minute))
	file, made := mustMake(t, address)
	target := dbtest.Empty(t, database.Postgres)
	got, err := backup.Restore(t.Context(), target, file, clock)
	if err != nil {
		t.Fatal(err)
	}
	if made.Predictions != 2 || got.Predictions != 2 {
		t.Errorf("backed up %d predictions and restored %d, want 2", made.Predictions, got.Predictions)
	}
	restored := open(t, target)
	if divided, err := partition.Divided(t.Context(), restored); err != nil || !divided {
		t.Errorf("divided into partitions: %t, error %v", divided, err)
	}
	if err := partition.Tick(t.Context(), restored, noon.AddDate(0, 2, 0)); err != nil {
		t.Error(err)
	}
}

// TestBackupIsOfOneMoment checks that a backup made during writes contains each transaction
// completely or not at all.
func TestBackupIsOfOneMoment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		db := open(t, address)
		stop, done := make(chan struct{}), make(chan int)
		first := make(chan struct{})
		go func() {
			n := 0
			for ; ; n++ {
				select {
				case <-stop:
					done <- n
					return
				default:
				}
				err := db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
					for _, key := range []string{"a", "b"} {
						_, err := tx.NewRaw("INSERT INTO reserved_handles (handle, note, author, created_at) VALUES (?, '', '', ?)", fmt.Sprint(key, n), noon).Exec(ctx)
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if n == 5 {
					close(first)
				}
			}
		}()
		<-first
		file, _ := mustMake(t, address)
		close(stop)
		if n := <-done; n < 6 {
			t.Errorf("%d writes", n)
		}
		target := dbtest.Empty(t, kind)
		if _, err := backup.Restore(t.Context(), target, file, clock); err != nil {
			t.Fatal(err)
		}
		var handles []string
		if err := open(t, target).NewRaw("SELECT handle FROM reserved_handles").Scan(t.Context(), &handles); err != nil {
			t.Fatal(err)
		}
		if len(handles) < 12 {
			t.Errorf("%d rows were committed before the backup, but it has %d", 12, len(handles))
		}
		for _, h := range handles {
			if !slices.Contains(handles, map[byte]string{'a': "b", 'b': "a"}[h[0]]+h[1:]) {
				t.Errorf("%s is restored without the other row of its transaction", h)
			}
		}
	})
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		file, _ := mustMake(t, address)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		insert(t, open(t, address), noon)
		_, err = backup.Make(t.Context(), backup.Options{Database: address, File: file})
		var exists *backup.ExistsError
		if after, _ := os.ReadFile(file); !errors.As(err, &exists) || !bytes.Equal(before, after) {
			t.Errorf("the file was overwritten, or the error is %v", err)
		}
		r, err := backup.Make(t.Context(), backup.Options{Database: address, File: file, Force: true})
		if err != nil || r.Predictions != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := backup.Make(t.Context(), backup.Options{Database: address, File: filepath.Join(t.TempDir(), "no", "x")}); err == nil ||
			!strings.Contains(err.Error(), "doesn't exist") {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		dir := t.TempDir()
		if _, err := backup.Make(ctx, backup.Options{Database: address, File: filepath.Join(dir, "x")}); err == nil {
			t.Error("a cancelled backup succeeded")
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("a cancelled backup left %v (error %v)", left, err)
		}
	})
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		db := open(t, address)
		insert(t, db, noon)
		file, _ := mustMake(t, address)
		refused := func(target, file, says string) {
			t.Helper()
			if _, err := backup.Restore(t.Context(), target, file, clock); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got error %v, want one with %q", err, says)
			}
		}
		refused(address, file, map[database.Kind]string{database.SQLite: "exists; move it away", database.Postgres: "has tables already"}[kind])
		other := map[database.Kind]database.Kind{database.SQLite: database.Postgres, database.Postgres: database.SQLite}[kind]
		refused(dbtest.Empty(t, other), file, "pulsecast copy")

		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		broken := filepath.Join(t.TempDir(), "broken")
		for _, c := range []struct {
			content []byte
			says    string
		}{
			{[]byte("hello"), "is not a backup"}, {nil, "is not a backup"}, {content[:len(content)/2], ""},
		} {
			if err := os.WriteFile(broken, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			target := dbtest.Empty(t, kind)
			refused(target, broken, c.says)
			if _, err := backup.Restore(t.Context(), target, file, clock); err != nil {
				t.Errorf("restore after a broken backup: %v", err)
			}
		}

		if _, err := db.ExecContext(t.Context(), "INSERT INTO bun_migrations (name, group_id) VALUES ('20991231000001', 9)"); err != nil {
			t.Fatal(err)
		}
		newer, _ := mustMake(t, address)
		refused(dbtest.Empty(t, kind), newer, "newer")

		if kind == database.Postgres {
			target := dbtest.Empty(t, kind)
			if err := open(t, target).PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			refused(target, file, "1 other connections are open to it")
		}
	})
}

// TestRestoreOfAnOlderSchema checks that a restore runs the migrations that the backup lacks.
func TestRestoreOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "old.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	file := filepath.Join(t.TempDir(), "old")
	for _, statement := range []string{
		`CREATE TABLE bun_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR, group_id INTEGER, migrated_at TIMESTAMP NOT NULL DEFAULT current_timestamp)`,
		"VACUUM INTO '" + file + "'",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	got, err := backup.Restore(t.Context(), dbtest.Empty(t, database.SQLite), file, clock)
	if err != nil || len(got.Migrated) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRestoreBesideALostLog checks that a restore refuses a path with the log of another database.
// SQLite would apply that log to the restored file.
func TestRestoreBesideALostLog(t *testing.T) {
	t.Parallel()
	file, _ := mustMake(t, dbtest.URL(t, database.SQLite))
	target := dbtest.Empty(t, database.SQLite)
	path, _ := database.SQLitePath(target)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), target, file, clock); err == nil || !strings.Contains(err.Error(), "-wal exists") {
		t.Error(err)
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	release, err := database.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), target, file, clock); !errors.Is(err, database.ErrInUse) {
		t.Errorf("got error %v, want ErrInUse: a server may use the file", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), target, file, clock); err != nil {
		t.Error(err)
	}
}

// TestInterruptedRestoreIsNotServed checks that an interrupted restore can't be served and can be
// run again.
func TestInterruptedRestoreIsNotServed(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.Postgres)
	insert(t, open(t, address), noon)
	file, _ := mustMake(t, address)
	target := dbtest.Empty(t, database.Postgres)
	ctx, cancel := context.WithCancel(t.Context())
	interrupt := func() time.Time { cancel(); return noon } // called after the tables are filled
	if _, err := backup.Restore(ctx, target, file, interrupt); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	db := open(t, target)
	if _, err := db.Migrate(t.Context()); !errors.Is(err, database.ErrIncoming) {
		t.Errorf("got error %v, want ErrIncoming: the database could be served", err)
	}
	other := dbtest.URL(t, database.Postgres)
	insert(t, open(t, other), noon.Add(time.Hour))
	otherFile, _ := mustMake(t, other)
	if _, err := backup.Restore(t.Context(), target, otherFile, clock); err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Errorf("the restore was completed with another backup: error %v", err)
	}
	if _, err := backup.Restore(t.Context(), target, file, clock); err == nil || !strings.Contains(err.Error(), "stop every server") {
		t.Errorf("the restore was completed beside another connection: error %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := backup.Restore(t.Context(), target, file, clock); err != nil || r.Predictions != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := open(t, target).Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRestoreRemovesKilledRestores checks that a restore deletes what killed ones have left at its path, and nothing
// else. These files hold hashes of keys, and each is as large as a database.
func TestRestoreRemovesKilledRestores(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	insert(t, open(t, address), noon)
	file, _ := mustMake(t, address)
	dir := t.TempDir()
	left := map[string]bool{ // whether it stays
		"pulse.db.123.part": false, "pulse.db.123.part-wal": false, "pulse.db.part": true, "pulse.db.x.part": true, "pulse.db..part": true, "other.db.123.part": true, "pulse.db.123": true,
	}
	for name := range left {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.Restore(t.Context(), "sqlite://"+filepath.Join(dir, "pulse.db"), file, clock); err != nil {
		t.Fatal(err)
	}
	for name, stays := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: got error %v, want it left: %t", name, err, stays)
		}
	}
}

// TestStoppedBackupIsNoFailure checks that a node that stops during a backup doesn't count it as a failed one, because
// another node makes it at once.
func TestStoppedBackupIsNoFailure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		s := &backup.Schedule{
			DB: open(t, address), Database: address, Dir: t.TempDir(), Every: time.Hour, Keep: 2, Log: slog.New(slog.DiscardHandler),
			Now: func() time.Time {
				if asked++; asked == 1 { // the backup begins
					cancel()
				}
				return noon
			},
		}
		if _, err := s.Tick(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if state, err := backup.ReadState(t.Context(), s.DB); err != nil || state.Failing() {
			t.Errorf("%+v, %v", state, err)
		}
		if _, err := s.Tick(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		now, dir := noon, filepath.Join(t.TempDir(), "backups")
		s := &backup.Schedule{
			DB: open(t, address), Database: address, Dir: dir, Every: time.Hour, Keep: 2,
			Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		others := []string{"mine.db", "pulsecast-x.db", "pulsecast-20200101T000000Z.txt"}
		for _, name := range others {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		suffix := map[database.Kind]string{database.SQLite: ".db", database.Postgres: ".dump"}[kind]
		tick := func() error { _, err := s.Tick(t.Context()); return err }
		files := func(want ...string) {
			t.Helper()
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
			}
			for i, moment := range want {
				want[i] = "pulsecast-20261122T" + moment + "Z" + suffix
			}
			if want = append(want, others...); len(got) != len(want) || slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) }) {
				t.Errorf("got files %q, want %q", got, want)
			}
		}
		for range 2 { // no backup is due the second time
			if err := tick(); err != nil {
				t.Fatal(err)
			}
		}
		files("120000")
		now = noon.Add(time.Hour)
		if err := tick(); err != nil {
			t.Fatal(err)
		}
		files("120000", "130000")

		good := s.Database
		s.Database = dbtest.Empty(t, kind)
		now = noon.Add(2 * time.Hour)
		for range 2 {
			if tick() == nil {
				t.Error("a backup of an empty database succeeded")
			}
		}
		files("120000", "130000")
		state, err := backup.ReadState(t.Context(), s.DB)
		if err != nil || state.Failures != 2 || !state.Failing() || !state.At.Equal(noon.Add(time.Hour)) || state.Late(now, s.Every) || !state.Late(now.Add(61*time.Minute), s.Every) {
			t.Errorf("%+v, %v", state, err)
		}
		s.Database = good
		if err := tick(); err != nil {
			t.Fatal(err)
		}
		files("130000", "140000")
		if state, err := backup.ReadState(t.Context(), s.DB); err != nil || state.Failing() || state.Late(now, s.Every) || state.Bytes == 0 || state.Name != "pulsecast-20261122T140000Z"+suffix {
			t.Errorf("%+v, %v", state, err)
		}

		now = noon.Add(30 * time.Minute) // the clock was ahead, and is set back
		if state, err := backup.ReadState(t.Context(), s.DB); err != nil || !state.Late(now, s.Every) {
			t.Errorf("a backup of the future isn't late: %+v, %v", state, err)
		}
		if err := tick(); err != nil {
			t.Fatal(err)
		}
		if state, err := backup.ReadState(t.Context(), s.DB); err != nil || !state.At.Equal(now) || state.Late(now, s.Every) {
			t.Errorf("after the clock was set back: %+v, %v", state, err)
		}
		files("123000", "140000")
		now = noon.Add(90 * time.Minute)
		if err := tick(); err != nil {
			t.Fatal(err)
		}
		files("123000", "133000")

		s.Dir = filepath.Join(dir, "mine.db")
		if err := s.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "BACKUP_DIR: ") {
			t.Error(err)
		}
	})
}

// TestScheduleRemovesUnfinishedFiles checks that the files of a killed attempt don't take the space of the next one,
// even if that fails. On Postgres, a file that was written lately may be that of another node.
func TestScheduleRemovesUnfinishedFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, address string, kind database.Kind) {
		dir, suffix := t.TempDir(), map[database.Kind]string{database.SQLite: ".db", database.Postgres: ".dump"}[kind]
		s := &backup.Schedule{
			DB: open(t, address), Database: dbtest.Empty(t, kind), Dir: dir, Every: time.Hour, Keep: 2, Now: clock, Log: slog.New(slog.DiscardHandler),
		}
		killed := "pulsecast-20261121T120000Z" + suffix + ".123.part"
		for name, c := range map[string]struct {
			age  time.Duration
			left bool
		}{
			killed:              {13 * time.Hour, false},
			killed + "-journal": {13 * time.Hour, false},
			killed + "-wal":     {-13 * time.Hour, false}, // a clock was ahead
			"pulsecast-20261122T110000Z" + suffix + ".4.part":     {time.Hour, kind == database.Postgres},
			"pulsecast-20261122T110000Z" + suffix + ".4.part-wal": {time.Hour, kind == database.Postgres},
			"pulsecast-monday" + suffix + ".5.part":               {13 * time.Hour, true}, // of the command
			"pulsecast-20261121T110000Z" + suffix:                 {13 * time.Hour, true},
		} {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Time{}, noon.Add(-c.age)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Tick(t.Context()); err == nil {
				t.Fatal("a backup of an empty database succeeded")
			}
			if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) == c.left {
				t.Errorf("%s: got error %v, want it left: %t", name, err, c.left)
			}
		}
	})
}

// TestPoolerIsRefused checks that a backup and a restore through a pooler in transaction mode are refused. pg_dump and
// pg_restore would leave its connections to other clients without a search_path.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, database.Postgres)
	file, _ := mustMake(t, direct)
	address, dir := dbtest.StartPooler(t, direct, "transaction"), t.TempDir()
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "DATABASE_URL leads through a connection pooler") || !strings.Contains(err.Error(), "name Postgres itself") {
			t.Errorf("%s: got error %v", what, err)
		}
	}
	_, err := backup.Make(t.Context(), backup.Options{Database: address, File: filepath.Join(dir, "backup")})
	refused("a backup", err)
	_, err = backup.Restore(t.Context(), dbtest.StartPooler(t, dbtest.Empty(t, database.Postgres), "transaction"), file, clock)
	refused("a restore", err)
	s := &backup.Schedule{DB: open(t, address), Database: address, Dir: dir, Every: time.Hour, Keep: 2, Now: clock, Log: slog.New(slog.DiscardHandler)}
	refused("the check of a schedule", s.Check(t.Context()))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, error %v", left, err)
	}
}

// TestRestoreAfterMigrateCommands checks that Postgres databases without tables can be restored into although the
// migrations were listed, or undone.
func TestRestoreAfterMigrateCommands(t *testing.T) {
	t.Parallel()
	file, _ := mustMake(t, dbtest.URL(t, database.Postgres))
	for name, c := range map[string]struct {
		address string
		run     func(db *database.DB) error
	}{
		"status": {dbtest.Empty(t, database.Postgres), func(db *database.DB) error { _, err := db.Migrations(t.Context()); return err }},
		"down":   {dbtest.URL(t, database.Postgres), func(db *database.DB) error { _, err := db.Rollback(t.Context()); return err }},
	} {
		db := open(t, c.address)
		if err := errors.Join(c.run(db), db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(t.Context(), c.address, file, clock); err != nil {
			t.Errorf("after migrate %s: %v", name, err)
		}
		if names, err := open(t, c.address).Migrate(t.Context()); err != nil || len(names) > 0 {
			t.Errorf("after migrate %s and the restore: migrations %q, error %v", name, names, err)
		}
	}
}
