package market_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

var (
	store market.Store
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func ptr[T any](v T) *T { return &v }

func yesNo(id string, volume float64, at time.Time) market.Market {
	return market.Market{
		ID: id, Source: "polymarket", Question: "Will " + id + " happen?", Title: "Will " + id + " happen?",
		Slug: id, Category: "politics", Outcomes: []string{"Yes", "No"}, Prices: []float64{0.4, 0.6},
		Probability: ptr(0.4), Price: ptr(0.41), Volume: ptr(volume), Liquidity: ptr(10.0),
		ClosesAt: noon.Add(240 * time.Hour), Active: true, URL: "https://polymarket.com/event/" + id,
		Description: "How it settles.", ResolutionSource: "https://example.org", EventID: "e1", EventTitle: "Event",
		ConditionID: "0x1", TokenIDs: []string{"1", "2"}, ObservedAt: at,
	}
}

func observe(t *testing.T, db *database.DB, markets ...market.Market) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return store.Observe(ctx, tx, markets) })
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, db *database.DB, id string) *market.Market {
	t.Helper()
	m, found, err := store.ByID(t.Context(), db.Reader, id)
	if err != nil || !found {
		t.Fatalf("market %s: got found %v, %v", id, found, err)
	}
	return m
}

func history(t *testing.T, db *database.DB, id string) []market.Price {
	t.Helper()
	rows, err := store.History(t.Context(), db.Reader, id)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestObserveKeepsWhatAShorterReadingLeavesOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, yesNo("a", 100, noon), yesNo("a", 999, noon))
		short := market.Market{ID: "a", Source: "polymarket", Question: "Will A happen?", Title: "Will A happen?",
			Outcomes: []string{"Yes", "No"}, Active: true, ObservedAt: noon.Add(time.Minute)}
		observe(t, db, short)
		m := get(t, db, "a")
		if m.Description == "" || m.EventID != "e1" || m.Slug != "a" || m.ResolutionSource == "" ||
			!slices.Equal(m.TokenIDs, []string{"1", "2"}) || !m.ClosesAt.Equal(noon.Add(240*time.Hour)) {
			t.Errorf("a shorter reading cleared values: %+v", m)
		}
		if m.Prices != nil || m.Volume != nil || m.Probability != nil {
			t.Errorf("got %+v, want the unknown numbers to be nil", m)
		}
		if !m.FirstSeenAt.Equal(noon) || !m.ObservedAt.Equal(noon.Add(time.Minute)) || m.MatchKey != "will a happen" {
			t.Errorf("got first seen %s, observed %s, key %q", m.FirstSeenAt, m.ObservedAt, m.MatchKey)
		}
		if rows := history(t, db, "a"); len(rows) != 1 || !slices.Equal(rows[0].Prices, []float64{0.4, 0.6}) {
			t.Errorf("got history %+v", rows)
		}
	})
}

func TestByIDTakesAnyBytes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, yesNo("a", 1, noon))
		for _, id := range []string{"\x00", "a\x00", "\xff", "a'", strings.Repeat("a", 5000), ""} {
			if m, found, err := store.ByID(t.Context(), db.Reader, id); found || err != nil {
				t.Errorf("id %.20q: got %v, %v, %v", id, m, found, err)
			}
		}
	})
}

func TestObserveIsIdempotentAndIgnoresOlderReadings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		newer := yesNo("a", 200, noon.Add(time.Minute))
		newer.Prices = []float64{0.7, 0.3}
		observe(t, db, newer)
		observe(t, db, newer)
		observe(t, db, yesNo("a", 100, noon))
		if m := get(t, db, "a"); *m.Volume != 200 || m.Prices[0] != 0.7 {
			t.Errorf("an older reading replaced a newer one: %+v", m)
		}
		if rows := history(t, db, "a"); len(rows) != 2 || rows[0].Prices[0] != 0.4 || rows[1].Prices[0] != 0.7 {
			t.Errorf("got history %+v", rows)
		}
	})
}

