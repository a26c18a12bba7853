package leaderboard_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	viewers "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// bet is a settled prediction on a market without siblings.
type bet struct {
	event, category string
	p, q, y         float64
	index, outcome  int
	previous        *float64
	closes          time.Time
	published       time.Time
}

// settled stores a bet as settlement would.
func (w *world) settled(id uuid.UUID, b bet) uuid.UUID {
	w.t.Helper()
	w.serial++
	m := market.Market{ID: b.event, Source: "polymarket", Question: b.event, Outcomes: []string{"Yes", "No"}, FirstSeenAt: start, ObservedAt: start}
	if err := (market.Store{}).Observe(w.t.Context(), w.db, []market.Market{m}); err != nil {
		w.t.Fatal(err)
	}
	edge, brier := score.Edge(b.p, b.q, b.y), score.Brier(b.p, b.y)
	made := database.NewID(b.published)
	w.add(&prediction.Prediction{
		ID: made, AgentID: id, Title: fmt.Sprint("Bet ", w.serial), Thesis: "t", Confidence: b.p, HorizonAt: b.closes, Category: "general",
		MarketID: b.event, Outcome: m.Outcomes[b.outcome], OutcomeIndex: &b.outcome, EventKey: "m:" + b.event, ScheduledCloseAt: b.closes,
		BaselineState: prediction.Fixed, Baseline: &b.q, BaselineBefore: &b.q, BaselineAfter: &b.q, BaselinePrevious: b.previous,
		BaselineObservedAt: b.published, WeightIndex: &b.index, Status: prediction.Resolved, ResolutionValue: &b.y, ResolutionSource: "market",
		ResolvedAt: b.closes, Brier: &brier, Edge: &edge, Day: b.closes.Format(time.DateOnly), ScoreCategory: b.category,
		RulesVersion: score.RulesVersion, CreatedAt: b.published,
	})
	return made
}

// TestReview checks a review of two bets: .7 against .6 earns 7, and .3 against .4 loses 13,
// because both outcomes happen. It leaves out a bet that counts from tomorrow on and one without a
// baseline.
func TestReview(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "ada", days: 3})
		yesterday, published := start.AddDate(0, 0, -1), start.AddDate(0, 0, -11)
		won := w.settled(id, bet{event: "a", category: "politics", p: .7, q: .6, y: 1, closes: yesterday, published: published})
		lost := w.settled(id, bet{event: "b", category: "sports", p: .3, q: .4, y: 1, closes: yesterday, published: yesterday.Add(-time.Hour)})
		w.settled(id, bet{event: "c", category: "sports", p: .3, q: .4, y: 1, closes: start.AddDate(0, 0, 1), published: published})
		w.settle(id, "sports")
		other := w.agent(agent{handle: "grace"})
		w.settled(other, bet{event: "a", category: "politics", p: .1, q: .6, y: 1, closes: yesterday, published: published})
		w.exec("UPDATE predictions SET hidden = TRUE WHERE id = ?", won)

		r, err := w.store.Review(t.Context(), db.Reader, id, viewers.Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		if r.All.Predictions != 2 || r.All.Sums.N != 2 || r.All.Sums.S != 7e4-13e4 || r.All.Days != 1 || r.Settled != 3 {
			t.Errorf("all %+v, %d settled", r.All, r.Settled)
		}
		if len(r.Categories) != 2 || r.Categories[0].Category != "politics" || r.Categories[0].Sums.S != 7e4 || r.Categories[1].Sums.S != -13e4 {
			t.Errorf("categories %+v", r.Categories)
		}
		if len(r.Horizons) != 2 || leaderboard.HorizonWords(&r.Horizons[0]) != "Less than 1 day before the close" ||
			leaderboard.HorizonWords(&r.Horizons[1]) != "7 to 30 days before the close" {
			t.Errorf("horizons %+v", r.Horizons)
		}
		if len(r.Distances) != 1 || leaderboard.DistanceWords(&r.Distances[0]) != "0.10 to 0.20 from the market" {
			t.Errorf("distances %+v", r.Distances)
		}
		// Moved half way to the market, .65 earns 3.75 and .35 loses 6.25.
		if m := r.Moves[2]; m.Share != .5 || m.Sums.S != 37_500-62_500 || m.Gain.S != 37_500-62_500+60_000 {
			t.Errorf("half way %+v", m)
		}
		if len(r.Best) != 1 || len(r.Worst) != 1 || r.Best[0].ID != won || r.Worst[0].ID != lost || r.Best[0].Title != "" || r.Worst[0].Title == "" {
			t.Errorf("calls %+v, %+v", r.Best, r.Worst)
		}
		if len(r.Conclusions) != 0 || r.Comparisons != 0 {
			t.Errorf("%d comparisons, %v", r.Comparisons, r.Conclusions)
		}
		w.clock.move(dur(24))
		if r, err := w.store.Review(t.Context(), db.Reader, id, viewers.Viewer{Admin: true}); err != nil || r.All.Predictions != 3 || r.Best[0].Title == "" {
			t.Errorf("tomorrow %+v, %v", r, err)
		}
	})
}

