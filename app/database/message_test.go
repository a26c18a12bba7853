package database_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// number is a row of v.
type number struct {
	N int64 `bun:",type:bigint"`
}

// numbers makes a Read of a query that finds numbers.
func numbers(query string, rows []number, found *[]int64) database.Read {
	return database.NewRead("read numbers", query, rows, func(list []number) {
		for _, r := range list {
			*found = append(*found, r.N)
		}
	})
}

// TestReadsOfEverything checks that values of every type come back from ScanReads as they were stored.
func TestReadsOfEverything(t *testing.T) {
	t.Parallel()
	type row struct {
		ID    uuid.UUID `bun:",type:uuid"`
		Text  string    `bun:",type:text"`
		Maybe string    `bun:",nullzero,type:text"`
		Count int64     `bun:",type:bigint"`
		Ratio *float64  `bun:",type:double precision"`
		At    time.Time `bun:",nullzero,type:timestamptz"`
		Flag  bool      `bun:",type:boolean"`
		Mark  []byte    `bun:",type:bytea"`
		List  []string  `bun:",type:jsonb"`
	}
	third := 1. / 3
	want := []row{
		{uuid.New(), `a "quoted" \ {b}, 'c' NULL ?`, "é\n", -7, &third, time.Date(2026, 11, 21, 1, 2, 3, 456789000, time.UTC), true, []byte{0, 255}, []string{"Yes", `"N"o`}},
		{uuid.New(), "", "", 1 << 60, nil, time.Time{}, false, []byte{}, nil},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for range 2 { // the second time with prepared statements
			var got []row
			var small []int64
			err := database.ScanReads(t.Context(), db,
				database.NewRead("read everything", "SELECT * FROM v ORDER BY count", want, func(list []row) { got = list }),
				numbers("SELECT n FROM v", nil, &small), // has no rows
				numbers("SELECT CAST(n AS INTEGER) AS n FROM v ORDER BY n", []number{{2}, {1}}, &small),
			)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if !got[i].At.IsZero() {
					got[i].At = got[i].At.UTC()
				}
			}
			if !reflect.DeepEqual(got, want) || !slices.Equal(small, []int64{1, 2}) {
				t.Errorf("got  %+v, %v\nwant %+v", got, small, want)
			}
		}
	})
}

// TestMessages counts the round trips to Postgres.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := dbtest.WatchConnections(t, dbtest.Empty(t, database.Postgres))
	db, err := database.Open(t.Context(), w.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.DB.DB.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE numbers (n BIGINT NOT NULL)")
	var found []int64
	read := func(ctx context.Context, tx bun.Tx) error {
		return database.ScanReads(ctx, tx, numbers("SELECT n FROM v", []number{{1}}, &found), numbers("SELECT n + 1 AS n FROM v", []number{{1}}, &found))
	}
	last := func(ctx context.Context, tx bun.Tx) error {
		return database.ExecLast(ctx, tx, database.NewInsert("numbers", []number{{1}}, ""))
	}
	both := func(ctx context.Context, tx bun.Tx) error { return errors.Join(read(ctx, tx), last(ctx, tx)) }
	undo := errors.New("undo")
	for _, c := range []struct {
		name  string
		run   func(context.Context, func(context.Context, bun.Tx) error) error
		fn    func(ctx context.Context, tx bun.Tx) error
		trips int
		err   error
	}{
		{"nothing", db.InBriefTx, func(context.Context, bun.Tx) error { return nil }, 0, nil},
		{"reads", db.InBriefTx, read, 2, nil},
		{"last", db.InBriefTx, last, 1, nil},
		{"both", db.InBriefTx, both, 2, nil},
		{"both, in an ordinary transaction", db.InTx, both, 4, nil},
		{"rolled back", db.InBriefTx, func(ctx context.Context, tx bun.Tx) error { return errors.Join(read(ctx, tx), undo) }, 2, undo},
		{"rolled back before anything was sent", db.InBriefTx, func(ctx context.Context, tx bun.Tx) error { return errors.Join(last(ctx, tx), undo) }, 0, undo},
	} {
		var trips []int
		for range 2 { // the first time, statements are prepared
			before := w.Trips()
			if err := c.run(t.Context(), c.fn); !errors.Is(err, c.err) {
				t.Fatalf("%s: %v", c.name, err)
			}
			trips = append(trips, w.Trips()-before)
		}
		if trips[1] != c.trips {
			t.Errorf("%s: %d round trips, want %d", c.name, trips[1], c.trips)
		}
	}
	if n := count(t, db, "numbers"); n != 6 {
		t.Errorf("%d rows are stored, want 6", n)
	}
}