func TestKeepScalar(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		scalar, normal := yesNo("scalar", 1, noon), yesNo("normal", 1, noon)
		scalar.Scalar = true
		observe(t, db, scalar, normal)
		scalar.Scalar, scalar.ScalarUnknown, normal.ScalarUnknown = false, true, true
		unseen, changed := yesNo("unseen", 1, noon), scalar
		unseen.ScalarUnknown, changed.ScalarUnknown = true, false
		reading := []market.Market{normal, scalar, unseen}
		if err := store.KeepScalar(t.Context(), db.Reader, reading); err != nil || reading[0].Scalar || !reading[1].Scalar || reading[2].Scalar {
			t.Errorf("got %+v, %v", reading, err)
		}
		reading = []market.Market{changed}
		if err := store.KeepScalar(t.Context(), db.Reader, reading); err != nil || reading[0].Scalar {
			t.Errorf("a reading that says otherwise: got %+v, %v", reading, err)
		}
	})
}

func TestObserveCloseAndReopen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, yesNo("a", 1, noon))
		closed := yesNo("a", 1, noon.Add(time.Minute))
		closed.Active, closed.Closed, closed.ClosedAt, closed.Resolution = false, true, noon, "proposed"
		observe(t, db, closed)
		closed.ObservedAt, closed.ClosedAt = noon.Add(2*time.Minute), time.Time{}
		observe(t, db, closed)
		if m := get(t, db, "a"); !m.ClosedAt.Equal(noon) || m.Resolution != "proposed" {
			t.Errorf("got closed at %s, resolution %q", m.ClosedAt, m.Resolution)
		}
		if rows := history(t, db, "a"); len(rows) != 1 {
			t.Errorf("the history includes a closed market's price: %+v", rows)
		}
		observe(t, db, yesNo("a", 1, noon.Add(3*time.Minute)))
		if m := get(t, db, "a"); !m.ClosedAt.IsZero() || m.Closed || m.Resolution != "" {
			t.Errorf("reopened: got %+v", m)
		}
	})
}

func TestLiveReplacesSample(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		sample := yesNo("a", 1, noon)
		sample.Sample, sample.Source = true, "sample"
		observe(t, db, sample)
		live := yesNo("a", 2, noon.Add(-time.Hour))
		live.Description = ""
		observe(t, db, live)
		observe(t, db, sample)
		m := get(t, db, "a")
		if m.Sample || m.Source != "polymarket" || *m.Volume != 2 || m.Description != "" || !m.FirstSeenAt.Equal(live.ObservedAt) {
			t.Errorf("values of the sample are left: %+v", m)
		}
		if rows := history(t, db, "a"); len(rows) != 1 || !rows[0].ObservedAt.Equal(live.ObservedAt) {
			t.Errorf("prices of the sample are left: %+v", rows)
		}
	})
}

func TestObserveManyInBatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var all []market.Market
		var want []string
		for i := range 450 {
			m := yesNo(fmt.Sprintf("m%03d", i), float64(i), noon)
			if i%3 == 0 {
				m.Prices = nil
			}
			all, want = append(all, m), append(want, m.ID)
		}
		observe(t, db, all...)
		got, err := store.ByIDs(t.Context(), db.Reader, append(want, "unknown"))
		if err != nil || len(got) != 450 || got[0].ID != "m000" || got[0].Prices != nil || got[1].Prices == nil {
			t.Fatalf("got %d markets, %v", len(got), err)
		}
		n, err := db.Reader.NewSelect().Model((*market.Price)(nil)).Count(t.Context())
		if err != nil || n != 300 {
			t.Fatalf("got %d prices, %v", n, err)
		}
	})
}

