package partition_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/partition"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func prepare(t *testing.T, db *database.DB, setting string) {
	t.Helper()
	if err := partition.Prepare(t.Context(), db, setting, noon, noon); err != nil {
		t.Fatal(err)
	}
}

func tick(t *testing.T, db *database.DB, now time.Time) {
	t.Helper()
	if err := partition.Tick(t.Context(), db, now); err != nil {
		t.Fatal(err)
	}
}

func addMarket(t *testing.T, db *database.DB) {
	t.Helper()
	err := market.Store{}.Observe(t.Context(), db, []market.Market{{
		ID: "m", Source: "polymarket", Question: "Will it?", Title: "Will it?", Outcomes: []string{"Yes", "No"}, Active: true, ObservedAt: noon,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func addPrices(t *testing.T, db *database.DB, at ...time.Time) {
	t.Helper()
	var rows []market.Price
	for _, at := range at {
		rows = append(rows, market.Price{MarketID: "m", ObservedAt: at, Prices: []float64{.5, .5}})
	}
	if err := (market.Store{}).AddPrices(t.Context(), db, rows); err != nil {
		t.Fatal(err)
	}
}

// score adds a ledger row directly.
func score(t *testing.T, db *database.DB, prediction uuid.UUID, seq int) error {
	t.Helper()
	_, err := db.NewRaw(`INSERT INTO score_entries (agent_id, id, prediction_id, seq, kind, value, source, brier, rules_version, created_at)
		VALUES ('00000000-0000-7000-8000-000000000002', ?, ?, ?, 'score', 1, 'market', 0, '1', ?)`, database.NewID(noon), prediction, seq, noon).
		Exec(t.Context())
	return err
}

func count(t *testing.T, db *database.DB, table string) int64 {
	t.Helper()
	n, err := database.CountRows(t.Context(), db, table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRowsFindTheirMonth checks that each row is in the partition of its month. A row of a month
// without a partition is in the default partition until its month gets one.
func TestRowsFindTheirMonth(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	prepare(t, db, partition.Monthly)
	addMarket(t, db)
	months := []time.Time{noon.AddDate(0, -1, 0), noon, noon.AddDate(0, 3, 0), noon.AddDate(0, 4, 0), noon.AddDate(0, 5, 0)}
	addPrices(t, db, months...)
	var predictions []uuid.UUID
	for _, at := range months {
		predictions = append(predictions, database.NewID(at))
		if err := score(t, db, predictions[len(predictions)-1], 0); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want map[string]int64) {
		t.Helper()
		for _, table := range []string{"market_prices", "score_entries"} {
			for suffix, n := range want {
				if got := count(t, db, table+suffix); got != n {
					t.Errorf("%s%s has %d rows, want %d", table, suffix, got, n)
				}
			}
		}
	}
	check(map[string]int64{"": 5, "_2026_11": 1, "_2026_12": 0, "_2027_01": 0, "_2027_02": 1, "_rest": 3})
	tick(t, db, noon.AddDate(0, 1, 0)) // adds the partition of March while the default one has a row of March
	check(map[string]int64{"": 5, "_2027_02": 1, "_2027_03": 1, "_rest": 2})
	for i, prediction := range predictions {
		if err := score(t, db, prediction, 0); err == nil || !strings.Contains(err.Error(), "duplicate key") {
			t.Errorf("prediction %d was scored twice: %v", i, err)
		}
	}
	tick(t, db, noon.AddDate(0, 1, 0))
}

// TestSettingIsForNewDatabases checks that tables with rows are never partitioned, and that
// partitioned tables stay partitioned.
func TestSettingIsForNewDatabases(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	divided := func(want bool) {
		t.Helper()
		if got, err := partition.Divided(t.Context(), db); err != nil || got != want {
			t.Errorf("partitioned: got %t (error %v), want %t", got, err, want)
		}
	}
	prepare(t, db, "off")
	divided(false)
	addMarket(t, db)
	addPrices(t, db, noon)
	err := partition.Prepare(t.Context(), db, partition.Monthly, noon, noon)
	if !errors.Is(err, partition.ErrUndivided) || !strings.Contains(err.Error(), "pulsecast copy") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	divided(false)
	if _, err := db.ExecContext(t.Context(), "DELETE FROM market_prices"); err != nil {
		t.Fatal(err)
	}
	prepare(t, db, partition.Monthly)
	divided(true)
	addPrices(t, db, noon)
	prepare(t, db, "off")
	divided(true)
	prepare(t, db, partition.Monthly)

	file := dbtest.Open(t, database.SQLite)
	prepare(t, file, "off")
	tick(t, file, noon)
}

// TestNodesPrepareTogether checks that of several nodes that start at once, one partitions the
// tables and none fails.
func TestNodesPrepareTogether(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.Postgres)
	failed := make([]error, 4)
	var all sync.WaitGroup
	for i := range failed {
		db, err := database.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		all.Go(func() { failed[i] = partition.Prepare(t.Context(), db, partition.Monthly, noon, noon) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
}

// TestOldMonthsAreCompacted checks that the partition of a month shrinks once the month is thinned
// for good, and keeps all remaining rows.
func TestOldMonthsAreCompacted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	prepare(t, db, partition.Monthly)
	addMarket(t, db)
	var at []time.Time
	start := database.MonthOf(noon)
	for minute := time.Duration(0); minute < 3*24*time.Hour; minute += time.Minute {
		at = append(at, start.Add(minute))
	}
	addPrices(t, db, at...)
	size := func() (n int64) {
		t.Helper()
		if err := db.NewRaw("SELECT pg_relation_size('market_prices_2026_11')").Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	full := size()
	thin := func(now time.Time) {
		t.Helper()
		for more := true; more; {
			var err error
			if _, more, err = (market.Store{}).Thin(t.Context(), db, now, now); err != nil {
				t.Fatal(err)
			}
		}
		tick(t, db, now)
	}
	thin(start.AddDate(0, 1, 20)) // half of the month may still be thinned
	if got := size(); got != full {
		t.Errorf("the partition has %d bytes, want %d: the month isn't completely thinned", got, full)
	}
	thin(start.AddDate(0, 2, 2))
	if got := size(); got >= full/10 {
		t.Errorf("the partition has %d of %d bytes, want less than a tenth", got, full)
	}
	left, err := market.Store{}.History(t.Context(), db, "m")
	if err != nil || len(left) != 12 || !left[1].ObservedAt.Equal(start.Add(6*time.Hour)) {
		t.Errorf("%d points are left (error %v), want 12: %v", len(left), err, left)
	}
	thin(start.AddDate(0, 2, 2))
}
