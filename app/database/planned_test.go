package database_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

type word string

// TestPlanned checks that a query with other values is planned once and finds the same rows as an
// ordinary query.
func TestPlanned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		if db.Kind == database.Postgres {
			db.SetMaxOpenConns(1)
		}
		if _, err := db.ExecContext(ctx, "CREATE TABLE letters (word TEXT, mark "+map[database.Kind]string{database.Postgres: "BYTEA", database.SQLite: "BLOB"}[db.Kind]+", n BIGINT)"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(ctx, "INSERT INTO letters VALUES (?, ?, 1), (?, ?, 2), (?, ?, 3)", "a ? 'b'", []byte{0, 1}, "a ? 'b'", []byte{0, 2}, "c", []byte{0, 3}); err != nil {
			t.Fatal(err)
		}
		find := func(idb bun.IDB, w word, after []byte, n int64) (found []int64) {
			p := database.NewPlanned(idb)
			q := idb.NewSelect().TableExpr("letters AS l").Column("l.n").Where("l.word = ?", p.Value(w)).
				Where("l.mark > ?", p.Value(after)).Where("l.n < ?", p.Value(n)).Order("l.n")
			var rows []struct{ N int64 }
			if err := p.Scan(ctx, q, &rows); err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				found = append(found, r.N)
			}
			return found
		}
		for range 2 {
			if got := find(db.DB, "a ? 'b'", []byte{0, 0}, 9); !slices.Equal(got, []int64{1, 2}) {
				t.Errorf("all: %v", got)
			}
			if got := find(db.DB, "a ? 'b'", []byte{0, 1}, 9); !slices.Equal(got, []int64{2}) {
				t.Errorf("behind a mark: %v", got)
			}
			if got := find(db.DB, "d", nil, 9); len(got) != 0 {
				t.Errorf("of an unknown word: %v", got)
			}
		}
		err := db.InTx(ctx, func(_ context.Context, tx bun.Tx) error {
			if got := find(tx, "c", []byte{0}, 4); !slices.Equal(got, []int64{3}) {
				t.Errorf("in a transaction: %v", got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if db.Kind != database.Postgres {
			return
		}
		var plans, runs int
		err = db.QueryRowContext(ctx, "SELECT count(*), sum(generic_plans + custom_plans) FROM pg_prepared_statements WHERE statement LIKE '%letters%'").Scan(&plans, &runs)
		if err != nil || plans != 1 || runs != 7 {
			t.Errorf("%d statements were kept and run %d times, %v; want 1 and 7", plans, runs, err)
		}
	})
}

// TestPlannedLists checks that lists of different lengths share a plan and find the same rows as an
// ordinary query.
func TestPlannedLists(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		if db.Kind == database.Postgres {
			db.SetMaxOpenConns(1)
		}
		type shelf struct {
			ID   uuid.UUID `bun:",type:uuid"`
			Name string
		}
		if _, err := db.NewCreateTable().Model((*shelf)(nil)).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		list := []shelf{{uuid.New(), "a"}, {uuid.New(), "b, 'c'"}, {uuid.New(), "{d}"}}
		if _, err := db.NewInsert().Model(&list).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(list); n++ {
			var ids []uuid.UUID
			var names []string
			for _, s := range list[:n] {
				ids, names = append(ids, s.ID), append(names, s.Name)
			}
			var found []string
			p := database.NewPlanned(db)
			q := p.In(db.NewSelect().TableExpr("shelves AS s").Column("s.name").Order("s.name"), "s.id", ids)
			if err := p.Scan(ctx, p.In(q, "s.name", names), &found); err != nil || !slices.Equal(found, names) {
				t.Errorf("found %q, %v; want %q", found, err, names)
			}
		}
		if db.Kind != database.Postgres {
			return
		}
		var plans int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%shelves%ANY%'").Scan(&plans)
		if err != nil || plans != 1 {
			t.Errorf("%d statements were kept, %v; want 1", plans, err)
		}
		var shared bool
		p := database.NewPlanned(db)
		words := p.Value(pgdialect.Array([]string{"a", "{d}"}))
		if err := p.Scan(ctx, db.NewSelect().ColumnExpr("? @> ARRAY['{d}']", words), &shared); err != nil || !shared {
			t.Errorf("an array lacks its word: %v", err)
		}
	})
}

// TestPlannedWithoutStatements checks that an address can forbid prepared statements, as a pooler
// needs.
func TestPlannedWithoutStatements(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(dbtest.URL(t, database.Postgres))
	if err != nil {
		t.Fatal(err)
	}
	options := address.Query()
	options.Set("statement_cache_capacity", "0")
	address.RawQuery = options.Encode()
	db, err := database.Open(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := database.NewPlanned(db.Reader)
	var rows []struct{ Handle string }
	q := db.NewSelect().TableExpr("agents AS a").Column("a.handle").Where("a.handle = ?", p.Value("market"))
	if err := p.Scan(t.Context(), q, &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
}

// heard is a hook that records the texts of queries.
type heard struct{ texts []string }

func (h *heard) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *heard) AfterQuery(_ context.Context, e *bun.QueryEvent) { h.texts = append(h.texts, e.Query) }

// TestHooksHearOfEveryQuery checks that hooks get every query, including queries whose values
// bypass Bun, and never get those values.
func TestHooksHearOfEveryQuery(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	h := &heard{}
	hooked := &database.DB{DB: db.WithQueryHook(h), Kind: db.Kind, Breaker: db.Breaker}
	p := database.NewPlanned(hooked.DB)
	var rows []struct{ Handle string }
	q := hooked.NewSelect().TableExpr("agents AS a").Column("a.handle").Where("a.handle = ?", p.Value("market"))
	if err := p.Scan(t.Context(), q, &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	err := hooked.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		_, err := database.ExecRows(ctx, tx, "UPDATE agents AS a SET name = v.name FROM v WHERE a.handle = v.handle",
			[]struct {
				Handle string `bun:",type:text"`
				Name   string `bun:",type:text"`
			}{{"market", "The market"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a.handle = $1", "UPDATE agents AS a SET name"} {
		if !slices.ContainsFunc(h.texts, func(text string) bool { return strings.Contains(text, part) && !strings.Contains(text, "The market") }) {
			t.Errorf("no query with %q reached the hook: %q", part, h.texts)
		}
	}
}
