package score_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/score"
)

func view(bid, ask float64) *score.View { return &score.View{Bid: bid, Ask: ask} }

// TestMoved checks that a confidence moves towards the nearest value within the market's own
// bounds.
func TestMoved(t *testing.T) {
	t.Parallel()
	previous := 0.7
	prices := score.Bounds{Before: view(.6, .6), After: view(.65, .65)}
	books := score.Bounds{Before: view(.58, .62), After: view(.63, .67)}
	repeat := score.Bounds{Before: view(.6, .6), After: view(.6, .6), Previous: &previous}
	for _, c := range []struct {
		bounds      score.Bounds
		p, share    float64
		want, wantQ float64
	}{
		{prices, .8, .3, .755, .65},
		{prices, .5, .3, .53, .6},
		{prices, .62, .5, .62, .62},
		{prices, .8, 0, .8, .65},
		{prices, .8, 1, .65, .65},
		{books, .7, .5, .685, .67},
		{books, .64, .5, .64, .64},
		{books, .5, .1, .508, .58},
		{repeat, .7, .5, .65, .65}, // towards the market, not towards the agent's previous confidence
		{prices, .7777, .1, .7649, .65},
		{score.Bounds{Before: view(.6, .6)}, .8, .5, .8, 0},
	} {
		got := c.bounds.Moved(c.p, c.share)
		q, _ := c.bounds.Clamp(got)
		if got != c.want || q != c.wantQ {
			t.Errorf("%v moved by %v: got %v against %v, want %v against %v", c.p, c.share, got, q, c.want, c.wantQ)
		}
	}
}

// TestReviewOfTheOtherOutcome checks that a repeat on the other one of two outcomes is reviewed like the same belief
// about the first.
func TestReviewOfTheOtherOutcome(t *testing.T) {
	t.Parallel()
	first, said, unsaid := score.Settled{P: .7, Q: .6, Y: 1, Bounds: score.Bounds{Before: view(.6, .6), After: view(.6, .6)},
		Previous: -1, Event: "a", Day: "2026-11-01", Horizon: time.Hour}, .7, .3
	same, other := first, first
	same.P, same.Q, same.Index, same.Previous, same.Bounds.Previous = .8, .7, 1, 0, &said
	other.P, other.Q, other.Y, other.Index, other.Previous, other.Opposite = .2, .3, 0, 1, 0, true
	other.Bounds = score.Bounds{Before: view(.4, .4), After: view(.4, .4), Previous: &unsaid}
	want, got := score.NewReview([]score.Settled{first, same}), score.NewReview([]score.Settled{first, other})
	if len(want.Moves) == 0 || want.Moves[0].Sums.S == want.All.Sums.S {
		t.Fatalf("moving changes nothing: %+v", want)
	}
	if got.All.Sums.S != want.All.Sums.S {
		t.Errorf("the sum is %d, want %d", got.All.Sums.S, want.All.Sums.S)
	}
	for i, m := range got.Moves {
		if m.Sums.S != want.Moves[i].Sums.S {
			t.Errorf("moved by %v, the sum is %d, want %d", m.Share, m.Sums.S, want.Moves[i].Sums.S)
		}
	}
}