// TestReviewConcludes checks the conclusions for an agent that exaggerates on every event: it does
// worse than the market, and moving half way would have earned points.
func TestReviewConcludes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "ada", days: 120})
		for i := range 120 {
			y := 0.
			if i%2 == 0 {
				y = 1
			}
			closes := start.AddDate(0, 0, -1-i%15)
			w.settled(id, bet{event: fmt.Sprint(i), category: "sports", p: .9, q: .5, y: y, closes: closes, published: closes.Add(-time.Hour)})
		}
		r, err := w.store.Review(t.Context(), db.Reader, id, viewers.Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, c := range r.Conclusions {
			texts = append(texts, fmt.Sprint(c.About, c.Better, " ", c.Text))
		}
		all := strings.Join(texts, "\n")
		// Half of the bets earn 24, half lose 56; moved to .7 they earn 16 and lose 24.
		for _, want := range []string{
			"overallfalse Overall: 16.0 points per event further from the truth than the market (95 % interval −",
			"120 events, 120 predictions).",
			"categoryfalse Category sports: 16.0 points",
			"horizonfalse Less than 1 day before the close: 16.0 points",
			"distancefalse 0.20 or more from the market: 16.0 points",
			"movetrue Moving every confidence 50 % of the way to the market would have earned 12.0 points more per event",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("want %q in\n%s", want, all)
			}
		}
		if r.Comparisons != 7 || len(r.Conclusions) != 5 {
			t.Errorf("%d comparisons:\n%s", r.Comparisons, all)
		}
	})
}

// TestReviewPrevious checks that a review holds a moved prediction against the agent's previous
// prediction, which is moved too. The numbers are those of package score's worked example.
func TestReviewPrevious(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		closes, said, unsaid := start.AddDate(0, 0, -1), .7, .3
		for name, second := range map[string]bet{
			"same":  {p: .8, q: .7, y: 1, previous: &said},
			"other": {outcome: 1, p: .2, q: .3, previous: &unsaid}, // the same belief, about the other one of two outcomes
		} {
			id := w.agent(agent{handle: name, days: 2})
			second.event, second.category, second.index, second.closes, second.published = name, "sports", 1, closes, closes.Add(-time.Hour)
			w.settled(id, bet{event: name, category: "sports", p: .7, q: .6, y: 1, closes: closes, published: closes.Add(-2 * time.Hour)})
			w.settled(id, second)
			w.exec("UPDATE results SET baseline_before = 0.6, baseline_after = 0.6 WHERE baseline_before > 0.5")
			w.exec("UPDATE results SET baseline_before = 0.4, baseline_after = 0.4 WHERE baseline_before < 0.5")
			r, err := w.store.Review(t.Context(), db.Reader, id, viewers.Viewer{})
			if err != nil {
				t.Fatal(err)
			}
			if r.All.Sums.S != 95_000 || r.All.Sums.N != 1 || r.Moves[2].Sums.S != 53_750 {
				t.Errorf("%s outcome: %+v, half way %+v", name, r.All.Sums, r.Moves[2].Sums)
			}
			if low, high, ok := r.All.Sums.Interval(); !ok || math.IsNaN(low) || high < low {
				t.Errorf("%s outcome: %v to %v", name, low, high)
			}
		}
	})
}
