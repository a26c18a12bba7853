package transfer_test

import (
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/transfer"
)

// TestLargeCopy copies a SQLite install with many predictions to Postgres, and is interrupted once. A rebuild must
// find the same on both sides: it repairs the sums before the copy, and reports each resolved prediction, because
// the made-up ones have no ledger entries. `make copy-test` sets COPY_PREDICTIONS. TestThereAndBack covers the ledger.
func TestLargeCopy(t *testing.T) {
	t.Parallel()
	predictions := 3000
	if s := os.Getenv("COPY_PREDICTIONS"); s != "" {
		var err error
		if predictions, err = strconv.Atoi(s); err != nil {
			t.Fatalf("COPY_PREDICTIONS must be a number: %v", err)
		}
	}
	from, to := dbtest.URL(t, database.SQLite), dbtest.Empty(t, database.Postgres)
	began := time.Now()
	step := func(name string) {
		t.Logf("%s: %s after %s", time.Now().Format(time.TimeOnly), name, time.Since(began).Round(time.Second))
	}

	made, source := dbtest.Open(t, database.Postgres), open(t, from)
	if err := load.Run(t.Context(), made, max(predictions/100, 10), predictions, noon); err != nil {
		t.Fatal(err)
	}
	if err := load.Copy(t.Context(), made, source); err != nil {
		t.Fatal(err)
	}
	if err := load.IndexWords(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	step("made")
	rebuild := func(db *database.DB, replace bool) settlement.RebuildReport {
		t.Helper()
		s := settlement.New(settlement.Options{DB: db, Interval: time.Minute, Now: clock})
		report, err := s.Rebuild(t.Context(), replace)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	rebuild(source, true)
	before := rebuild(source, false)
	step("settled")
	shut(t, source)

	stop, batches := os.ErrDeadlineExceeded, 0
	options := transfer.Options{From: from, To: to, Now: clock, AfterBatch: func() error {
		if batches++; batches == 10 {
			return stop
		}
		return nil
	}}
	if _, err := transfer.Run(t.Context(), options); err == nil {
		t.Fatal("the copy wasn't interrupted")
	}
	result, err := transfer.Run(t.Context(), options)
	if err != nil || !result.Resumed {
		t.Fatalf("resumed %v, %v", result, err)
	}
	step("copied")
	target := open(t, to)
	defer shut(t, target)
	if _, err := target.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := database.CountRows(t.Context(), target, "predictions"); err != nil || n != int64(predictions) {
		t.Errorf("%d predictions arrived, %v; want %d", n, err, predictions)
	}
	if after := rebuild(target, false); !reflect.DeepEqual(after, before) {
		t.Errorf("a rebuild finds %+v, and before the copy %+v", after, before)
	}
	step("rebuilt")
}
