package database_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestPreparedValues checks that a bound value equals the value that Bun writes into the text of a query.
func TestPreparedValues(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	for _, value := range []any{
		"it's ? $1", word("named"), 7, int64(-7), 0.1, true, false, []byte{0, 1, 255}, nil, uuid.MustParse("0198bbbb-0000-7000-8000-000000000001"),
		time.Date(2026, 11, 23, 10, 0, 0, 123456789, time.FixedZone("", 3600)),
	} {
		p := database.NewPlanned(db.Reader)
		var same bool
		err := p.Scan(t.Context(), db.Reader.NewSelect().ColumnExpr("? IS ? AND typeof(?) = typeof(?)", p.Value(value), value, p.Value(value), value), &same)
		if err != nil || !same || database.BoundValues(p) != 2 {
			t.Errorf("%T %v: the same: %t, %d values bound, %v", value, value, same, database.BoundValues(p), err)
		}
	}
}

// TestPreparedOnce checks that queries which differ only in values share a statement, and that a connection keeps a
// bounded number of statements.
func TestPreparedOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	db.Reader.SetMaxOpenConns(1)
	ask := func(text string, n int) {
		p := database.NewPlanned(db.Reader)
		var got []int
		q := db.Reader.NewSelect().ColumnExpr("? + 0 AS "+text, p.Value(n)).Where("? = ?", p.Value(n), p.Value(n))
		if err := p.Scan(t.Context(), q, &got); err != nil || len(got) != 1 || got[0] != n {
			t.Errorf("%s of %d: got %v, %v", text, n, got, err)
		}
	}
	list := func(ids ...string) (n int) {
		p := database.NewPlanned(db.Reader)
		q := db.Reader.NewSelect().TableExpr("(SELECT 'a' AS id UNION ALL SELECT 'b' UNION ALL SELECT 'c') AS t").ColumnExpr("COUNT(*)")
		if err := p.Scan(t.Context(), p.In(q, "t.id", ids), &n); err != nil {
			t.Error(err)
		}
		return n
	}
	if one, two := list("b"), list("a", "c", "d"); one != 1 || two != 2 {
		t.Errorf("found %d and %d rows, want 1 and 2", one, two)
	}
	if kept := keptStatements(t, db); kept != 1 {
		t.Errorf("lists of two lengths have %d statements, want 1", kept)
	}
	var group sync.WaitGroup
	for client := range 16 {
		group.Go(func() {
			for i := range 20 * database.KeptStatements {
				ask(fmt.Sprint("c", (i*client)%(2*database.KeptStatements)), i)
			}
		})
	}
	group.Wait()
	if kept := keptStatements(t, db); kept != database.KeptStatements {
		t.Errorf("%d statements are kept, want %d", kept, database.KeptStatements)
	}
}

func keptStatements(t *testing.T, db *database.DB) int {
	t.Helper()
	conn, err := db.Reader.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return database.Statements(conn)
}

// TestPreparedInUse checks that a query can run again while its rows are read, and that a failed statement can be
// used again.
func TestPreparedInUse(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		const series = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n"
		sum := 0
		outer, err := tx.Tx.QueryContext(ctx, series, 3)
		if err != nil {
			return err
		}
		defer outer.Close()
		for outer.Next() {
			inner, err := tx.Tx.QueryContext(ctx, series, 2)
			if err != nil {
				return err
			}
			for inner.Next() {
				var i int
				if err := inner.Scan(&i); err != nil {
					return err
				}
				sum += i
			}
			if err := errors.Join(inner.Err(), inner.Close()); err != nil {
				return err
			}
		}
		if err := outer.Err(); err != nil || sum != 3*(1+2) {
			t.Errorf("the sum is %d, want 9; %v", sum, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{nil, "a note"} { // a note must not be NULL
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.Tx.ExecContext(ctx, "INSERT INTO reserved_handles (handle, note, author, created_at) VALUES (?, ?, 'me', '')", "taken", value)
			return err
		})
		if (err != nil) != (value == nil) {
			t.Errorf("insert %v: %v", value, err)
		}
	}
}
