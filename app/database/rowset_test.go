package database_test

import (
	"context"
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

type points int64

type rowOfEverything struct {
	bun.BaseModel `bun:"table:v"`

	ID    uuid.UUID `bun:",type:uuid"`
	Text  string    `bun:",type:text"`
	Maybe string    `bun:",nullzero,type:text"`
	Count int64     `bun:",type:bigint"`
	Ratio *float64  `bun:",type:double precision"`
	Total *points   `bun:",type:bigint"`
	At    time.Time `bun:",nullzero,type:timestamptz"`
	Flag  bool      `bun:",type:boolean"`
	Mark  []byte    `bun:",type:bytea"`
}

// TestRowsOfEverything checks that rows of every type come back as they were stored, whatever way they take.
func TestRowsOfEverything(t *testing.T) {
	t.Parallel()
	third, total := 1./3, points(-1)
	want := []rowOfEverything{
		{ID: database.NewID(time.Now()), Text: `a "quoted" \ {b}, 'c' NULL ?`, Maybe: "é\n", Count: -7, Ratio: &third, Total: &total, At: time.Date(2026, 11, 21, 1, 2, 3, 456789000, time.UTC), Flag: true, Mark: []byte{0, 255}},
		{ID: database.NewID(time.Now()), Text: "", Count: 1 << 60, Mark: []byte{}},
	}
	const statement = "INSERT INTO everything SELECT * FROM v"
	ways := map[string]func(ctx context.Context, tx bun.Tx) error{
		"ExecRows": func(ctx context.Context, tx bun.Tx) error {
			res, err := database.ExecRows(ctx, tx, statement, want)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); n != int64(len(want)) {
				t.Errorf("%d rows, %v", n, err)
			}
			return nil
		},
		"NewWrite": func(ctx context.Context, tx bun.Tx) error {
			return database.ExecWrites(ctx, tx, database.NewWrite(statement, want))
		},
		"NewInsert": func(ctx context.Context, tx bun.Tx) error {
			return database.ExecWrites(ctx, tx, database.NewInsert("everything", want, ""))
		},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for name, write := range ways {
			var got []rowOfEverything
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				types := "id UUID, text TEXT, maybe TEXT, count BIGINT, ratio DOUBLE PRECISION, total BIGINT, at TIMESTAMP, flag BOOLEAN, mark BLOB"
				if database.IsPostgres(tx) {
					types = strings.NewReplacer("TIMESTAMP", "TIMESTAMPTZ", "BLOB", "BYTEA").Replace(types)
				}
				if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE everything ("+types+")"); err != nil {
					return err
				}
				if err := write(ctx, tx); err != nil {
					return err
				}
				if err := tx.NewRaw("SELECT * FROM everything ORDER BY count").Scan(ctx, &got); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, "DROP TABLE everything")
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range got {
				if !got[i].At.IsZero() {
					got[i].At = got[i].At.UTC()
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got  %+v\nwant %+v", name, got, want)
			}
		}
	})
}

type rowOfNumbers struct {
	Name string  `bun:",type:text"`
	List []int64 `bun:",type:bigint[]"`
	Last int64   `bun:",type:bigint"`
}

// TestRowsOfLists checks that lists of different lengths come to Postgres in their rows, also beside other writes.
func TestRowsOfLists(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	want := []rowOfNumbers{{"three", []int64{3, -1, 1 << 62}, 1}, {"none", []int64{}, 2}, {"nil", nil, 3}, {"one", []int64{-7}, 4}}
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		for _, table := range []string{"numbers", "others", "empty"} {
			if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE "+table+" (name TEXT, list BIGINT[] NOT NULL, last BIGINT)"); err != nil {
				return err
			}
		}
		err := database.ExecWrites(ctx, tx, database.NewInsert("others", want[:1], ""), database.NewInsert("empty", want[1:2], ""), database.NewInsert("numbers", want, ""))
		if err != nil {
			return err
		}
		var got []struct {
			Name string
			List string
			Last int64
		}
		if err := tx.NewRaw("SELECT name, array_to_string(list, ' ') AS list, last FROM numbers ORDER BY last").Scan(ctx, &got); err != nil {
			return err
		}
		for i, w := range want {
			if list := strings.Trim(fmt.Sprint(w.List), "[]"); len(got) != len(want) || got[i].Name != w.Name || got[i].List != list || got[i].Last != w.Last {
				t.Fatalf("the rows are %v, want %v", got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExecWritesInOrder checks that the writes of one statement run in the order of the list. On Postgres only
// speed depends on it: the last one's locks are held for the shortest time.
func TestExecWritesInOrder(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string `bun:",type:text"`
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		names := []string{"first", "second", "third"}
		var got []string
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			insert := "INSERT INTO %s (name, place) SELECT name, (SELECT COUNT(*) FROM first) + (SELECT COUNT(*) FROM second) + (SELECT COUNT(*) FROM third) FROM v"
			if database.IsPostgres(tx) {
				insert = "INSERT INTO %s (name, place) SELECT name, nextval('places') FROM v"
				if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY SEQUENCE places"); err != nil {
					return err
				}
			}
			var writes []database.Write
			for _, name := range names {
				if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE "+name+" (name TEXT, place BIGINT)"); err != nil {
					return err
				}
				writes = append(writes, database.NewWrite(fmt.Sprintf(insert, name), []row{{name}}))
			}
			if err := database.ExecWrites(ctx, tx, writes...); err != nil {
				return err
			}
			return tx.NewRaw("SELECT name FROM (SELECT * FROM first UNION ALL SELECT * FROM second UNION ALL SELECT * FROM third) AS w ORDER BY place").
				Scan(ctx, &got)
		})
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("the writes ran in the order %v (%v), want %v", got, err, names)
		}
	})
}