func TestByQuestionsAndURLs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		small, big, done := yesNo("small", 1, noon), yesNo("big", 9, noon), yesNo("done", 99, noon)
		small.Question, big.Question, done.Question = "Will It?", "will it", "WILL IT!"
		done.Closed, done.Active = true, false
		small.URL, big.URL = "https://polymarket.com/event/e", "https://polymarket.com/event/e"
		observe(t, db, small, big, done)
		key := market.QuestionKey("Will it ?!")
		got, urls := map[string][]string{}, map[string]string{}
		err := database.ScanReads(t.Context(), db.Reader, store.ByQuestions([]string{"nothing", "", key, key}, got),
			store.ByURLs([]string{"https://polymarket.com/event/e/", "https://example.org/"}, urls))
		if err != nil || len(got) != 1 || !slices.Equal(got[key], []string{"big", "small"}) {
			t.Errorf("got matches %v, %v", got, err)
		}
		if len(urls) != 1 || urls["https://polymarket.com/event/e/"] != "big" {
			t.Errorf("got addresses %v", urls)
		}
	})
}

// TestLongQuestions checks that a question whose key is too long for an index of Postgres is stored, without the key. The
// text is random, because Postgres compresses other texts.
func TestLongQuestions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	chinese := func(length int) string {
		var text strings.Builder
		for range length {
			text.WriteRune('\u4e00' + rune(random.IntN(0x5000)))
		}
		return text.String()
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		long, longest, short := yesNo("long", 1, noon), yesNo("longest", 1, noon), yesNo("short", 1, noon)
		long.Question, longest.Question, short.Question = chinese(666), chinese(1000), chinese(100)
		observe(t, db, long, longest, short)
		if got := get(t, db, "longest"); got.Question != longest.Question || got.MatchKey != "" {
			t.Errorf("got the question %q with the key %q", got.Question, got.MatchKey)
		}
		var keys []string
		for _, m := range []market.Market{long, longest, short} {
			keys = append(keys, market.QuestionKey(m.Question))
		}
		got := map[string][]string{}
		err := database.ScanReads(t.Context(), db.Reader, store.ByQuestions(keys, got))
		if err != nil || len(got) != 2 || !slices.Equal(got[keys[0]], []string{"long"}) || !slices.Equal(got[keys[2]], []string{"short"}) {
			t.Errorf("got matches %v, %v", got, err)
		}
	})
}

func TestThinnedPrices(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, id := range []string{"a", "b", "c"} {
			observe(t, db, yesNo(id, 1, noon))
		}
		var rows []market.Price
		for i := range 100 {
			at := noon.Add(time.Duration(i-99) * time.Minute)
			rows = append(rows, market.Price{MarketID: "a", ObservedAt: at, Prices: []float64{float64(i) / 100, 0}})
			if i >= 97 {
				rows = append(rows, market.Price{MarketID: "b", ObservedAt: at, Prices: []float64{float64(i) / 100, 0}})
			}
		}
		if err := store.AddPrices(t.Context(), db, rows); err != nil {
			t.Fatal(err)
		}
		got, err := store.ThinnedPrices(t.Context(), db.Reader, []string{"b", "a"}, noon.Add(-80*time.Minute), 10)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string][]time.Time{}
		for _, row := range got {
			times[row.MarketID] = append(times[row.MarketID], row.ObservedAt)
		}
		a, b := times["a"], times["b"]
		if len(times) != 2 || len(a) < 5 || len(a) > 20 || a[0].Before(noon.Add(-80*time.Minute)) || !a[len(a)-1].Equal(noon) || !slices.IsSortedFunc(a, time.Time.Compare) {
			t.Errorf("of many prices: got %v", a)
		}
		if len(b) != 3 || !b[2].Equal(noon) {
			t.Errorf("of few prices: got %v", b)
		}
		if none, err := store.ThinnedPrices(t.Context(), db.Reader, nil, noon, 10); err != nil || len(none) != 0 {
			t.Errorf("of no market: got %v, %v", none, err)
		}
	})
}

