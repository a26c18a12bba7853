package leaderboard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

var methodFacts = leaderboard.MethodFacts{
	Thresholds:   leaderboard.Thresholds{Events: 31, CategoryEvents: 16, Days: 17},
	MinLiquidity: 1234, Ranked: 300,
}

// points and squares convert the sums of the worked examples to the stored integers.
func points(v float64) score.Points { return score.Points(math.Round(v * 10_000)) }
func squares(v float64) int64       { return int64(math.Round(v * 1e8)) }

// worked returns the record of an example agent. With one event a day, T is SS, W is S and Q is n.
func worked(n int64, s, ss, a, v, t, w float64, q int64) score.Sums {
	return score.Sums{
		Tally: score.Tally{N: n, S: points(s), SS: squares(ss)}, A: points(a), V: squares(v),
		Days: score.Days{T: score.Shifted(squares(t), 0), W: points(w), Q: q},
	}
}

var (
	sixty      = worked(60, 150, 9000, 90, 6600, 9000, 150, 60)
	sixtyByDay = worked(60, 150, 9000, 90, 6600, 14000, 900, 400)
	hundreds   = worked(400, 800, 48400, 560, 44000, 48400, 800, 400)
	below      = worked(120, -60, 14000, 150, 13000, 14000, -60, 120)
)

// shown formats a number as the page does.
func shown(v float64) string { return strings.Replace(fmt.Sprintf("%.2f", v), "-", "−", 1) }

func rangeOf(s score.Sums) string {
	p, _ := s.Posterior(score.SharePrior{Mu: .4, Tau: .5})
	return shown(p.Low) + " to " + shown(p.High)
}

// variance returns the v for which Deviation is √(v/(n + v/(2τĀ)²)).
func variance(s score.Sums) float64 {
	p, _ := s.Posterior(score.SharePrior{Mu: .4, Tau: .5})
	n, stake := float64(s.N), s.A.Float()/float64(s.N)
	d := p.Deviation * p.Deviation
	return d * n / (1 - d/(stake*stake))
}

