package prediction_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// everyField returns a prediction in which every field is set.
func everyField(d *author) prediction.Prediction {
	yes, points := 0, new(score.Points(7))
	at := start.Add(time.Minute)
	return prediction.Prediction{
		ID: database.NewID(at), AgentID: d.agent.ID, Title: "Zebrafish", Thesis: "t", Confidence: 0.7, HorizonAt: start.AddDate(0, 1, 0),
		Category: "c", Model: "m", Evidence: []prediction.Evidence{{Title: "e", URL: "https://example.org/study", SignalKind: "news", SignalID: "n1"}},
		MarketID: "1", Outcome: "Yes", OutcomeIndex: &yes, EventKey: "e:weather", ScheduledCloseAt: start.AddDate(0, 1, 0), MarketCategory: "weather",
		BaselineState: prediction.Fixed, Baseline: new(0.5), BaselineBefore: new(0.5), BaselineAfter: new(0.5), BaselinePrevious: new(0.4),
		BaselineObservedAt: at, BeforeBid: new(0.4), BeforeAsk: new(0.6), AfterBid: new(0.4), AfterAsk: new(0.6), MedianBid: new(0.4), MedianAsk: new(0.6),
		Stake: points, Spread: points, WeightIndex: &yes, Status: prediction.Resolved, ResolutionValue: new(1.0), ResolutionOutcome: "Yes",
		ResolutionSource: "admin", ResolutionNote: "n", ResolvedAt: at, SettledAt: at, Ruled: true, Brier: new(0.1), Edge: points, LogEdge: new(0.2), Day: "2026-12-20", ScoreCategory: "sport", RulesVersion: "1",
		Reveal: prediction.RevealClose, Salt: []byte("salt"), Hash: []byte("hash"), Unrevealed: true, RevealedAt: at,
		Hidden: true, Newcomer: true, Sample: true, CreatedAt: at,
	}
}

// TestStoredUnchanged checks that each way to store an existing prediction keeps every field.
func TestStoredUnchanged(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(ctx context.Context, tx bun.Tx, p *prediction.Prediction) error{
		"Insert": prediction.Store{}.Insert,
		"Add": func(ctx context.Context, tx bun.Tx, p *prediction.Prediction) error {
			return prediction.Add(ctx, tx, p)
		},
		"Restore": func(ctx context.Context, tx bun.Tx, p *prediction.Prediction) error {
			return prediction.Restore(ctx, tx, []prediction.Prediction{*p})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				d := open(t, db)
				want := everyField(d)
				for v, i := reflect.ValueOf(want), 1; i < v.NumField(); i++ { // the first is the model of the table
					if v.Field(i).IsZero() {
						t.Fatalf("everyField doesn't set %s", v.Type().Field(i).Name)
					}
				}
				stored := want
				if err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return write(ctx, tx, &stored) }); err != nil {
					t.Fatal(err)
				}
				var got prediction.Prediction
				if err := prediction.Select(db.Reader).Where("p.id = ?", want.ID).Scan(t.Context(), &got); err != nil {
					t.Fatal(err)
				}
				same(t, want, got)
			})
		})
	}
}

// same compares two predictions field by field.
func same(t *testing.T, want, got prediction.Prediction) {
	t.Helper()
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := 1; i < w.NumField(); i++ {
		a, b := w.Field(i).Interface(), g.Field(i).Interface()
		if at, ok := a.(time.Time); ok && at.Equal(b.(time.Time)) {
			continue
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: got %v, want %v", w.Type().Field(i).Name, b, a)
		}
	}
}

// TestInsertedWithheld checks that the texts of a withheld prediction can't be found after Insert, and that
// its market doesn't count it.
func TestInsertedWithheld(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for _, unrevealed := range []bool{true, false} {
			p := everyField(d)
			p.ID, p.Unrevealed, p.Hidden = database.NewID(d.now()), unrevealed, false
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &p) })
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if unrevealed {
				want = 0
			}
			for _, query := range []string{
				"SELECT COUNT(*) FROM prediction_words WHERE id = ?", "SELECT COUNT(*) FROM citations WHERE prediction_id = ?",
				"SELECT COALESCE(SUM(predictions), 0) FROM market_consensus WHERE market_id = '1' AND ? IS NOT NULL",
			} {
				var n int
				if err := db.NewRaw(query, p.ID).Scan(t.Context(), &n); err != nil || n != want {
					t.Errorf("unrevealed %t, %s: got %d, %v; want %d", unrevealed, strings.TrimPrefix(query, "SELECT "), n, err, want)
				}
			}
		}
	})
}

// TestBetsWithoutACloseComeLast checks that both databases list the bets that close first, and those without a scheduled
// close after all others.
func TestBetsWithoutACloseComeLast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		at := start.Add(time.Hour)
		for i, days := range []int{0, 3, 1, 2} { // 0: no scheduled close
			p := everyField(d)
			p.ID, p.Status, p.Unrevealed, p.Confidence = database.NewID(at.Add(time.Duration(i)*time.Second)), prediction.Open, false, float64(days)/10
			p.ResolvedAt, p.SettledAt = time.Time{}, time.Time{}
			if p.ScheduledCloseAt = at.AddDate(0, 0, days); days == 0 {
				p.ScheduledCloseAt = time.Time{}
			}
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &p) })
			if err != nil {
				t.Fatal(err)
			}
		}
		for limit, want := range map[int][]float64{2: {.1, .2}, 3: {.1, .2, .3}, 4: {.1, .2, .3, 0}} {
			bets, err := prediction.Store{}.BetsOf(t.Context(), db.Reader, d.agent.ID, limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []float64
			for _, b := range bets {
				got = append(got, b.Confidence)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: got the bets with confidence %v, want %v", limit, got, want)
			}
		}
	})
}

// TestFirstOn checks which prediction on a market counts as an agent's first.
func TestFirstOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		void, valid int // the number of voided predictions, and of those published after them
		first       int // the number of the first one, -1 if none counts
	}{
		"none":                       {0, 0, -1},
		"one":                        {0, 1, 0},
		"a voided one, then another": {1, 2, 1},
		"only voided ones":           {32, 0, -1},
		"a valid one after 31":       {31, 1, 31},
		"a valid one after 32":       {32, 1, 32},
		"a valid one after 33":       {33, 1, 32}, // earlier than the exact answer, so no update is missed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				d := open(t, db)
				at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
				list := make([]prediction.Prediction, c.void+c.valid)
				for i := range list {
					list[i] = prediction.Prediction{ID: database.NewID(at(i)), AgentID: d.agent.ID, MarketID: "1", HorizonAt: start, CreatedAt: at(i),
						Reveal: prediction.RevealNow, Evidence: []prediction.Evidence{}, BaselineState: prediction.Missed, Status: prediction.Open}
					if i < c.void {
						list[i].Status = prediction.Void
					}
				}
				if err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return prediction.Restore(ctx, tx, list) }); err != nil {
					t.Fatal(err)
				}
				got, err := prediction.Store{}.FirstOn(t.Context(), db.Reader, d.agent.ID, []string{"1", "2"})
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]time.Time{}
				if c.first >= 0 {
					want["1"] = at(c.first)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		})
	}
}