// TestReadsSeeWhatCommitsBeforeThem checks that a read behind one that waits for a lock sees what the holder of the lock
// committed.
func TestReadsSeeWhatCommitsBeforeThem(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	exec(t, db, "CREATE TABLE numbers (n BIGINT NOT NULL); CREATE TABLE locks (n BIGINT NOT NULL); INSERT INTO locks VALUES (1)")
	holder, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"SELECT n FROM locks FOR UPDATE", "INSERT INTO numbers VALUES (7)"} {
		if _, err := holder.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var locked, found []int64
	const lock = "SELECT locks.n FROM v JOIN locks ON locks.n = v.n FOR UPDATE OF locks"
	ended := make(chan error, 1)
	go func() {
		ended <- db.InBriefTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return database.ScanReads(ctx, tx, numbers(lock, []number{{1}}, &locked), numbers("SELECT numbers.n FROM v CROSS JOIN numbers", []number{{1}}, &found))
		})
	}()
	untilRunning(t, db, lock, true)
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !slices.Equal(locked, []int64{1}) || !slices.Equal(found, []int64{7}) {
		t.Errorf("locked %v and found %v: %v", locked, found, err)
	}
}

// TestFailedMessages checks that a message which fails stores nothing, says what failed, and leaves a connection that can be
// used.
func TestFailedMessages(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	db.DB.DB.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE numbers (n BIGINT PRIMARY KEY); CREATE TABLE others (n BIGINT); INSERT INTO numbers VALUES (1)")
	var found []int64
	good := numbers("SELECT n FROM v", []number{{1}}, &found)
	wrong := numbers("SELECT n / (n - 1) AS n FROM v", []number{{1}}, &found)
	insert := func(n int64) database.Write { return database.NewInsert("numbers", []number{{n}}, "") }
	for name, c := range map[string]struct {
		fn  func(ctx context.Context, tx bun.Tx) error
		err string
	}{
		"a read": {func(ctx context.Context, tx bun.Tx) error { return database.ScanReads(ctx, tx, good, wrong, good) }, "read numbers: ERROR: division by zero"},
		"a statement that can't be prepared": {
			func(ctx context.Context, tx bun.Tx) error {
				return database.ScanReads(ctx, tx, good, numbers("SELECT m FROM v", []number{{1}}, &found))
			}, `column "m" does not exist`,
		},
		"the last statement": {
			func(ctx context.Context, tx bun.Tx) error {
				return errors.Join(database.ScanReads(ctx, tx, good), database.ExecLast(ctx, tx, insert(1)))
			}, "duplicate key",
		},
		"the last statement, after another": {
			func(ctx context.Context, tx bun.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO others VALUES (1)")
				return errors.Join(err, database.ExecLast(ctx, tx, insert(1)))
			}, "duplicate key",
		},
		"the last statement, before another": {
			func(ctx context.Context, tx bun.Tx) error {
				if err := database.ExecLast(ctx, tx, insert(1)); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, "INSERT INTO others VALUES (1)")
				return err
			}, "duplicate key",
		},
		"a transaction that goes on after an error": {
			func(ctx context.Context, tx bun.Tx) error {
				if database.ScanReads(ctx, tx, wrong) == nil {
					t.Error("divided by zero")
				}
				return nil
			}, "commit unexpectedly resulted in rollback",
		},
	} {
		err := db.InBriefTx(t.Context(), c.fn)
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %s", name, err, c.err)
		}
		if stored, others := count(t, db, "numbers"), count(t, db, "others"); stored != 1 || others != 0 {
			t.Errorf("%s: %d and %d rows are stored, want 1 and 0", name, stored, others)
		}
	}
}

// TestMessagesAfterOtherStatements checks that statements outside messages run in their order.
func TestMessagesAfterOtherStatements(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	exec(t, db, "CREATE TABLE numbers (n BIGINT PRIMARY KEY)")
	err := db.InBriefTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO numbers VALUES (1)"); err != nil {
			return err
		}
		var found []int64
		read := numbers("SELECT numbers.n FROM v CROSS JOIN numbers ORDER BY n", []number{{1}}, &found)
		if err := database.ScanReads(ctx, tx, read); err != nil {
			return err
		}
		if err := database.ExecLast(ctx, tx, database.NewInsert("numbers", []number{{2}}, "")); err != nil {
			return err
		}
		if err := database.ScanReads(ctx, tx, read); err != nil {
			return err
		}
		if want := []int64{1, 1, 2}; !slices.Equal(found, want) {
			return fmt.Errorf("found %v, want %v", found, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMessagesAfterAChange checks that a connection prepares a statement again after a change of a table's columns. The first
// try fails.
func TestMessagesAfterAChange(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	db.DB.DB.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (1)")
	read := func() error {
		var found []int64
		return database.ScanReads(t.Context(), db, numbers("SELECT numbers.n FROM v CROSS JOIN numbers", []number{{1}}, &found))
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "ALTER TABLE numbers ALTER n TYPE BIGINT")
	if err := read(); err == nil {
		t.Error("the plan is still used, so the test shows nothing")
	}
	if err := read(); err != nil {
		t.Errorf("after the change: %v", err)
	}
}

func exec(t *testing.T, db *database.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, db *database.DB, table string) (n int) {
	t.Helper()
	if err := db.NewRaw("SELECT COUNT(*) FROM ?", bun.Ident(table)).Scan(t.Context(), &n); err != nil {
		t.Fatal(err)
	}
	return n
}
