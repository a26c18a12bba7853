package settlement

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
)

// TestReversalsRestoreEverySum checks that a correction, a void and a reopening return every sum
// that ranges and odds need to exactly its earlier value: C, ΣC², A, V and the day blocks T, W and
// Q, by category and over all.
func TestReversalsRestoreEverySum(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		// Two events of different categories close on one day, so they share a day block.
		ms := []*market.Market{
			w.market("1", "e1", "politics", start), w.market("2", "e1", "politics", start), w.market("3", "", "sports", start),
		}
		agent := w.agent(1)
		for i, m := range ms {
			m.Prices = []float64{.5, .5}
			w.publish(agent, m, i%2, .7+float64(i)/100)
		}
		w.clock = w.clock.Add(3 * time.Minute)
		w.tick(s, ms...)
		w.clock = w.clock.Add(time.Hour)
		settle := func(prices ...float64) {
			t.Helper()
			w.clock = w.clock.Add(time.Minute)
			closeWith(ms[0], start.Add(time.Hour), prices...)
			w.tick(s, ms...)
		}
		closeWith(ms[1], start.Add(time.Hour), 1, 0)
		closeWith(ms[2], start.Add(time.Hour), 0, 1)
		w.tick(s, ms[1], ms[2])
		without := readSums(w, agent)
		settle(1, 0)
		with := readSums(w, agent)
		for _, of := range []string{AllCategories, "politics"} {
			if with[of].A <= without[of].A || with[of].V <= without[of].V || with[of].Days == without[of].Days {
				t.Fatalf("%q: settling changed %+v to %+v, want a higher A and V and other days", of, without[of], with[of])
			}
		}
		same := func(after string, want map[string]score.Sums) {
			t.Helper()
			got := readSums(w, agent)
			for of, sums := range want {
				if got[of] != sums {
					t.Errorf("%s, %q: got %+v, want %+v", after, of, got[of], sums)
				}
			}
			w.rebuilt()
		}
		settle(0, 1)
		if wrong := readSums(w, agent)[AllCategories]; wrong.S == with[AllCategories].S || wrong.A != with[AllCategories].A || wrong.V != with[AllCategories].V {
			t.Errorf("the other outcome changed %+v to %+v, want another S and the same A and V", with[AllCategories], wrong)
		}
		settle(1, 0)
		same("corrected and corrected again", with)
		settle(.5, .5)
		same("void", without)
		reopen(ms[0], .5, .5)
		w.clock = w.clock.Add(time.Minute)
		w.tick(s, ms[0])
		same("reopened", without)
		settle(1, 0)
		same("settled again", with)
	})
}

// readSums adds up an agent's days, by category and over all categories.
func readSums(w *world, agent uuid.UUID) map[string]score.Sums {
	w.t.Helper()
	sums := map[string]score.Sums{}
	w.must(w.db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
		var rows []struct {
			Category                 string
			Clusters                 int64
			ClusterSum, Stake        score.Points
			ClusterSquares, Variance int64
		}
		err := tx.NewSelect().TableExpr("(?) AS d", SelectDays(tx)).Column("category", "clusters", "cluster_sum").
			ColumnExpr("COALESCE(stake, 0) AS stake, COALESCE(cluster_squares, 0) AS cluster_squares, COALESCE(variance, 0) AS variance").
			Where("agent_id = ?", agent).Scan(ctx, &rows)
		for _, r := range rows {
			day := score.Sums{Tally: score.Tally{N: r.Clusters, S: r.ClusterSum, SS: r.ClusterSquares}, A: r.Stake, V: r.Variance}
			if r.Category != AllCategories {
				sums[AllCategories] = sums[AllCategories].Plus(day) // all sums except the day blocks
			} else {
				day = score.Sums{}
			}
			day.Days.Add(r.Clusters, r.ClusterSum)
			sums[r.Category] = sums[r.Category].Plus(day)
		}
		return err
	}))
	return sums
}
