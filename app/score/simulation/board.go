package simulation

import (
	"cmp"
	"math"
	"slices"

	"github.com/pulsecast/pulsecast/app/score"
)

// board is one way to rank the agents.
type board struct {
	method string
	// variant boards are ours under another rule, not a rival's.
	variant bool
	// value orders the agents, higher is better; not a number where there is none.
	value []float64
	// eligible agents may be ranked.
	eligible []bool
	ranked   []int
	// estimate, half and target describe the interval estimate ± half and what it is
	// meant to hold: the expectation of the same quantity over the truth. half is not
	// a number where the method gives no interval.
	estimate, half, target []float64
}

func newBoard(method string, n int) *board {
	b := &board{method: method, eligible: make([]bool, n)}
	for _, column := range []*[]float64{&b.value, &b.estimate, &b.half, &b.target} {
		*column = slices.Repeat([]float64{math.NaN()}, n)
	}
	return b
}

// rank sorts the eligible, at most perOwner of each known owner (0: no limit).
func (b *board) rank(agents []*agent, perOwner int) {
	for i := range b.value {
		if b.eligible[i] && !math.IsNaN(b.value[i]) {
			b.ranked = append(b.ranked, i)
		}
	}
	slices.SortStableFunc(b.ranked, func(i, j int) int { return cmp.Compare(b.value[j], b.value[i]) })
	ofOwner := map[int]int{}
	b.ranked = slices.DeleteFunc(b.ranked, func(i int) bool {
		owner := agents[i].owner
		ofOwner[owner]++
		return perOwner > 0 && owner != 0 && ofOwner[owner] > perOwner
	})
}

// rules are the settings of the leaderboard.
type rules struct {
	events, disagreements, days int
	disagreement                float64
	perOwner                    int
	// afterDelay is the least time between publication and the price after it.
	afterDelay float64
	// priorOfRanked estimates the prior from the agents who meet the thresholds, not
	// from everybody with a record.
	priorOfRanked bool
}

// record is what our leaderboard holds of one agent.
type record struct {
	clusters map[int]*cluster
	previous map[int]float64 // by market
	days     map[int]bool
}

// cluster is an agent's work on one event.
type cluster struct {
	next     int // weight of the next forecast with a baseline
	settled  bool
	differs  bool
	value    score.Points
	expected float64 // of value, over the truth, in points
}

// ours ranks by the real functions of package score.
func ours(name string, w *world, agents []*agent, all []forecast, set rules) *board {
	records := make([]record, len(agents))
	for i := range records {
		records[i] = record{map[int]*cluster{}, map[int]float64{}, map[int]bool{}}
	}
	for _, f := range all {
		records[f.agent].add(w, f, set)
	}
	tallies := make([]score.Tally, len(agents))
	for i, r := range records {
		for _, c := range r.clusters {
			if c.settled {
				tallies[i].Add(c.value)
			}
		}
	}
	b := newBoard(name, len(agents))
	var comparable []score.Tally
	for i, r := range records {
		b.eligible[i], b.target[i] = r.judge(tallies[i], set)
		if b.eligible[i] || !set.priorOfRanked {
			comparable = append(comparable, tallies[i])
		}
	}
	prior := score.EstimatePrior(comparable)
	for i, t := range tallies {
		e := score.Skill(t, prior)
		b.value[i], b.estimate[i], b.half[i] = e.Skill, e.Skill, e.High-e.Skill
	}
	b.rank(agents, set.perOwner)
	return b
}

// add scores one forecast as ingest and settlement would.
func (r *record) add(w *world, f forecast, set rules) {
	m := w.markets[f.market]
	before, after := w.around(m, f.at, set.afterDelay)
	var previous *float64
	if p, ok := r.previous[f.market]; ok {
		previous = &p
	}
	r.previous[f.market] = f.p
	q, ok := score.Clamp(f.p, before, after, previous)
	if !ok {
		return
	}
	r.days[int(f.at/day)] = true
	c := r.clusters[m.eventID]
	if c == nil {
		c = &cluster{}
		r.clusters[m.eventID] = c
	}
	i := c.next
	c.next++
	// What closes early waits for its scheduled day.
	if m.event.closes > boardDay*day || m.closes > boardDay*day {
		return
	}
	c.settled = true
	c.differs = c.differs || math.Abs(f.p-q) >= set.disagreement
	c.value += score.Contribution(score.Edge(f.p, q, m.y), i)
	c.expected += score.Weight(i) * 100 * (sq(q-f.truth) - sq(f.p-f.truth))
}

// judge reports whether an agent is ranked and what its mean cluster is expected to be.
func (r *record) judge(t score.Tally, set rules) (ranked bool, target float64) {
	differs := 0
	for _, c := range r.clusters {
		if c.settled {
			target += c.expected / float64(t.N)
			if c.differs {
				differs++
			}
		}
	}
	return int(t.N) >= set.events && differs >= set.disagreements && len(r.days) >= set.days, target
}

func sq(x float64) float64 { return x * x }

// leaderboardRules are those of the specification.
var leaderboardRules = rules{events: 30, disagreements: 10, days: 14, disagreement: 0.03, perOwner: 3,
	afterDelay: score.AfterDelayMost.Seconds()}

// variant ranks with one rule changed, to show what that rule is worth.
func variant(name string, w *world, agents []*agent, all []forecast, change func(*rules)) *board {
	set := leaderboardRules
	change(&set)
	b := ours(name, w, agents, all, set)
	b.variant = true
	return b
}