// TestReviewWorked checks a review whose numbers are computed by hand. On event "a", .7 at a price
// of .6 earns 7. Then .8 is held against .7 and earns 5, with a weight of ½. Moved half way, .65
// earns 3.75, and .7 against .65 earns 3.25. On event "b", the confidence is inside the market's
// book and earns 0.
func TestReviewWorked(t *testing.T) {
	t.Parallel()
	previous := .7
	at := score.Bounds{Before: view(.6, .6), After: view(.6, .6)}
	again := at
	again.Previous = &previous
	book := score.Bounds{After: view(.2, .4)}
	r := score.NewReview([]score.Settled{
		{P: .7, Q: .6, Y: 1, Bounds: at, Previous: -1, Event: "a", Category: "politics", Day: "2026-11-01", Horizon: 3 * time.Hour},
		{P: .8, Q: .7, Y: 1, Bounds: again, Index: 1, Previous: 0, Event: "a", Category: "politics", Day: "2026-11-01", Horizon: 48 * time.Hour},
		{P: .3, Q: .3, Y: 0, Bounds: book, Previous: -1, Event: "b", Category: "sports", Day: "2026-11-02", Horizon: -1},
	})
	type part struct {
		name        string
		predictions int
		n, s, a     int64
		days        int
	}
	var got []part
	add := func(name string, s score.Slice) {
		got = append(got, part{name, s.Predictions, s.Sums.N, int64(s.Sums.S), int64(s.Sums.A), s.Days})
	}
	add("all", r.All)
	for _, s := range slices.Concat(r.Categories, r.Horizons, r.Distances) {
		add(fmt.Sprint(s.Category, " ", s.Low, "-", s.High), s)
	}
	for _, m := range r.Moves {
		add(fmt.Sprint(m.Share), m.Slice)
		got = append(got, part{"gain", 0, m.Gain.N, int64(m.Gain.S), int64(m.Gain.A), 0})
	}
	want := []part{
		{"all", 3, 2, 95_000, 15_000, 2},
		{"politics 0-0", 2, 1, 95_000, 15_000, 1}, {"sports 0-0", 1, 1, 0, 0, 1},
		{" 0-24", 1, 1, 70_000, 10_000, 1}, {" 24-168", 1, 1, 25_000, 5_000, 1}, {" +Inf-+Inf", 1, 1, 0, 0, 1},
		{" 0-0.03", 1, 1, 0, 0, 1}, {" 0.1-0.2", 2, 1, 95_000, 15_000, 1},
		// Moved by .1: .69 earns 6.39, and .78 against .69 earns 4.77, which is 2.385 with its
		// weight.
		{"0.1", 3, 2, 87_750, 8_100 + 4_050, 2}, {"gain", 0, 2, 87_750 - 95_000, 100 + 200, 0},
		// Moved by .3: .67 earns 5.11, and .74 against .67 earns 4.13, which is 2.065 with its
		// weight.
		{"0.3", 3, 2, 71_750, 4_900 + 2_450, 2}, {"gain", 0, 2, 71_750 - 95_000, 900 + 1_800, 0},
		{"0.5", 3, 2, 53_750, 2_500 + 1_250, 2}, {"gain", 0, 2, 53_750 - 95_000, 2_500 + 5_000, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if r.Comparisons != 0 || r.All.Verdict != 0 {
		t.Errorf("%d comparisons, verdict %d", r.Comparisons, r.All.Verdict)
	}
}

// randomSettled returns n predictions on about half as many events, which close on about a tenth as many days.
func randomSettled(n int, seed uint64) []score.Settled {
	r := rand.New(rand.NewPCG(seed, 2))
	list, index := make([]score.Settled, n), map[int]int{}
	for i := range list {
		event := r.IntN(n/2 + 1)
		q := float64(1+r.IntN(9_999)) / 10_000
		list[i] = score.Settled{
			P: float64(1+r.IntN(9_999)) / 10_000, Q: q, Y: float64(r.IntN(2)), Bounds: score.Bounds{Before: view(q, q)}, Index: index[event], Previous: -1,
			Event: strconv.Itoa(event), Category: "c" + strconv.Itoa(event%4), Day: fmt.Sprint("day ", event%(n/10+1)), Horizon: time.Duration(r.IntN(4000)) * time.Hour,
		}
		index[event]++
	}
	return list
}

// TestReviewSums checks the sums of a review against sums made with maps, as the ranking makes them with tables.
func TestReviewSums(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		list := randomSettled(1+int(seed)*37, seed)
		of := func(in func(*score.Settled) bool) (sums score.Sums, predictions, days int) {
			clusters, dayOf, blocks := map[string]score.Cluster{}, map[string]string{}, map[string]score.Tally{}
			for i := range list {
				if s := &list[i]; in(s) {
					predictions++
					clusters[s.Event], dayOf[s.Event] = clusters[s.Event].Plus(score.Bet(s.P, s.Q, s.Y, s.Index)), s.Day
				}
			}
			for event, c := range clusters {
				sums.Add(c)
				block := blocks[dayOf[event]]
				block.Add(c.C)
				blocks[dayOf[event]] = block
			}
			for _, block := range blocks {
				sums.Days.Add(block.N, block.S)
			}
			return sums, predictions, len(blocks)
		}
		r := score.NewReview(list)
		check := func(what string, got *score.Slice, in func(*score.Settled) bool) {
			if sums, n, days := of(in); got.Sums != sums || got.Predictions != n || got.Days != days {
				t.Errorf("seed %d, %s: got %+v of %d predictions on %d days, want %+v of %d on %d", seed, what, got.Sums, got.Predictions, got.Days, sums, n, days)
			}
		}
		check("all", &r.All, func(*score.Settled) bool { return true })
		for i := range r.Categories {
			c := &r.Categories[i]
			check(c.Category, c, func(s *score.Settled) bool { return s.Category == c.Category })
		}
		for i := range r.Horizons {
			h := &r.Horizons[i]
			check("a horizon", h, func(s *score.Settled) bool { return s.Horizon.Hours() >= h.Low && s.Horizon.Hours() < h.High })
		}
		if len(r.Categories) == 0 || len(r.Horizons) == 0 {
			t.Errorf("seed %d: no slices", seed)
		}
	}
}

// BenchmarkReview measures a review of as many predictions as one reads.
func BenchmarkReview(b *testing.B) {
	list := randomSettled(1000, 1)
	b.ReportAllocs()
	for b.Loop() {
		score.NewReview(list)
	}
}

// TestInterval checks the interval for the sums of the ranking's first worked example: v =
// 123.4277, so the standard error of the mean 2.5 is √(123.4277/60) = 1.43427.
func TestInterval(t *testing.T) {
	t.Parallel()
	sums := score.Sums{Tally: score.Tally{N: 60, S: 150e4, SS: 9000e8}, A: 90e4, V: 6600e8}
	for range 60 {
		sums.Days.Add(1, 0)
	}
	low, high, ok := sums.Interval()
	if math.Abs(low+.3112) > 1e-4 || math.Abs(high-5.3112) > 1e-4 || !ok {
		t.Errorf("%v to %v, %v", low, high, ok)
	}
	if _, _, ok := (score.Sums{Tally: score.Tally{N: 5}}).Interval(); ok {
		t.Error("got an interval without a stake")
	}
}

// world describes the agents of a statistical test.
type world struct {
	events   int
	perDay   int
	shock    float64 // correlation of the results of one day
	truth    func(p, q float64, category int) float64
	distance func(r *rand.Rand) float64
	price    func(r *rand.Rand) float64
}

// agent returns the predictions of a random agent on every event. It repeats itself on siblings on
// half of the events.
func (w world) agent(r *rand.Rand) []score.Settled {
	var list []score.Settled
	var common float64
	for e := range w.events {
		if e%w.perDay == 0 {
			common = r.NormFloat64()
		}
		category := r.IntN(4)
		for i := range 1 + max(0, r.IntN(4)-1) {
			q := math.Round(w.price(r)*1000) / 1000
			p := math.Round(min(max(q+w.distance(r), .005), .995)*1e4) / 1e4
			y, truth := 0., w.truth(p, q, category)
			z := math.Sqrt(w.shock)*common + math.Sqrt(1-w.shock)*r.NormFloat64()
			if .5*math.Erfc(z/math.Sqrt2) < truth {
				y = 1
			}
			v := score.PriceView(q)
			list = append(list, score.Settled{
				P: p, Q: q, Y: y, Bounds: score.Bounds{Before: &v, After: &v}, Index: i, Previous: -1,
				Event: strconv.Itoa(e), Category: string(rune('a' + category)), Day: strconv.Itoa(e / w.perDay),
				Horizon: time.Duration(math.Exp(9*r.Float64()) * float64(time.Hour)),
			})
		}
	}
	return list
}

func half(p, q float64, _ int) float64 { return (p + q) / 2 }

func uniform(low, high float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() }
}

