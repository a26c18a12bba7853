package leaderboard_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

func TestModels(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "one", model: "strong", days: 14}), "sport", "2026-11-01", 40, 3)
		w.days(w.agent(agent{handle: "two", model: "strong", days: 14}), "sport", "2026-11-01", 30, 5)
		w.days(w.agent(agent{handle: "three", model: "weak", days: 1}), "sport", "2026-11-01", 40, -1)
		w.days(w.agent(agent{handle: "four", days: 14}), "sport", "2026-11-01", 40, 9)
		w.agent(agent{handle: "five", model: "unused", days: 1})
		w.tick()
		models, err := w.store.Models(t.Context(), db.Reader, leaderboard.All)
		if err != nil || len(models) != 2 {
			t.Fatalf("models %+v, %v", models, err)
		}
		s := models[0]
		pooled := score.Sums{
			Tally: score.Tally{N: 70, S: 40*30_000 + 30*50_000, SS: 40*30_000*30_000 + 30*50_000*50_000},
			A:     70 * stake, V: 70 * spread * spread,
		}
		want, _ := pooled.Posterior(score.DefaultSharePrior)
		if s.Model != "strong" || s.Agents != 2 || s.Ranked != 2 || s.Events != 70 || s.Skill != pooled.Skill(100) || *s.Range != want || s.Best != "two" || s.BestName != "TWO" {
			t.Errorf("strong = %+v, want %+v", s, want)
		}
		if weak := models[1]; weak.Model != "weak" || weak.Ranked != 0 || weak.Best != "" {
			t.Errorf("weak = %+v", weak)
		}
		w.exec("UPDATE agents SET name = 'Deux' WHERE handle = 'two'")
		if models, err = w.store.Models(t.Context(), db.Reader, leaderboard.All); err != nil || models[0].BestName != "Deux" {
			t.Errorf("after a rename: %+v, %v", models, err)
		}
	})
}

// TestModelsOfReplica checks that a name which was hidden leaves the models within seconds, although the replica that they
// were read from was behind, and that the primary never shows what the replica gave.
func TestModelsOfReplica(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "one", model: "named", days: 14}), "sport", "2026-11-01", 40, 3)
		w.tick()
		replica, _ := database.OnReplica(t.Context(), &database.Replica{DB: db.Reader})
		shows := func(ctx context.Context, want string) {
			t.Helper()
			models, err := w.store.Models(ctx, db.Reader, leaderboard.All)
			if err != nil || len(models) != 1 || models[0].Model != want {
				t.Errorf("models %+v, %v, want %q", models, err, want)
			}
		}
		shows(replica, "named")
		w.exec("UPDATE board_rows SET model = 'hidden'")
		shows(replica, "named")
		shows(t.Context(), "hidden")
		w.clock.move(6 * time.Second)
		shows(replica, "hidden")
	})
}

// TestModelsByWindow checks that each window pools its own events, and that Brier scores are
// weighted by the number of predictions.
func TestModelsByWindow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a", model: "m", days: 14}), w.agent(agent{handle: "b", model: "m", days: 14})
		for _, id := range []string{"1", "2", "3", "4"} {
			w.market(id, "", "sport", nil, 0.5, 0.5)
		}
		w.record(
			forecast{agent: a, market: "1", p: 0.9, q: 0.5, y: 1, hours: 9, day: "2026-11-11"}, // Brier .01, the market's .25
			forecast{agent: a, market: "2", p: 0.7, q: 0.5, y: 1, hours: 9, day: "2026-11-12"}, // .09
			forecast{agent: a, market: "3", p: 0.4, q: -1, y: 1, hours: 9, day: "2026-11-12"},  // no baseline
			forecast{agent: b, market: "1", p: 0.4, q: 0.8, y: 1, hours: 9, day: "2026-11-11"}, // .36, .04
			forecast{agent: b, market: "4", p: 0.5, q: 0.4, y: 0, hours: 9, day: "2026-07-01"}, // .25, .16, long ago
		)
		w.tick()
		for _, c := range []struct {
			window        leaderboard.Window
			events        int64
			brier, market float64
		}{
			{leaderboard.All, 4, (.01 + .09 + .36 + .25) / 4, (.25 + .25 + .04 + .16) / 4},
			{leaderboard.Days30, 3, (.01 + .09 + .36) / 3, (.25 + .25 + .04) / 3},
		} {
			for range 2 { // the first read queries the database, the second uses memory
				models, err := w.store.Models(t.Context(), db.Reader, c.window)
				if err != nil || len(models) != 1 {
					t.Fatalf("%s: %+v, %v", c.window, models, err)
				}
				if m := models[0]; m.Agents != 2 || m.Events != c.events || math.Abs(*m.Brier-c.brier) > 1e-9 || math.Abs(*m.MarketBrier-c.market) > 1e-9 {
					t.Errorf("%s: %+v with %v and %v, want %+v", c.window, m, *m.Brier, *m.MarketBrier, c)
				}
			}
		}
	})
}

// TestModelPages checks that the pages of the models hold each of them once, although one overtakes others between two
// pages, and that cursors of other lists are refused.
func TestModelPages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("🤖", 80)
	rows := []leaderboard.ModelRow{{Model: "a", Skill: 5, Events: 9}, {Model: long, Skill: 4, Events: 9}, {Model: "b", Skill: 4, Events: 9}, {Model: "c", Skill: 4, Events: 8}, {Model: "d", Skill: -1.5, Events: 9}}
	slices.SortFunc(rows[1:3], func(a, b leaderboard.ModelRow) int { return strings.Compare(a.Model, b.Model) })
	var read []string
	for next, pages := "", 0; ; pages++ {
		after, err := leaderboard.ParseModelPlace(next)
		if err != nil || len(next) > 500 {
			t.Fatalf("cursor %s: %v", next, err)
		}
		var page []leaderboard.ModelRow
		if page, next = leaderboard.ModelsAfter(rows, after, 2); len(page) > 2 {
			t.Errorf("a page has %d models", len(page))
		}
		for _, m := range page {
			read = append(read, m.Model)
		}
		if next == "" || pages > 5 {
			break
		}
		if pages == 0 {
			rows = append([]leaderboard.ModelRow{{Model: "new", Skill: 6, Events: 1}}, rows...)
		}
	}
	if want := []string{"a", "b", long, "c", "d"}; !slices.Equal(read, want) {
		t.Errorf("the pages hold %q, want %q", read, want)
	}
	for _, bad := range []string{"x", cursor.Encode("models", "2"), cursor.Encode("models", "1", "2", "m"), cursor.Encode("model", "NaN", "2", "m"), cursor.Encode("model", "1", "2.5", "m"), cursor.Encode("model", "1", "2", "")} {
		if place, err := leaderboard.ParseModelPlace(bad); err == nil {
			t.Errorf("cursor %s: got %+v, want a refusal", bad, place)
		}
	}
}
