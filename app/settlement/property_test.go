package settlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// finishes settle a populated world in different ways. All must end with the same sums.
var finishes = map[string]func(w *world, ms []*market.Market){
	"in order": func(w *world, ms []*market.Market) {
		s := w.service(0)
		for i := range ms {
			settleAs(w, ms, i)
			w.tick(s, ms[i])
		}
	},
	"shuffled, in small chunks": func(w *world, ms []*market.Market) {
		s := w.service(3)
		for _, i := range w.perm(len(ms)) {
			settleAs(w, ms, i)
			w.tick(s, ms[i])
			w.tick(s, ms[i]) // again, without effect
		}
	},
	"by two workers at once": func(w *world, ms []*market.Market) {
		for i := range ms {
			settleAs(w, ms, i)
		}
		observed := w.observe(ms...)
		var both sync.WaitGroup
		for range 2 {
			s := w.service(2)
			order := w.perm(len(observed))
			both.Go(func() {
				for _, i := range order {
					if err := s.AfterMarkets(context.Background(), observed[i:i+1]); err != nil {
						w.t.Error(err)
					}
				}
			})
		}
		both.Wait()
	},
	"stopped after every chunk": func(w *world, ms []*market.Market) {
		for i := range ms {
			settleAs(w, ms, i)
		}
		observed := w.observe(ms...)
		stop := errors.New("stopped")
		s := w.service(4)
		for allowed := 0; ; allowed++ {
			left := allowed
			s.afterChunk = func() error {
				if left--; left < 0 {
					return stop
				}
				return nil
			}
			err := s.AfterMarkets(context.Background(), observed)
			if err == nil {
				break
			}
			if !errors.Is(err, stop) || allowed > 500 {
				w.t.Fatal(allowed, err)
			}
		}
	},
	"wrong first, then corrected": func(w *world, ms []*market.Market) {
		s := w.service(5)
		for i, m := range ms {
			prices := make([]float64, len(m.Outcomes))
			prices[(i+1)%len(prices)] = 1
			closeWith(m, time.Time{}, prices...)
			w.tick(s, m)
		}
		w.clock = w.clock.Add(time.Minute)
		for i, m := range ms {
			settleAs(w, ms, i)
			w.tick(s, m)
		}
	},
	"void first, then reopened": func(w *world, ms []*market.Market) {
		s := w.service(5)
		for i, m := range ms {
			prices := make([]float64, len(m.Outcomes))
			prices[0] = 1
			if i%2 == 0 && len(prices) == 2 {
				prices[0], prices[1] = .5, .5
			}
			closeWith(m, w.clock, prices...)
			w.tick(s, m)
		}
		w.clock = w.clock.Add(time.Minute)
		for _, m := range ms {
			reopen(m, m.Prices...)
			w.tick(s, m)
		}
		w.clock = w.clock.Add(time.Minute)
		for i, m := range ms {
			settleAs(w, ms, i)
			w.tick(s, m)
		}
	},
	"ruled by an admin, then reopened": func(w *world, ms []*market.Market) {
		s := w.service(5)
		for _, m := range ms {
			closeWith(m, w.clock)
			w.tick(s, m)
			if _, err := s.Rule(context.Background(), KindMarketCorrected, m.ID, Ruling{Outcome: m.Outcomes[1], Note: "seen on television", Actor: "ada"}); err != nil {
				w.t.Fatal(err)
			}
			if _, err := s.Rule(context.Background(), KindMarketVoided, m.ID, Ruling{Note: "not so clear", Actor: "ada"}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.clock = w.clock.Add(time.Minute)
		for i, m := range ms {
			reopen(m, m.Prices...)
			w.tick(s, m)
			w.clock = w.clock.Add(time.Second)
			settleAs(w, ms, i)
			w.tick(s, m)
		}
	},
}

// TestEveryWayEndsTheSame checks that the sums are the same for every way of settling, and agree
// with a naive computation and with a rebuild.
func TestEveryWayEndsTheSame(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2} {
		var first string
		var once sync.Mutex
		for _, kind := range dbtest.Kinds {
			var original *world
			populated := dbtest.Filled(func(_ context.Context, db *database.DB) error {
				original = newWorld(t, db)
				populate(original, original.service(0), seed)
				return nil
			})
			for name, finish := range finishes {
				t.Run(fmt.Sprint(seed, " ", name, " ", kind), func(t *testing.T) {
					t.Parallel()
					db := dbtest.OpenAt(t, populated(t, kind)) // the first one makes the original
					w, ms := original.copyTo(t, db)
					finish(w, ms)
					got := w.sums()
					once.Lock()
					if first == "" {
						first = got
					}
					if got != first {
						t.Errorf("the sums differ from those of another finish:%s", difference(got, first))
					}
					once.Unlock()
					checkNaively(w)
					w.sameDays()
					w.rebuilt()
				})
			}
		}
	}
}

// checkNaively recomputes weights, scores and clusters from public data.
func checkNaively(w *world) {
	w.t.Helper()
	ctx := context.Background()
	var all []prediction.Prediction
	w.must(w.db.NewSelect().Model(&all).Order("p.id").Scan(ctx))
	var ranked, resolved int
	next := map[string]int{}
	said := map[string][]prediction.Prediction{} // by agent and market
	outcomes := map[string]int{}                 // by market
	for id, m := range w.markets {
		outcomes[id] = len(m.Outcomes)
	}
	clusters := map[string]score.Cluster{}
	categories := map[string]string{}
	w.must(eachCluster(ctx, w.db, func(agent uuid.UUID, event, category string) {
		categories[agent.String()+" "+event] = category
	}))
	want := map[[2]string]sumsOfDays{}
	for _, p := range all {
		key := p.AgentID.String() + " " + p.EventKey
		if p.BaselineState == prediction.Pending {
			w.t.Errorf("prediction %s is still pending", p.ID)
		}
		if p.BaselineState == prediction.Fixed {
			ranked++
			if *p.WeightIndex != next[key] {
				w.t.Errorf("prediction %s has weight index %d, want %d", p.ID, *p.WeightIndex, next[key])
			}
			next[key]++
			before, ok := 0., false
			for _, b := range said[fmt.Sprint(p.AgentID, p.MarketID)] {
				switch same := *b.OutcomeIndex == *p.OutcomeIndex; {
				case same:
					before, ok = b.Confidence, true
				case outcomes[p.MarketID] == 2:
					before, ok = score.Complement(b.Confidence), true
				}
			}
			if ok != (p.BaselinePrevious != nil) || (ok && before != *p.BaselinePrevious) {
				w.t.Errorf("prediction %s has previous %v, want %v (exists: %t)", p.ID, show(p.BaselinePrevious), before, ok)
			}
			if q, ok := p.Bounds().Clamp(p.Confidence); !ok || q != *p.Baseline {
				w.t.Errorf("prediction %s has baseline %v, want %v", p.ID, *p.Baseline, q)
			}
		}
		if p.MarketID != "" {
			of := fmt.Sprint(p.AgentID, p.MarketID)
			said[of] = append(said[of], p)
		}
		if p.Status != prediction.Resolved {
			continue
		}
		resolved++
		if p.Edge != nil {
			if want := score.Edge(p.Confidence, *p.Baseline, *p.ResolutionValue); *p.Edge != want {
				w.t.Errorf("prediction %s has edge %d, want %d", p.ID, *p.Edge, want)
			}
			clusters[key] = clusters[key].Plus(score.Bet(p.Confidence, *p.Baseline, *p.ResolutionValue, *p.WeightIndex))
		}
	}
	if ranked < 40 || resolved < 40 {
		w.t.Errorf("only %d fixed and %d resolved predictions: too few for this test", ranked, resolved)
	}
	for key, c := range clusters {
		for _, category := range []string{categories[key], AllCategories} {
			of := [2]string{key[:36], category}
			s := want[of]
			s.add(c)
			want[of] = s
		}
	}
	var blocks int
	w.must(w.db.NewRaw(`SELECT count(*) FROM (SELECT agent_id, day FROM agent_days GROUP BY agent_id, day HAVING
		sum(CASE category WHEN '' THEN clusters ELSE -clusters END) <> 0
		OR sum(CASE category WHEN '' THEN cluster_sum ELSE -cluster_sum END) <> 0) AS d`).Scan(ctx, &blocks))
	if blocks > 0 {
		w.t.Errorf("%d days over all categories differ from the sums of their categories", blocks)
	}
	for of, sums := range want {
		var got sumsOfDays
		err := w.db.NewRaw(`SELECT CAST(sum(clusters) AS BIGINT), CAST(sum(cluster_sum) AS BIGINT), CAST(sum(cluster_squares) AS BIGINT),
			CAST(sum(stake) AS BIGINT), CAST(sum(variance) AS BIGINT) FROM agent_days
			WHERE agent_id = ?0 AND category <> '' AND (category = ?1 OR ?1 = '')`, of[0], of[1]).
			Scan(ctx, &got.N, &got.S, &got.SS, &got.A, &got.V)
		if err != nil || got != sums {
			w.t.Errorf("agent %s in %q has %+v, want %+v, error %v", of[0], of[1], got, sums, err)
		}
	}
}

// sumsOfDays are the sums over an agent's days in one category that its clusters imply.
type sumsOfDays struct {
	score.Tally
	A, V int64
}

func (s *sumsOfDays) add(c score.Cluster) {
	s.Tally.Add(c.C)
	s.A += int64(c.A)
	s.V += int64(c.U) * int64(c.U)
}

func eachCluster(ctx context.Context, db *database.DB, fn func(agent uuid.UUID, event, category string)) error {
	var rows []Cluster
	err := db.NewSelect().Model(&rows).Scan(ctx)
	for _, c := range rows {
		fn(c.AgentID, c.EventKey, c.Category)
	}
	return err
}

// difference lists the lines that only one of the two texts has.
func difference(got, want string) string {
	var b strings.Builder
	has := func(text, line string) bool { return slices.Contains(strings.Split(text, "\n"), line) }
	for line := range strings.SplitSeq(got, "\n") {
		if !has(want, line) {
			b.WriteString("\n+ " + line)
		}
	}
	for line := range strings.SplitSeq(want, "\n") {
		if !has(got, line) {
			b.WriteString("\n- " + line)
		}
	}
	return b.String()
}
