package simulation

import (
	"fmt"
	"slices"
)

// Report holds all results of one run of cmd/simulate.
type Report struct {
	Config Config
	// Behaviours names the kinds of agents, in the order of all lists by kind.
	Behaviours  []string
	Populations []Population
	Daily       []Daily
	Power       []Power
}

// Population holds the worlds of one degree of foresight.
type Population struct {
	Foresight float64
	// Main holds the worlds with books and independent outcomes. Its first worlds are ranked by all
	// methods, the others by ours only.
	Main []Outcome
	// Tight, Requote and Correlated hold worlds with the same seeds, ranked by our method only:
	// with tight books, with pushers that replace their quotes at any cost, and with shared shocks.
	Tight, Requote []Outcome
	Correlated     []Correlated
}

// Correlated holds worlds whose events share shocks; see Config.Rho and Config.PerDay.
type Correlated struct {
	Rho    float64
	PerDay int
	Worlds []Outcome
}

// RunReport runs the worlds of c for each foresight, and the daily studies with the given number of
// agents of each kind. For the first few worlds, as many as further says, it also runs the rivals
// and the variants Tight, Requote and Correlated.
func RunReport(c Config, foresights []float64, further, agents int) Report {
	further = min(further, c.Seeds)
	r := Report{Config: c, Behaviours: kindNames[:], Daily: RunDaily(agents), Power: RunPower(agents)}
	for _, foresight := range foresights {
		c.Foresight = foresight
		r.Populations = append(r.Populations, runPopulation(c, further))
	}
	return r
}

func runPopulation(c Config, further int) Population {
	rest := c
	rest.First, rest.Seeds, rest.OwnOnly = c.First+further, c.Seeds-further, true
	c.Seeds = further
	p := Population{Foresight: c.Foresight, Main: append(Run(c), Run(rest)...)}
	if further == 0 {
		return p
	}
	c.OwnOnly = true
	tight := c
	tight.TightBooks = true
	p.Tight = Run(tight)
	requote := c
	requote.Requote = true
	p.Requote = Run(requote)
	for _, k := range []Correlated{{Rho: .1, PerDay: 10}, {Rho: .3, PerDay: 20}} {
		c.Rho, c.PerDay = k.Rho, k.PerDay
		k.Worlds = Run(c)
		p.Correlated = append(p.Correlated, k)
	}
	return p
}

// Figure is one measured figure with its target.
type Figure struct {
	What, Reach, Found string
	Reached            bool
}

// reach holds the targets of a population; see the table in docs/simulation.md.
type reach struct{ width, proven, spearman, precision float64 }

func reachOf(foresight float64) reach {
	if foresight == FaintSkill {
		return reach{width: 2.2, proven: 65, spearman: .67, precision: .41}
	}
	return reach{width: 2.6, proven: 170, spearman: .73, precision: .50}
}

// Figures compares one population with its targets.
func (r Report) Figures(p Population) []Figure {
	s, want := total(p.Main, 0), reachOf(p.Foresight)
	spearman, _ := medianAndWorst(p.Main, 0, func(a Assessment) float64 { return a.Spearman })
	precision, _ := medianAndWorst(p.Main, 0, func(a Assessment) float64 { return a.Precision })
	boards := []float64{s.Category.Rate(), s.Last30.Rate(), s.Last90.Rate()}
	width := s.Width / float64(max(s.All.Of, 1))
	rankWidth := s.RankWidth / float64(max(s.Ranks.Of, 1))
	perTwenty := 20 * float64(s.ProvenRight) / float64(max(s.Worlds, 1))
	figures := []Figure{
		{"range holds the truth, all ranked", "94–98 %", percent(s.All.Rate()), s.All.Rate() >= .94 && s.All.Rate() <= .98},
		atLeast("the same, top 20", .94, s.Top.Rate()),
		{"category boards; 30 days; 90 days", "≥ 94 %", percents(boards), slices.Min(boards) >= .94},
		{"mean width", fmt.Sprintf("≤ %.1f", want.width), fmt.Sprintf("%.2f", width), width <= want.width},
		{"truly better agents proven, in 20 worlds", fmt.Sprintf("≥ %.0f", want.proven),
			fmt.Sprintf("%.0f", perTwenty), perTwenty >= want.proven},
		r.empty(s),
		atLeast("rank range holds the rank", .94, s.Ranks.Rate()),
		atMost("its width as share of the board", .55, rankWidth),
		{"rank correlation, median", fmt.Sprintf("≥ %.2f", want.spearman), fmt.Sprintf("%.2f", spearman), spearman >= want.spearman},
		{"top-20 precision, median", fmt.Sprintf("≥ %.2f", want.precision), fmt.Sprintf("%.2f", precision), precision >= want.precision},
	}
	for _, c := range p.Correlated {
		what := fmt.Sprintf("range holds the truth, ρ = %.1f, %d events a day", c.Rho, c.PerDay)
		figures = append(figures, atLeast(what, .93, total(c.Worlds, 0).All.Rate()))
	}
	return figures
}

// DailyFigures compares the daily studies with their targets.
func (r Report) DailyFigures() []Figure {
	var figures []Figure
	for _, d := range r.Daily {
		at := fmt.Sprintf("ρ = %.1f, %d events a day", d.Rho, d.PerDay)
		figures = append(figures,
			atMost("ever proven without an edge, "+at, .02, d.Ever.Rate()),
			atMost("the same, sellers of tails", .06, d.Tails.Rate()),
			atLeast("range holds the truth", .93, d.Held.Rate()))
	}
	return figures
}

// powerless lists the kinds of which no agent should be proven or have a range above zero.
var powerless = []kind{copier, lateCopier, sweeper, push5, push45, picker, lottery}

func (r Report) empty(s Study) Figure {
	either := 0
	for _, k := range powerless {
		either += s.Kinds[k].Either
	}
	return Figure{"copiers, sweepers, pushers up to 45 min, pickers, lottery: proven or range above zero",
		"0", fmt.Sprint(either), either == 0}
}

func atLeast(what string, least, found float64) Figure {
	return Figure{what, "≥ " + percent(least), percent(found), found >= least}
}

func atMost(what string, most, found float64) Figure {
	return Figure{what, "≤ " + percent(most), percent(found), found <= most}
}

func percent(share float64) string {
	if share < .1 && share > 0 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func percents(shares []float64) string {
	text := ""
	for i, s := range shares {
		if i > 0 {
			text += "; "
		}
		text += percent(s)
	}
	return text
}
