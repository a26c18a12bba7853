package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/score"
)

// TestAcceptance simulates two worlds of each population. cmd/simulate runs forty.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	c := Config{Seeds: 2, First: 1, Agents: 342, Markets: 1500, Foresight: ClearSkill}
	outcomes := Run(c)
	for _, reason := range Verdict(outcomes) {
		t.Error(reason)
	}
	var out strings.Builder
	r := Report{Config: c, Populations: []Population{{Foresight: c.Foresight, Main: outcomes}}, Daily: RunDaily(20), Power: RunPower(20)}
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "Pulsecast") {
		t.Errorf("table: %v\n%s", err, out.String())
	}
	// If agents differ little, lucky ones may reach the top. But no agent may reach it by
	// exploiting a rule.
	c.Foresight, c.OwnOnly = FaintSkill, true
	for _, o := range Run(c) {
		for _, k := range []kind{alwaysHalf, copier, repeater, lastMinute, selective, lateCopier, latency,
			sweeper, push5, picker, fader} {
			if rank := o.Methods[0].Best[k]; rank > 0 && rank <= topPlaces {
				t.Errorf("seed %d: %s reach rank %d, want none above 20", o.Seed, kindNames[k], rank)
			}
		}
	}
}

func TestSameSeedSameWorld(t *testing.T) {
	t.Parallel()
	c := Config{Agents: 60, Markets: 100, Foresight: ClearSkill}
	if a, b := simulate(3, c), simulate(3, c); a.Forecasts != b.Forecasts || a.Methods[0].Best != b.Methods[0].Best ||
		a.Methods[0].Spearman != b.Methods[0].Spearman {
		t.Error("the same seed gave two different worlds")
	}
}

// TestWorldIsCalibrated checks that prices and informed posteriors are calibrated. Without that, the true
// skill would mean nothing.
func TestWorldIsCalibrated(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	w := newWorld(r, Config{Markets: 20_000}, 5)
	a := &agent{foresight: 0.5, temper: 1}
	var price, informed [score.BinCount]score.BinSum
	var gain, n float64
	for _, m := range w.markets {
		at := m.event.opens + r.Float64()*(m.event.closes-m.event.opens)
		if at >= m.result {
			continue
		}
		s := m.stateAt(at)
		q := s.probability(s.x, s.remaining)
		p := a.observe(m.path[len(m.path)-1], r.NormFloat64(), r).posterior(s)
		price[score.BinOf(q)].Add(q, m.y)
		informed[score.BinOf(p)].Add(p, m.y)
		gain += score.Edge(p, q, m.y).Float()
		n++
	}
	for name, sums := range map[string][score.BinCount]score.BinSum{"price": price, "informed belief": informed} {
		if e := score.CalibrationError(sums); e > 0.015 {
			t.Errorf("%s: calibration error %.4f", name, e)
		}
	}
	agents := []*agent{a, {kind: copier, temper: 1}}
	measure(agents, w, r)
	if realized := gain / n; math.Abs(realized-a.skill) > 0.25 || a.skill < 0.5 || agents[1].skill != 0 {
		t.Errorf("true skill %.3f, realized %.3f; a copier's %v", a.skill, realized, agents[1].skill)
	}
}

// rivalWorld returns the worked example of the specification: prices (.6, .4, .5), results (1, 0,
// 1), and two agents that answer all three questions at once.
func rivalWorld() (*world, []*agent, []forecast, []int) {
	w := &world{}
	var all []forecast
	answers := [][2]float64{{.9, .2}, {.1, .8}, {.3, .9}}
	for i, price := range []float64{.6, .4, .5} {
		e := &event{opens: 0, closes: 10 * day}
		// Until the end, Φ of the latent score is the price.
		x := math.Sqrt2 * math.Erfinv(2*price-1)
		m := &market{id: i, event: e, start: x, result: 10 * day, closes: 10 * day, y: []float64{1, 0, 1}[i]}
		w.markets, w.events = append(w.markets, m), append(w.events, e)
		for a, p := range answers[i] {
			all = append(all, forecast{agent: a, market: i, at: 5 * day, p: p, truth: price})
		}
	}
	return w, []*agent{{id: 0}, {id: 1}}, all, []int{3, 3}
}