// TestThinnedPriceRows checks that a price line reads a row or two for each of its points, however many prices there are.
func TestThinnedPriceRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			ids := []string{"a", "b", "c"}
			var rows []market.Price
			for _, id := range ids {
				observe(t, db, yesNo(id, 1, noon))
				for i := range 4_000 {
					rows = append(rows, market.Price{MarketID: id, ObservedAt: noon.Add(time.Duration(i-4_000) * time.Minute), Prices: []float64{0.5, 0.5}})
				}
			}
			if err := store.AddPrices(t.Context(), db, rows); err != nil {
				t.Fatal(err)
			}
			var got []market.Price
			explained := dbtest.Explain(t, db, func(db *database.DB) {
				var err error
				if got, err = store.ThinnedPrices(t.Context(), db.Reader, ids, noon.Add(-3_600*time.Minute), 60); err != nil {
					t.Fatal(err)
				}
			})
			if len(got) < 3*60 || len(got) > 3*62 {
				t.Errorf("got %d prices", len(got))
			}
			for i := 1; i < len(got); i++ {
				if apart := got[i].ObservedAt.Sub(got[i-1].ObservedAt); got[i].MarketID == got[i-1].MarketID && (apart > 61*time.Minute || apart < 0) {
					t.Fatalf("%s and %s are neighbours", got[i-1].ObservedAt, got[i].ObservedAt)
				}
			}
			for _, e := range explained {
				if n := e.Tables["market_prices"]; n > 3*62*2+10 || len(e.Whole) > 0 {
					t.Errorf("%d rows, %q: %s", n, e.Whole, e.Query)
				}
			}
		})
	}
}

func TestThin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		observe(t, db, yesNo("a", 1, noon), yesNo("b", 1, noon))
		var rows []market.Price
		for _, age := range []time.Duration{40 * 24 * time.Hour, 10 * 24 * time.Hour, 47 * time.Hour} {
			for i := range 12 { // every half hour for six hours, from a multiple of six hours on
				at := noon.Add(-age).Truncate(6 * time.Hour).Add(time.Duration(i) * 30 * time.Minute)
				rows = append(rows, market.Price{MarketID: "a", ObservedAt: at, Prices: []float64{0.5, 0.5}})
			}
		}
		if err := store.AddPrices(ctx, db, rows); err != nil {
			t.Fatal(err)
		}
		thin := func() (total int64) {
			for {
				n, more, err := store.Thin(ctx, db, noon, noon)
				if err != nil {
					t.Fatal(err)
				}
				total += n
				if !more {
					return total
				}
			}
		}
		// Thinning keeps prices that the archive doesn't hold.
		if n, more, err := store.Thin(ctx, db, noon, time.Time{}); n != 0 || more || err != nil {
			t.Errorf("with nothing sealed: deleted %d (more %v, %v), want 0", n, more, err)
		}
		sealed := noon.Add(-20 * 24 * time.Hour)
		if n, _, err := store.Thin(ctx, db, noon, sealed); n == 0 || err != nil {
			t.Errorf("with sealed days: deleted %d (%v), want some", n, err)
		}
		for _, p := range rows[12:] {
			if !slices.ContainsFunc(history(t, db, "a"), func(kept market.Price) bool { return kept.ObservedAt.Equal(p.ObservedAt) }) {
				t.Fatalf("the price of %s was deleted before it was sealed", p.ObservedAt)
			}
		}
		// Thinning deletes 11 of the oldest twelve rows and 6 of the middle ones. Of the youngest, which begin
		// at 47 h plus up to 1 h of rounding, it deletes none, or those older than 48 h.
		thin()
		count := func(from, to time.Duration) (n int) {
			for _, p := range history(t, db, "a") {
				if age := noon.Sub(p.ObservedAt); age > from && age <= to {
					n++
				}
			}
			return n
		}
		if got := count(30*24*time.Hour, 50*24*time.Hour); got != 1 {
			t.Errorf("older than 30 days: got %d rows, want the first of six hours", got)
		}
		if got := count(5*24*time.Hour, 20*24*time.Hour); got != 6 {
			t.Errorf("ten days old: got %d rows, want one an hour", got)
		}
		young := 0
		for _, p := range rows {
			if noon.Sub(p.ObservedAt) <= 48*time.Hour {
				young++
			}
		}
		if got := count(0, 48*time.Hour); got != young || young == 0 {
			t.Errorf("younger than 48 h: got %d rows, want all %d", got, young)
		}
		if n := thin(); n != 0 {
			t.Errorf("thinning again deleted %d rows, want none", n)
		}
		if got := len(history(t, db, "b")); got != 1 {
			t.Errorf("the other market has %d rows, want 1", got)
		}
	})
}

func TestWithOpenPredictionsAndForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		sample := yesNo("sample", 1, noon)
		sample.Sample = true
		observe(t, db, yesNo("a", 1, noon), yesNo("b", 1, noon.Add(-2*time.Hour)), yesNo("c", 1, noon.Add(-3*time.Hour)), sample)
		for i, p := range []struct {
			market string
			status prediction.Status
		}{{"a", prediction.Open}, {"a", prediction.Open}, {"b", prediction.Resolved}, {"sample", prediction.Open}} {
			err := prediction.Add(ctx, db, &prediction.Prediction{ID: database.NewID(noon.Add(time.Duration(i))), AgentID: uuid.MustParse("00000000-0000-7000-8000-000000000001"),
				HorizonAt: noon, MarketID: p.market, BaselineState: prediction.Pending, Status: p.status, CreatedAt: noon})
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := prediction.Store{}.LiveMarkets(ctx, db.Reader)
		if err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("with open predictions: got %v, %v", got, err)
		}
		got, err = store.Forgotten(ctx, db.Reader, noon, 10)
		if err != nil || !slices.Equal(got, []string{"c", "b"}) {
			t.Errorf("forgotten: got %v, %v", got, err)
		}
	})
}

// TestMissed checks that two answers without a market, an hour apart, make it inactive, that an inactive market is
// requested once a day, and that a reading makes it active again.
func TestMissed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		shy, done, sample := yesNo("shy", 1, noon.Add(-25*time.Hour)), yesNo("done", 1, noon.Add(-99*time.Hour)), yesNo("sample", 1, noon.Add(-99*time.Hour))
		shy.Active, done.Active, sample.Active, done.Closed, sample.Sample = false, false, false, true, true
		observe(t, db, yesNo("gone", 1, noon.Add(-2*time.Hour)), yesNo("late", 1, noon.Add(-2*time.Hour)), shy, done, sample)
		if err := store.Missed(ctx, db, []string{"late"}, noon.Add(365*24*time.Hour)); err != nil { // by a clock that was ahead
			t.Fatal(err)
		}
		for _, step := range []struct {
			at                  time.Duration
			forgotten, inactive string
			missed              []string
			active              string
		}{
			{0, "gone late", "shy", []string{"gone", "late", "shy"}, "gone late"},
			{59 * time.Minute, "", "", []string{"gone"}, "gone late"}, // is no second answer
			{time.Hour, "gone late", "", []string{"gone"}, "late"},
			{24*time.Hour - time.Minute, "late", "", nil, "late"},
			{24 * time.Hour, "late", "shy", []string{"shy"}, "late"},
			{25 * time.Hour, "late", "gone", nil, "late"},
		} {
			at := noon.Add(step.at)
			forgotten, err := store.Forgotten(ctx, db.Reader, at, 10)
			inactive, inactiveErr := store.Inactive(ctx, db.Reader, at, 10)
			slices.Sort(forgotten)
			if err := errors.Join(err, inactiveErr, store.Missed(ctx, db, step.missed, at)); err != nil {
				t.Fatal(err)
			}
			var active []string
			if err := db.Reader.NewSelect().Model((*market.Market)(nil)).Column("id").Where("active").Order("id").Scan(ctx, &active); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(forgotten, " "); got != step.forgotten || strings.Join(inactive, " ") != step.inactive || strings.Join(active, " ") != step.active {
				t.Errorf("after %s: forgotten %v, inactive %v, then active %v", step.at, forgotten, inactive, active)
			}
		}
		observe(t, db, yesNo("gone", 1, noon.Add(26*time.Hour)))
		if m := get(t, db, "gone"); !m.Active || !m.MissedAt.IsZero() {
			t.Errorf("observed again: got %+v", m)
		}
		if got, err := store.Inactive(ctx, db.Reader, noon.Add(99*time.Hour), 1); err != nil || !slices.Equal(got, []string{"shy"}) {
			t.Errorf("inactive: got %v, %v", got, err)
		}
	})
}

