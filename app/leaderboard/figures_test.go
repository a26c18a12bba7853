package leaderboard_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

func TestFiguresAndChoices(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		if f, err := w.store.Figures(t.Context(), db.Reader); err != nil || f != (leaderboard.Figures{}) {
			t.Errorf("figures of an empty service: %+v, %v", f, err)
		}
		good, fair := w.agent(agent{handle: "good", model: "m", days: 14}), w.agent(agent{handle: "fair", model: "m", days: 14})
		fresh := w.agent(agent{handle: "fresh", model: "n", days: 1})
		w.spreadDays(good, "sport", 300, 9)
		w.days(fair, "sport", "2026-11-01", 30, 0)
		w.days(fair, "art", "2026-11-01", 10, 0)
		w.days(fresh, "art", "2026-11-01", 1, 1)
		w.days(fresh, "law", "2026-11-01", 1, 1)
		w.tick()
		for _, m := range []struct {
			id, event string
			status    prediction.Status
			baseline  prediction.BaselineState
		}{
			{"1", "e", "resolved", "fixed"}, {"2", "e", "resolved", "fixed"}, {"3", "", "resolved", "fixed"},
			{"4", "open", "open", "fixed"}, {"5", "late", "resolved", "missed"}, {"6", "void", "void", "fixed"},
		} {
			w.settledMarket(m.id, m.event)
			w.forecast(fair, m.id, m.status, m.baseline)
			w.forecast(good, m.id, m.status, m.baseline)
		}
		w.settledMarket("7", "nobody")
		f, err := w.store.Figures(t.Context(), db.Reader)
		if want := (leaderboard.Figures{Agents: 3, Events: 2, Ranked: 2, Proven: 1}); err != nil || f != want {
			t.Errorf("%+v, %v, want %+v", f, err, want)
		}
		c, err := w.store.Choices(t.Context(), db.Reader, 2)
		if err != nil || !slices.Equal(c.Categories, []string{"art", "sport"}) || !slices.Equal(c.Models, []string{"m", "n"}) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// settledMarket adds a settled market. event may be "".
func (w *world) settledMarket(id, event string) {
	w.t.Helper()
	var eventID *string
	if event != "" {
		eventID = &event
	}
	w.exec(`INSERT INTO markets (id, source, question, title, outcomes, active, closed, scalar, event_id, match_key, first_seen_at, observed_at, sample)
		VALUES (?0, 'x', 'q', 'q', '["Yes","No"]', FALSE, TRUE, FALSE, ?1, 'q', ?2, ?2, FALSE)`, id, eventID, start)
	w.exec(`INSERT INTO market_outcomes (market_id, revision, state, winner, outcomes, outcome_values, source, decided_at, applied)
		VALUES (?, 1, 'settled', 'Yes', '["Yes","No"]', '[1,0]', 'market', ?, TRUE)`, id, start)
}

func (w *world) forecast(by uuid.UUID, market string, status prediction.Status, baseline prediction.BaselineState) {
	w.t.Helper()
	w.add(&prediction.Prediction{ID: database.NewID(start), AgentID: by, Title: "q", Confidence: .7, HorizonAt: start, Category: "x", MarketID: market,
		BaselineState: baseline, Status: status, CreatedAt: start})
}

func TestThumbnails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b, none := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"}), w.agent(agent{handle: "c"})
		w.days(a, "sport", "2026-11-01", 5, 1)
		w.days(a, "art", "2026-11-02", 7, 1)
		w.days(a, "art", "2026-12-24", 9, 1) // settled before its day
		w.days(b, "art", "2026-11-02", 1, 1)
		for day, skill := range map[string]float64{"2026-08-01": 9, "2026-11-20": 2, "2026-10-01": 1} {
			w.exec("INSERT INTO skill_history (agent_id, day, skill, skill_low, skill_high, events) VALUES (?, ?, ?, 0, 0, 1)", a, day, skill)
		}
		got, err := w.store.Thumbnails(t.Context(), db.Reader, []uuid.UUID{a, b, none}, 90)
		if err != nil || len(got) != 2 || !slices.Equal(got[a].Trend, []float64{1, 2}) || len(got[b].Trend) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		var bins [score.BinCount]score.BinSum
		for range 12 {
			bins[7].Count, bins[7].P, bins[7].Y = bins[7].Count+1, bins[7].P+700_000_000, bins[7].Y+600_000_000
		}
		if got[a].Calibration != score.Bins(bins) {
			t.Errorf("calibration %+v, want %+v", got[a].Calibration, score.Bins(bins))
		}
		w.clock.move(24 * time.Hour * 100)
		if got, err = w.store.Thumbnails(t.Context(), db.Reader, []uuid.UUID{a}, 90); err != nil || got[a].Calibration[7].Count != 21 || len(got[a].Trend) != 0 {
			t.Errorf("a hundred days later: %+v, %v", got, err)
		}
		if got, err = w.store.Thumbnails(t.Context(), db.Reader, nil, 90); err != nil || len(got) != 0 {
			t.Errorf("thumbnails of no agents: %+v, %v", got, err)
		}
	})
}

// plans records the plans of queries.
type plans struct {
	db    *bun.DB
	found []string
}

func (p *plans) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	var steps []struct {
		ID, Parent, Notused int64
		Detail              string
	}
	if err := p.db.NewRaw("EXPLAIN QUERY PLAN "+e.Query).Scan(ctx, &steps); err != nil {
		p.found = append(p.found, err.Error())
	}
	for _, s := range steps {
		p.found = append(p.found, s.Detail)
	}
	return ctx
}

func (p *plans) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestFiguresLookUpMarkets checks that SQLite looks up the resolved predictions of each market in
// an index, and doesn't read all resolved predictions for every market.
func TestFiguresLookUpMarkets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	p := &plans{db: w.db.Reader}
	if _, err := w.store.Figures(t.Context(), w.db.Reader.WithQueryHook(p)); err != nil {
		t.Fatal(err)
	}
	found := strings.Join(p.found, "\n")
	if !strings.Contains(found, "predictions_market (market_id=?") || strings.Contains(found, "(status=?)") {
		t.Errorf("the figures are found by\n%s", found)
	}
}