func TestRivalFormulas(t *testing.T) {
	t.Parallel()
	w, agents, all, counts := rivalWorld()
	peer := 0.0 // predictions cover half of each question's life, and each agent has one rival
	for i, m := range w.markets {
		a, b := all[2*i].p, all[2*i+1].p
		if m.y == 0 {
			a, b = 1-a, 1-b
		}
		peer += 100 * math.Log(a/b) * 0.5
	}
	for _, c := range []struct {
		board *board
		want  [2]float64
	}{
		{rawBrier(w, agents, all, counts, 3), [2]float64{-.51 / 3, -1.29 / 3}},
		{brierSkill(w, agents, all, counts, 3), [2]float64{1 - .17/.25, 1 - .43/.25}},
		{winRate(w, agents, all, counts, 3), [2]float64{2. / 3, 1. / 3}},
		{marketAdjusted(w, agents, all, counts, 3), [2]float64{.02, -.24}},
		{twoWay(w, agents, all, counts, 3), [2]float64{.13, -.13}},
		{peerScores(w, agents, all, counts, 3), [2]float64{peer / 30, -peer / 30}},
	} {
		for i, want := range c.want {
			if got := c.board.value[i]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s of agent %d = %v, want %v", c.board.method, i, got, want)
			}
		}
		if !slices.Equal(c.board.ranked, []int{0, 1}) {
			t.Errorf("%s ranks %v", c.board.method, c.board.ranked)
		}
	}
}

func TestOwnersAreLimited(t *testing.T) {
	t.Parallel()
	agents := make([]*agent, 8)
	b := newBoard("test", len(agents))
	for i := range agents {
		agents[i] = &agent{id: i, owner: i % 2}
		b.value[i], b.eligible[i] = float64(-i), true
	}
	b.rank(agents, 3)
	if want := []int{0, 1, 2, 3, 4, 5, 6}; !slices.Equal(b.ranked, want) {
		t.Errorf("ranked %v, want %v", b.ranked, want)
	}
}

func TestRanksShareTies(t *testing.T) {
	t.Parallel()
	if got := ranks([]float64{3, 1, 3, 2}); !slices.Equal(got, []float64{2.5, 0, 2.5, 1}) {
		t.Errorf("ranks %v", got)
	}
}

func TestBooksAreAsRecorded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	w := newWorld(r, Config{Markets: 5_000}, 6)
	var wide, illiquid, held, quoted float64
	for _, m := range w.markets {
		if m.book.spread > 0.10 {
			wide++
		}
		if m.book.illiquid {
			illiquid++
		}
		at := m.event.opens + r.Float64()*(m.result-m.event.opens)
		if _, spike := w.spikeIn(m, int(at/hour)); spike {
			continue
		}
		v, fair := w.bookAt(m, at), m.price(max(at-m.book.lag, m.event.opens))
		quoted++
		if v.Bid-.0005 <= fair && fair <= v.Ask+.0005 && 0 <= v.Bid && v.Bid <= v.Ask && v.Ask <= 1 {
			held++
		}
	}
	n := float64(len(w.markets))
	if math.Abs(wide/n-.14) > .02 || math.Abs(illiquid/n-65./300) > .02 || held < quoted {
		t.Errorf("wide %.3f, illiquid %.3f, %v of %v books hold the fair price", wide/n, illiquid/n, held, quoted)
	}
}

// TestShocksAreShared checks that outcomes of events that close together have the given correlation and stay
// calibrated.
func TestShocksAreShared(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{0, .3} {
		w := newWorld(rand.New(rand.NewPCG(7, 7)), Config{Markets: 8_000, Rho: rho, PerDay: 20}, 7)
		days := map[int][]float64{}
		for _, e := range w.events {
			m := w.markets[e.markets[0]]
			days[int(e.closes/day)] = append(days[int(e.closes/day)], m.path[len(m.path)-1]-m.start)
		}
		var products, squares, pairs, all float64
		for _, moves := range days {
			for i, x := range moves {
				squares += x * x
				all++
				for _, y := range moves[:i] {
					products += x * y
					pairs++
				}
			}
		}
		if got := products / pairs / (squares / all); math.Abs(got-rho) > .12 || math.Abs(squares/all-1) > .1 {
			t.Errorf("correlation %.3f, want %.1f; variance %.3f", got, rho, squares/all)
		}
	}
}

// TestPushHasToOutlastTheMedian checks that a push narrows the bounds of its author's prediction only if it lasts for
// more than half of the hour before publication.
func TestPushHasToOutlastTheMedian(t *testing.T) {
	t.Parallel()
	w := &world{seed: 8}
	e := &event{opens: 0, closes: 10 * day}
	m := &market{event: e, result: 9 * day, closes: 9 * day, book: book{spread: .3}}
	at := 5*day + hour
	open := w.bookAt(m, at)
	pushed := score.View{Bid: open.Bid, Ask: open.Bid + .002}
	for _, c := range []struct {
		minutes float64
		want    score.View
	}{{5, open}, {25, open}, {45, pushed}, {180, pushed}} {
		f := forecast{at: at, push: &push{c.minutes * minute, pushed}}
		before, after := w.around(m, f, 2*minute)
		if got := w.hourBefore(m, f); *got != c.want || *before != pushed || *after != pushed {
			t.Errorf("%v minutes: hour %v, before %v, after %v", c.minutes, *got, *before, *after)
		}
	}
}