// TestClockAhead checks that a row stored while a clock was ahead gives way to the next reading, and is forgotten at
// once if no reading includes it. An hour ahead still counts as newer.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	for ahead, replaced := range map[time.Duration]bool{time.Hour: false, 61 * time.Minute: true, 365 * 24 * time.Hour: true} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				wrong, missing := yesNo("a", 1, noon.Add(ahead)), yesNo("b", 1, noon.Add(ahead))
				wrong.EventID, missing.EventID = "e1", ""
				observeEvents(t, db, []market.Market{wrong, missing}, market.Event{ID: "e1", Title: "Then", UpdatedAt: noon.Add(ahead)})
				closed := yesNo("a", 2, noon)
				closed.Active, closed.Closed, closed.ClosedAt = false, true, noon
				observeEvents(t, db, []market.Market{closed}, market.Event{ID: "e1", Title: "Now", UpdatedAt: noon})
				m, e := get(t, db, "a"), event(t, db, "e1")
				if m.Closed != replaced || m.ObservedAt.Equal(noon) != replaced || m.FirstSeenAt.Equal(noon) != replaced ||
					(e.Title == "Now") != replaced || e.UpdatedAt.Equal(noon) != replaced {
					t.Errorf("got %+v of %+v, want both replaced: %v", m, e, replaced)
				}
				forgotten, err := store.Forgotten(t.Context(), db.Reader, noon, 10)
				if err != nil || slices.Equal(forgotten, []string{"b"}) != replaced {
					t.Errorf("forgotten: %v, %v", forgotten, err)
				}
			})
		})
	}
}

// deletions counts the statements that delete rows.
type deletions struct{ n int }

func (d *deletions) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if strings.HasPrefix(e.Query, "DELETE") {
		d.n++
	}
	return ctx
}

func (d *deletions) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestPricesOfClockAhead checks that the next reading of a market deletes its prices from a clock that was ahead, which
// would otherwise be views of later predictions. It keeps those of an hour ahead, and deletes nothing of other markets. A
// reading after that has no statement for it.
func TestPricesOfClockAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var deleted deletions
		db.Watch(&deleted)
		reading := func(at time.Time, ids ...string) (list []market.Market) {
			for _, id := range ids {
				list = append(list, yesNo(id, 1, at))
			}
			return list
		}
		const ahead = 48 * time.Hour
		observe(t, db, reading(noon.Add(-time.Minute), "a", "closed", "other", "sound")...)
		observe(t, db, reading(noon.Add(time.Hour), "a", "closed", "sound")...)
		observe(t, db, reading(noon.Add(time.Hour+time.Microsecond), "a", "closed")...)
		for i := range 3 {
			observe(t, db, reading(noon.Add(ahead+time.Duration(i)*time.Minute), "a", "closed", "other")...)
		}
		if deleted.n != 0 {
			t.Errorf("%d statements deleted prices while the clock was ahead", deleted.n)
		}
		now := reading(noon, "a", "closed", "sound")
		now[1].Active, now[1].Closed = false, true
		observe(t, db, now...)
		check := func(id string, want ...time.Duration) {
			t.Helper()
			var got []time.Duration
			for _, p := range history(t, db, id) {
				got = append(got, p.ObservedAt.Sub(noon))
			}
			if !slices.Equal(got, want) {
				t.Errorf("market %s has prices at %v, want %v", id, got, want)
			}
		}
		check("a", -time.Minute, 0, time.Hour)
		check("closed", -time.Minute, time.Hour)
		check("sound", -time.Minute, 0, time.Hour)
		check("other", -time.Minute, ahead, ahead+time.Minute, ahead+2*time.Minute)
		if deleted.n != 1 {
			t.Errorf("%d statements deleted prices, want 1", deleted.n)
		}
		observe(t, db, reading(noon.Add(time.Minute), "a", "sound")...)
		if deleted.n != 1 {
			t.Error("a reading after that deletes prices again")
		}
	})
}

func TestListPagesThroughEveryOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		for i := range 7 {
			m := yesNo(string(rune('a'+i)), float64(i/2)+0.1, noon.Add(time.Duration(i/2)*time.Minute))
			m.ClosesAt = noon.Add(time.Duration(-i/2) * time.Hour)
			if i == 3 {
				m.Volume, m.ClosesAt = nil, time.Time{}
			}
			observe(t, db, m)
		}
		walk := func(f market.Filter) (got string) {
			f.Limit = 2
			for pages := 0; ; pages++ {
				page, next, err := store.List(ctx, db.Reader, f)
				if err != nil || pages > 4 {
					t.Fatal(pages, err)
				}
				for _, m := range page {
					got += m.ID
				}
				if f.Cursor = next; next == "" {
					return got
				}
			}
		}
		for sort, want := range map[market.Sort]string{"": "gefcabd", market.ByClosing: "gefcabd", market.ByNewest: "gefcdab"} {
			if got := walk(market.Filter{Sort: sort}); got != want {
				t.Errorf("order %q: got %s, want %s", sort, got, want)
			}
		}
		if _, err := db.ExecContext(ctx, "UPDATE markets SET closed = TRUE"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.NewUpdate().Table("markets").Set("closed_at = ?", noon.Add(time.Hour)).Where("id = 'e'").Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if got := walk(market.Filter{Sort: market.ByClosing, Closed: true}); got != "eabcfgd" {
			t.Errorf("last closed first: got %s", got)
		}
		for _, bad := range []string{"!", "e30", "eyJ2IjoxfQ=", "eyJjIjoiMDAwMC0wMS0wMVQwMDowMDowMFoifQ"} {
			_, _, err := store.List(ctx, db.Reader, market.Filter{Sort: market.ByClosing, Cursor: bad, Limit: 2})
			if p, ok := errors.AsType[*problem.Error](err); !ok || p.Status != 400 {
				t.Errorf("cursor %q: got %v", bad, err)
			}
		}
	})
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		rain, sun, done := yesNo("rain", 3, noon), yesNo("sun", 2, noon), yesNo("done", 1, noon)
		rain.Question, rain.Category, rain.ClosesAt = "Übermorgen 100% Regen?", "weather", noon.Add(time.Hour)
		sun.Title = "Weather Tomorrow — Sun"
		done.Closed, done.Active = true, false
		observe(t, db, rain, sun, done)
		tests := []struct {
			filter market.Filter
			want   []string
		}{
			{market.Filter{}, []string{"rain", "sun"}},
			{market.Filter{Closed: true}, []string{"done"}},
			{market.Filter{Category: "weather"}, []string{"rain"}},
			{market.Filter{ClosesBefore: noon.Add(2 * time.Hour)}, []string{"rain"}},
			{market.Filter{ClosesBefore: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
			{market.Filter{Q: "REGEN übermorgen"}, []string{"rain"}},
			{market.Filter{Q: "tomorrow sun"}, []string{"sun"}},
			{market.Filter{Q: "tomorrow rain"}, nil},
			{market.Filter{Q: "100%"}, []string{"rain"}},
			{market.Filter{Q: "tom su weather"}, []string{"sun"}},
			{market.Filter{Q: "egen"}, nil},
			{market.Filter{Q: "morgen"}, nil},
		}
		for _, tt := range tests {
			tt.filter.Limit = 10
			page, _, err := store.List(t.Context(), db.Reader, tt.filter)
			var got []string
			for _, m := range page {
				got = append(got, m.ID)
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("filter %+v: got %v, %v", tt.filter, got, err)
			}
		}
	})
}
