package simulation

import (
	"math"

	"github.com/pulsecast/pulsecast/app/score"
)

// rules are the settings of the leaderboard.
type rules struct {
	events, categoryEvents, disagreements, days int
	disagreement                                float64
	perOwner                                    int
	// afterDelay is the least time between publication and the view after it.
	afterDelay float64
	// displayed compares predictions with the displayed middle of the book, without regard to its
	// spread and liquidity, as version 1 of the rules did.
	displayed bool
	// withoutHour leaves out the median view of the hour before publication.
	withoutHour bool
}

// leaderboardRules are the default settings of the leaderboard.
var leaderboardRules = rules{events: 30, categoryEvents: 15, disagreements: 10, days: 14, disagreement: score.MinDisagreement,
	perOwner: 3, afterDelay: score.AfterDelayMost.Seconds()}

// record holds what our leaderboard stores of one agent.
type record struct {
	clusters map[int]*cluster
	previous map[int]float64 // last confidence by market
	days     map[int]bool
}

// cluster adds up an agent's predictions on one event.
type cluster struct {
	next          int // index of the next prediction with a baseline
	settled       bool
	differs       bool
	category, day int // day is the day of the scheduled close
	value         score.Cluster
	expected      float64 // expectation of value.C given the truth, in points
}

// standings holds an agent's sums in one window and category.
type standings struct {
	sums    score.Sums
	differs int
	// target is the expectation of the mean cluster given the truth, in points.
	target float64
}

// ours ranks the agents with the functions of package score.
func ours(name string, w *world, agents []*agent, all []forecast, set rules) *board {
	records := make([]record, len(agents))
	for i := range records {
		records[i] = record{map[int]*cluster{}, map[int]float64{}, map[int]bool{}}
	}
	for _, f := range all {
		records[f.agent].add(w, f, set)
	}
	b := newBoard(name, len(agents))
	main := make([]standings, len(agents))
	tallies := make([]score.Tally, len(agents))
	for i, r := range records {
		main[i] = r.standings(func(*cluster) bool { return true })
		tallies[i] = main[i].sums.Tally
		b.eligible[i], b.target[i] = r.ranked(main[i], set.events, set), main[i].target
	}
	prior := score.EstimatePrior(tallies)
	for i, t := range tallies {
		b.value[i] = t.Skill(prior.Kappa)
	}
	b.rank(agents, set.perOwner)
	b.study = newStudy(b, agents, records, main, set)
	return b
}

// variant ranks the agents with one rule changed, to show the effect of that rule.
func variant(name string, w *world, agents []*agent, all []forecast, change func(*rules)) *board {
	set := leaderboardRules
	change(&set)
	b := ours(name, w, agents, all, set)
	b.variant = true
	return b
}

// add scores one prediction as ingest and settlement do.
func (r *record) add(w *world, f forecast, set rules) {
	m := w.markets[f.market]
	previous := r.previousOf(f)
	if m.book.illiquid && !set.displayed {
		return
	}
	before, after := w.around(m, f, set.afterDelay)
	if after == nil {
		return
	}
	r.days[int(f.at/day)] = true
	c := r.cluster(m)
	i := c.next
	c.next++
	// A market that closes early counts from its scheduled day on.
	if m.event.closes > boardDay*day || m.closes > boardDay*day {
		return
	}
	bounds := score.Bounds{Before: before, After: after, Previous: previous}
	switch {
	case set.displayed:
		bounds.Before, bounds.After = displayed(before), displayed(after)
	case !set.withoutHour && outside(bounds, f.p):
		bounds.Hour = w.hourBefore(m, f)
	}
	q, _ := bounds.Clamp(f.p)
	c.settled = true
	c.differs = c.differs || math.Abs(f.p-q) >= set.disagreement
	c.value = c.value.Plus(score.Bet(f.p, q, m.y, i))
	c.expected += score.Weight(i) * 100 * (sq(q-f.truth) - sq(f.p-f.truth))
}

// outside reports whether another bound could change the baseline of p.
func outside(bounds score.Bounds, p float64) bool {
	q, _ := bounds.Clamp(p)
	return q != p
}

// previousOf returns the agent's last confidence on the market, or nil, and stores that of f in its
// place.
func (r *record) previousOf(f forecast) *float64 {
	p, ok := r.previous[f.market]
	r.previous[f.market] = f.p
	if !ok {
		return nil
	}
	return &p
}

func (r *record) cluster(m *market) *cluster {
	c := r.clusters[m.eventID]
	if c == nil {
		c = &cluster{category: m.event.category, day: int(m.event.closes / day)}
		r.clusters[m.eventID] = c
	}
	return c
}

func displayed(v *score.View) *score.View {
	if v == nil {
		return nil
	}
	price := score.PriceView(middle(*v))
	return &price
}

// standings adds up the settled clusters for which keep returns true.
func (r *record) standings(keep func(*cluster) bool) standings {
	var s standings
	type block struct {
		n   int64
		sum score.Points
	}
	days := map[int]block{}
	for _, c := range r.clusters {
		if !c.settled || !keep(c) {
			continue
		}
		s.sums.Add(c.value)
		s.target += c.expected
		d := days[c.day]
		days[c.day] = block{d.n + 1, d.sum + c.value.C}
		if c.differs {
			s.differs++
		}
	}
	for _, d := range days {
		s.sums.Days.Add(d.n, d.sum)
	}
	s.target /= float64(max(s.sums.N, 1))
	return s
}

// ranked reports whether an agent meets the thresholds of a board.
func (r *record) ranked(s standings, events int, set rules) bool {
	return int(s.sums.N) >= events && s.differs >= set.disagreements && len(r.days) >= set.days
}

func sq(x float64) float64 { return x * x }