// TestMethodText checks that the numbers in the method text are the ones that the code computes.
func TestMethodText(t *testing.T) {
	t.Parallel()
	text := leaderboard.Method(methodFacts)
	bounds := score.Bounds{Before: &score.View{Bid: .58, Ask: .62}, After: &score.View{Bid: .63, Ask: .67}}
	q, _ := bounds.Clamp(.7)
	inside, _ := bounds.Clamp(.64)
	under, _ := bounds.Clamp(.5)
	repeat := score.Contribution(70_000, 0) + score.Contribution(12_500, 1)
	bet := score.Bet(.7, .6, 1, 0)
	until, _ := sixty.EventsUntilProven()
	inputs := func(s score.Sums) string {
		return fmt.Sprintf("%d events, one a day, with S = %v, SS = %s, A = %v and V = %s", s.N, s.S.Float(),
			thousands(float64(s.SS)/1e8), s.A.Float(), thousands(float64(s.V)/1e8))
	}
	row := func(label string, s score.Sums, odds string) string {
		p, _ := s.Posterior(score.SharePrior{Mu: .4, Tau: .5})
		return fmt.Sprintf("| %s | %s | %s | %s | %s : 1 |", label, shown(s.Skill(100)), shown(p.BestGuess), rangeOf(s), odds)
	}
	odds := func(s score.Sums) float64 { o, _ := s.Odds(); return o }
	mixed := map[float64]string{1.5: "1½", 1.25: "1¼"}
	// Of 60 events, the early market of each settles No, and the late market of 6 settles Yes.
	early, lateYes, lateNo := score.Edge(.05, .02, 0), score.Contribution(score.Edge(.5, .2, 1), 1), score.Contribution(score.Edge(.5, .2, 0), 1)
	deadlines := score.Tally{N: 60, S: 60*early + 6*lateYes}
	if early+score.Points(math.Round(.2*float64(lateYes)+.8*float64(lateNo))) >= 0 {
		t.Error("the example of two deadlines has an expectation above zero")
	}
	for _, want := range []string{
		"31 settled events", "(16 on", "17 different UTC days", "less than 1234 US dollars of liquidity", "make simulate",
		"300 ranked agents", fmt.Sprintf("about %.1f of them would be called proven", score.ProvenByChance(300)),
		fmt.Sprintf("about %v %% ever reached %v : 1", 100*score.ChanceProven, score.ProvenOdds),
		fmt.Sprintf("- q = %v.", q),
		fmt.Sprintf("a skill of +%.2f for a time", deadlines.Skill(100)),
		"paid " + mixed[score.Weight(0)+score.Weight(1)] + " times", "paid " + mixed[score.Weight(0)+score.Weight(2)] + " times, and at most 4/3",
		fmt.Sprintf("**+%v**", score.Edge(.7, q, 1).Float()),
		strings.Replace(fmt.Sprintf("**%v**", score.Edge(.7, q, 0).Float()), "-", "−", 1),
		fmt.Sprintf("q would be %v and the edge 0", inside),
		fmt.Sprintf("q would be %v.", under),
		fmt.Sprintf("= %v.", repeat.Float()),
		fmt.Sprintf("make a Skill of 150 / 160 = **%s**. 400 events that sum to 800 make **%s**",
			shown(sixty.Skill(100)), shown(hundreds.Skill(100))),
		fmt.Sprintf("the stake is %.4f and", bet.A.Float()), fmt.Sprintf("is %.4f points", bet.U.Float()),
		inputs(sixty), inputs(hundreds),
		row("60 events", sixty, fmt.Sprintf("%.1f", odds(sixty))),
		row("60, sharing days", sixtyByDay, fmt.Sprintf("%.1f", odds(sixtyByDay))),
		row("400 events", hundreds, fmt.Sprintf("%d", int(odds(hundreds)))),
		fmt.Sprintf("v₀ is %.2f, and the prior counts like k = %.2f events", sixty.Variance(), variance(sixty)/2.25),
		fmt.Sprintf("The days raise the variance to %.2f", variance(sixtyByDay)),
		fmt.Sprintf("has odds of %.1f : 1. If its next events come out like the last 60, it is proven after about %d more", odds(sixty), until),
		fmt.Sprintf("saying 1 wins %v points or loses %v.", score.Edge(1, .98, 1).Float(), -score.Edge(1, .98, 0).Float()),
		rankExample(t), copying(t),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if strings.Contains(text, "{{") {
		t.Error("the text holds a placeholder that wasn't replaced")
	}
	if _, ok := bounds.Clamp(.64); !ok || score.Edge(.64, inside, 1) != 0 {
		t.Error("a prediction inside the interval has an edge other than 0")
	}
	empty := score.BookView(nil, new(1.0))
	for _, p := range []float64{0, .3, .5, 1} {
		q, _ := score.Bounds{Before: &empty, After: &empty}.Clamp(p)
		if e := score.Edge(p, q, 1); e != 0 {
			t.Errorf("%v against an empty book earns %v", p, e)
		}
	}
}

// copying returns the sentence about copies of a good agent, with the figures of docs/simulation.md.
func copying(t *testing.T) string {
	t.Helper()
	results, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?s)Spread 0\.40:.*?\n\| sybils copying, owner unknown \| (\d+) \| (\d+) \|[^\n]*\| (\d+ of \d+) \|\n`).FindSubmatch(results)
	if row == nil {
		t.Fatal("docs/simulation.md has no row of copies")
	}
	return fmt.Sprintf("were in the top 20 in %s worlds, and %s of the %s ranked ones were proven.", row[3], row[2], row[1])
}

// rankExample returns the sentence with the rank ranges of three agents.
func rankExample(t *testing.T) string {
	t.Helper()
	agents := []score.Sums{hundreds, sixty, below}
	var posteriors []score.Posterior
	for i, s := range agents {
		p, _ := s.Posterior(score.SharePrior{Mu: .4, Tau: .5})
		posteriors = append(posteriors, p)
		if i > 0 && s.Skill(100) >= agents[i-1].Skill(100) {
			t.Error("the agents of the example aren't in the order of their skill")
		}
	}
	grid := score.NewRankGrid(posteriors)
	ranges := make([]any, 0, 6)
	for _, s := range agents {
		ranges = append(ranges, rangeOf(s))
	}
	for i, p := range posteriors {
		low, high := grid.Range(p, i+1)
		ranges = append(ranges, fmt.Sprintf("%d–%d", low, high))
	}
	return fmt.Sprintf("ranges of %s, %s and %s, ranked in this order, have rank ranges of %s, %s and %s.", ranges...)
}

func thousands(v float64) string {
	whole := strconv.Itoa(int(v))
	if len(whole) > 3 {
		return whole[:len(whole)-3] + "," + whole[len(whole)-3:]
	}
	return whole
}

// TestMethodPower compares the table of chances to be proven with a simpler simulation. The table
// comes from simulated worlds. Agents whose whole disagreement is right must come within 15
// percentage points of each cell.
func TestMethodPower(t *testing.T) {
	t.Parallel()
	text := leaderboard.Method(methodFacts)
	counts := []int{30, 60, 100, 200, 400, 800}
	rows := regexp.MustCompile(`(?m)^\| (\d) points? \|(.*)\|$`).FindAllStringSubmatch(text, -1)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	r := rand.New(rand.NewPCG(12, 6))
	for _, row := range rows {
		edge, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		cells := strings.Split(row[2], "|")
		if len(cells) != len(counts) {
			t.Fatalf("%q has %d cells", row[0], len(cells))
		}
		proven := powers(r, edge, counts)
		for i, cell := range cells {
			said, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(cell), " %"), 64)
			if err != nil || math.Abs(said-proven[i]) > 15 {
				t.Errorf("edge %v, %d events: the text says %q, simulated %.0f %%", edge, counts[i], cell, proven[i])
			}
		}
	}
}

// powers simulates agents with the given edge per event and returns the share that is proven at
// each count of events, in percent.
func powers(r *rand.Rand, edge float64, counts []int) []float64 {
	const agents = 500
	proven := make([]float64, len(counts))
	for range agents {
		var s score.Sums
		for i, count := range counts {
			for s.N < int64(count) {
				add(&s, honest(r, edge))
			}
			if odds, _ := s.Odds(); score.Proven(odds) {
				proven[i] += 100.0 / agents
			}
		}
	}
	return proven
}

func add(s *score.Sums, c score.Cluster) {
	s.Add(c)
	s.Days.Add(1, c.C)
}

// honest returns an event on which the agent knows the true probability and the market is off by
// about √(edge/100).
func honest(r *rand.Rand, edge float64) score.Cluster {
	q := .15 + .7*r.Float64()
	off := math.Sqrt(edge/100) * (.5 + r.Float64()) / 1.04
	if r.IntN(2) == 0 {
		off = -off
	}
	p := min(max(q+off, .01), .99)
	y := 0.0
	if r.Float64() < p {
		y = 1
	}
	return score.Bet(p, q, y, 0)
}