func spread(deviation float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return deviation * r.NormFloat64() }
}

var worlds = map[string]world{
	"ordinary":     {events: 300, perDay: 3, truth: half, distance: spread(.12), price: uniform(.05, .95)},
	"few events":   {events: 40, perDay: 2, truth: half, distance: spread(.12), price: uniform(.05, .95)},
	"tails":        {events: 300, perDay: 3, truth: half, distance: uniform(.02, .05), price: uniform(.9, .95)},
	"few tails":    {events: 40, perDay: 2, truth: half, distance: uniform(.02, .05), price: uniform(.9, .95)},
	"shared days":  {events: 300, perDay: 10, shock: .2, truth: half, distance: spread(.12), price: uniform(.05, .95)},
	"wide opinion": {events: 100, perDay: 2, truth: half, distance: spread(.3), price: uniform(.05, .95)},
}

// reviews returns the reviews of n random agents. No threshold was chosen with these seeds.
func (w world) reviews(n int) []score.Review {
	out := make([]score.Review, n)
	for i := range out {
		out[i] = score.NewReview(w.agent(rand.New(rand.NewPCG(20261122, uint64(i)))))
	}
	return out
}

// TestFalseVerdicts checks that at most one in twenty agents without any edge gets a verdict on a
// slice. On 1,000 other seeds of each world it was 0.3 to 2.0 %.
func TestFalseVerdicts(t *testing.T) {
	t.Parallel()
	const agents = 200
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, missed, compared := 0, 0, 0
			for _, r := range w.reviews(agents) {
				parts := slices.Concat([]score.Slice{r.All}, r.Categories, r.Horizons, r.Distances)
				if slices.ContainsFunc(parts, func(s score.Slice) bool { return s.Verdict != 0 }) {
					wrong++
				}
				if low, high, _ := r.All.Sums.Interval(); low > 0 || high < 0 {
					missed++
				}
				compared += r.Comparisons
			}
			t.Logf("%d of %d with a false verdict, %d intervals without the true mean, %d comparisons", wrong, agents, missed, compared)
			if wrong > agents/20 || missed > agents/10 || compared < agents {
				t.Error("too many false verdicts or too few comparisons")
			}
		})
	}
}

