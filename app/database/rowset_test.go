package database_test

import (
	"context"
	"reflect"
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

// TestExecRows checks that rows of every type come back as they were stored, on both engines.
func TestExecRows(t *testing.T) {
	t.Parallel()
	third, total := 1./3, points(-1)
	want := []rowOfEverything{
		{ID: database.NewID(time.Now()), Text: `a "quoted" \ {b}, 'c' NULL ?`, Maybe: "é\n", Count: -7, Ratio: &third, Total: &total, At: time.Date(2026, 11, 21, 1, 2, 3, 456789000, time.UTC), Flag: true, Mark: []byte{0, 255}},
		{ID: database.NewID(time.Now()), Text: "", Count: 1 << 60, Mark: []byte{}},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var got []rowOfEverything
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			types := "id UUID, text TEXT, maybe TEXT, count BIGINT, ratio DOUBLE PRECISION, total BIGINT, at TIMESTAMP, flag BOOLEAN, mark BLOB"
			if database.IsPostgres(tx) {
				types = strings.NewReplacer("TIMESTAMP", "TIMESTAMPTZ", "BLOB", "BYTEA").Replace(types)
			}
			if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE everything ("+types+")"); err != nil {
				return err
			}
			res, err := database.ExecRows(ctx, tx, "INSERT INTO everything SELECT * FROM v", want)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); n != int64(len(want)) {
				t.Errorf("%d rows, %v", n, err)
			}
			return tx.NewRaw("SELECT * FROM everything ORDER BY count").Scan(ctx, &got)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if !got[i].At.IsZero() {
				got[i].At = got[i].At.UTC()
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}
