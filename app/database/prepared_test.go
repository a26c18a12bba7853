package database

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

type name string

// TestPreparedValues checks that a bound value equals the value that Bun writes into the text of a query.
func TestPreparedValues(t *testing.T) {
	t.Parallel()
	db := openFile(t)
	for _, value := range []any{
		"it's ? $1", name("named"), 7, int64(-7), 0.1, true, false, []byte{0, 1, 255}, nil, uuid.MustParse("0198bbbb-0000-7000-8000-000000000001"),
		time.Date(2026, 11, 23, 10, 0, 0, 123456789, time.FixedZone("", 3600)),
	} {
		p := NewPlanned(db.Reader)
		var same bool
		err := p.Scan(t.Context(), db.Reader.NewSelect().ColumnExpr("? IS ? AND typeof(?) = typeof(?)", p.Value(value), value, p.Value(value), value), &same)
		if err != nil || !same || len(p.args) != 2 {
			t.Errorf("%T %v: the same: %t, %d values bound, %v", value, value, same, len(p.args), err)
		}
	}
}

// TestPreparedOnce checks that queries which differ only in values share a statement, that a pool keeps a bounded
// number of statements, and that one in use is not closed.
func TestPreparedOnce(t *testing.T) {
	t.Parallel()
	db := openFile(t)
	kept := db.Reader.Dialect().(preparing).statements
	ask := func(text string, n int) {
		p := NewPlanned(db.Reader)
		var got []int
		q := db.Reader.NewSelect().ColumnExpr("? + 0 AS "+text, p.Value(n)).Where("? = ?", p.Value(n), p.Value(n))
		if err := p.Scan(t.Context(), q, &got); err != nil || len(got) != 1 || got[0] != n {
			t.Errorf("%s of %d: got %v, %v", text, n, got, err)
		}
	}
	list := func(ids ...string) (n int) {
		p := NewPlanned(db.Reader)
		q := db.Reader.NewSelect().TableExpr("(SELECT 'a' AS id UNION ALL SELECT 'b' UNION ALL SELECT 'c') AS t").ColumnExpr("COUNT(*)")
		if err := p.Scan(t.Context(), p.In(q, "t.id", ids), &n); err != nil {
			t.Error(err)
		}
		return n
	}
	if one, two := list("b"), list("a", "c", "d"); one != 1 || two != 2 {
		t.Errorf("found %d and %d rows, want 1 and 2", one, two)
	}
	if n := kept.kept.Len(); n != 1 {
		t.Errorf("lists of two lengths have %d statements, want 1", n)
	}
	var group sync.WaitGroup
	for client := range 16 {
		group.Go(func() {
			for i := range 20 * keptStatements {
				ask(fmt.Sprint("c", (i*client)%(2*keptStatements)), i)
			}
		})
	}
	group.Wait()
	if n := kept.kept.Len(); n != keptStatements {
		t.Errorf("%d statements are kept, want %d", n, keptStatements)
	}
	for _, text := range kept.kept.Keys() {
		if s, _ := kept.kept.Peek(text); s.users != 0 || s.dropped {
			t.Errorf("%s has %d users at the end", text, s.users)
		}
	}
}

func openFile(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