// TestFalseMoves checks that at most one in twenty agents gets a verdict on a move that would gain
// nothing. On 1,000 other seeds it was 0.2 to 0.4 %.
func TestFalseMoves(t *testing.T) {
	t.Parallel()
	const agents = 200
	for i, share := range score.ReviewMoves {
		w := worlds["ordinary"]
		w.truth = func(p, q float64, _ int) float64 { return p + share/2*(q-p) }
		wrong := 0
		for _, r := range w.reviews(agents) {
			if r.Moves[i].Verdict != 0 {
				wrong++
			}
		}
		if wrong > agents/20 {
			t.Errorf("moving by %v: %d of %d agents got a false verdict", share, wrong, agents)
		}
	}
}

// TestTrueVerdicts checks that a review finds real effects: a category in which an agent
// exaggerates, the categories in which it is right, and the gain of a move for an agent that always
// exaggerates.
func TestTrueVerdicts(t *testing.T) {
	t.Parallel()
	const agents = 50
	w := worlds["ordinary"]
	w.distance = spread(.25)
	w.truth = func(p, q float64, category int) float64 {
		if category == 0 {
			return q - .2*(p-q)
		}
		return p
	}
	lost, won, misled := 0, 0, 0
	for _, r := range w.reviews(agents) {
		for _, s := range r.Categories {
			switch {
			case s.Category == "a" && s.Verdict < 0:
				lost++
			case s.Category != "a" && s.Verdict > 0:
				won++
			case s.Verdict != 0:
				misled++
			}
		}
	}
	if lost < agents/2 || won < agents/3 || misled > 0 {
		t.Errorf("got %d categories worse, %d better and %d false", lost, won, misled)
	}
	w.truth = func(p, q float64, _ int) float64 { return q }
	found := 0
	for _, r := range w.reviews(agents) {
		if r.All.Verdict < 0 && r.Moves[2].Verdict > 0 {
			found++
		}
	}
	if found < agents*9/10 {
		t.Errorf("got the verdict on exaggeration for %d of %d agents", found, agents)
	}
}
