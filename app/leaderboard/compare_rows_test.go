package leaderboard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	viewers "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// TestCompareRows checks that a comparison reads only the newest 5,000 events of each agent, and
// that the order of the agents doesn't matter.
func TestCompareRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a, b := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"})
			last := 0
			for _, size := range dbtest.Sizes(kind, 8_000, 40_000) {
				settled(t, db, last+1, size, a, 1)
				settled(t, db, last+1, size, b, 2) // every second event of a
				last = size
				var c, swapped *leaderboard.Comparison
				explained := dbtest.Explain(t, db, func(db *database.DB) {
					var err error
					if c, err = w.store.Compare(t.Context(), db.Reader, a, b); err != nil {
						t.Fatal(err)
					}
					if swapped, err = w.store.Compare(t.Context(), db.Reader, b, a); err != nil {
						t.Fatal(err)
					}
				})
				for _, e := range explained {
					// Postgres reads the whole of a table that is small enough.
					if n := e.Tables["clusters"]; size > 8_000 && n > 2*leaderboard.MaxCompared+100 {
						t.Errorf("%d rows of %d events: %s", n, size, e.Query)
					}
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
				// Of a's newest 5,000, b has every second one.
				if c.Shared != leaderboard.MaxCompared/2 || swapped.Shared != c.Shared || swapped.AWins != c.BWins || swapped.MeanA != c.MeanB {
					t.Errorf("got %d shared events, and %d with the agents swapped", c.Shared, swapped.Shared)
				}
			}
		})
	}
}

// TestEventRows checks that reading the events of an agent's page costs the same however many
// events the agent has.
func TestEventRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a := w.agent(agent{handle: "a"})
			last := 0
			for _, size := range dbtest.Sizes(kind, 8_000, 40_000) {
				settled(t, db, last+1, size, a, 1)
				last = size
				for most, read := range map[int64]func(db *database.DB) error{
					1_000: func(db *database.DB) error {
						_, next, err := w.store.EventsOf(t.Context(), db.Reader, a, 100, "")
						if err == nil {
							_, _, err = w.store.EventsOf(t.Context(), db.Reader, a, 100, next)
						}
						return err
					},
					leaderboard.MaxReviewed + 100: func(db *database.DB) error {
						_, err := w.store.Highlights(t.Context(), db.Reader, a, 20, 5)
						return err
					},
				} {
					explained := dbtest.Explain(t, db, func(db *database.DB) {
						if err := read(db); err != nil {
							t.Fatal(err)
						}
					})
					for _, e := range explained {
						// Postgres reads the whole of a table that is small enough.
						if n := e.Tables["clusters"]; size > 8_000 && n > most {
							t.Errorf("%d rows of %d events, want at most %d: %s", n, size, most, e.Query)
						}
						if len(e.Whole) > 0 {
							t.Errorf("%q in %s", e.Whole, e.Query)
						}
					}
				}
			}
		})
	}
}

// TestReviewRows checks that a review reads only the newest settled predictions of an agent.
func TestReviewRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a := w.agent(agent{handle: "a"})
			last := 0
			for _, size := range dbtest.Sizes(kind, 2_000, 40_000) {
				settled(t, db, last+1, size, a, 1)
				bets(t, db, last+1, size, a)
				last = size
				var r *leaderboard.Review
				explained := dbtest.Explain(t, db, func(db *database.DB) {
					var err error
					if r, err = w.store.Review(t.Context(), db.Reader, a, viewers.Viewer{}); err != nil {
						t.Fatal(err)
					}
				})
				for _, e := range explained {
					for _, table := range []string{"predictions", "results", "clusters"} {
						if n := e.Tables[table]; size > 2_000 && n > leaderboard.MaxReviewed+100 {
							t.Errorf("%d rows of %s with %d predictions: %s", n, table, size, e.Query)
						}
					}
					if slices.ContainsFunc(e.Whole, func(step string) bool { return strings.HasPrefix(step, "SCAN") }) {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
				if n, total := r.All.Predictions, leaderboard.MaxReviewed*score.Edge(.6, .5, 1); n != leaderboard.MaxReviewed || r.All.Sums.S != total {
					t.Errorf("%d predictions with %v points, want the newest %d with %v", n, r.All.Sums.S, leaderboard.MaxReviewed, total)
				}
			}
		})
	}
}

// bets writes a prediction of the agent, at .6 against .5, for each event from number from to number to. They were settled in
// this order. The newest leaderboard.MaxReviewed of them won, and all others lost.
func bets(t *testing.T, db *database.DB, from, to int, agentID uuid.UUID) {
	t.Helper()
	list := make([]prediction.Prediction, 0, to-from+1)
	for n := from; n <= to; n++ {
		at := start.AddDate(0, -6, 0).Add(time.Duration(n) * time.Minute)
		p, q, y, outcome, index := .6, .5, 0.0, 0, 0
		if n > to-leaderboard.MaxReviewed {
			y = 1
		}
		edge, brier := score.Edge(p, q, y), score.Brier(p, y)
		list = append(list, prediction.Prediction{
			ID: database.NewID(at), AgentID: agentID, Title: fmt.Sprint("Bet ", n), Thesis: strings.Repeat("word ", 200), Confidence: p, HorizonAt: at, Category: "general",
			MarketID: fmt.Sprint("m", n), Outcome: "Yes", OutcomeIndex: &outcome, EventKey: fmt.Sprint("e:", n), ScheduledCloseAt: at, Reveal: prediction.RevealNow,
			BaselineState: prediction.Fixed, Baseline: &q, BaselineBefore: &q, BaselineAfter: &q, BaselineObservedAt: at, WeightIndex: &index,
			Status: prediction.Resolved, ResolutionValue: &y, ResolutionSource: "market", ResolvedAt: at, Brier: &brier, Edge: &edge,
			Day: at.Format(time.DateOnly), ScoreCategory: "general", RulesVersion: score.RulesVersion, CreatedAt: at,
		})
	}
	if err := prediction.Restore(t.Context(), db, list); err != nil {
		t.Fatal(err)
	}
	vacuum(t, db, "predictions")
	vacuum(t, db, "results")
}

// vacuum does what autovacuum does for a table that grew.
func vacuum(t *testing.T, db *database.DB, table string) {
	t.Helper()
	if db.Kind != database.Postgres {
		return
	}
	if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE "+table); err != nil {
		t.Fatal(err)
	}
}

// settled writes a cluster of the agent for each event from number from to number to whose number
// is divisible by every.
func settled(t *testing.T, db *database.DB, from, to int, agentID uuid.UUID, every int) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value)
		SELECT ?3, 'e:' || n, 'sport', '2026-0' || (1 + n / 5000) || '-01', 1, 1, 1, n * 7919 % 1000 - 500 FROM
		(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers
		WHERE n % ?2 = 0`, from, to, every, agentID)
	if err != nil {
		t.Fatal(fmt.Errorf("write clusters: %w", err))
	}
	vacuum(t, db, "clusters")
}
