package simulation

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Print writes the report as text: a line for each figure with a target, and then the tables behind
// the figures.
func (r Report) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	for _, p := range r.Populations {
		fmt.Fprintf(t, "Foresight of the skilled: half-normal, scale %.2f; %d worlds from seed %d\n\n",
			p.Foresight, r.Config.Seeds, r.Config.First)
		printFigures(t, r.Figures(p))
		printWorlds(t, p)
		printMethods(t, withRivals(p.Main))
		printKinds(t, p.Main, allKinds()...)
		fmt.Fprint(t, "Pushers that replace quotes that are taken\n\n")
		printKinds(t, p.Requote, push5, push45, push180)
		printBest(t, withRivals(p.Main))
	}
	fmt.Fprintf(t, "Watched daily for %d events\n\n", dailyEvents)
	printFigures(t, r.DailyFigures())
	printDaily(t, r.Daily)
	printPower(t, r.Power)
	return t.Flush()
}

// withRivals returns the worlds that were ranked by every method.
func withRivals(outcomes []Outcome) []Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return len(o.Methods) == 1 })
}

func printFigures(t io.Writer, figures []Figure) {
	fmt.Fprintln(t, "what\treach\tfound\treached\t")
	for _, f := range figures {
		reached := "yes"
		if !f.Reached {
			reached = "no"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", f.What, f.Reach, f.Found, reached)
	}
	fmt.Fprintln(t)
}

// printWorlds prints how our ranges did in the worlds of one population.
func printWorlds(t io.Writer, p Population) {
	fmt.Fprintln(t, "worlds\trange holds\ttop 20\t30–60 events\t60–200\t> 200\tcategory\t30 days\t90 days\twidth\tproven right, wrong\trank range holds\twidth\tμ\tτ\t")
	row := func(name string, worlds []Outcome) {
		if len(worlds) == 0 {
			return
		}
		s := total(worlds, 0)
		n := float64(max(s.Worlds, 1))
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%d, %d\t%.3f\t%.2f\t%.2f\t%.2f\t\n", name,
			s.All.Rate(), s.Top.Rate(), s.Under60.Rate(), s.Under200.Rate(), s.Over200.Rate(), s.Category.Rate(),
			s.Last30.Rate(), s.Last90.Rate(), s.Width/float64(max(s.All.Of, 1)), s.ProvenRight, s.ProvenWrong,
			s.Ranks.Rate(), s.RankWidth/float64(max(s.Ranks.Of, 1)), s.Mu/n, s.Tau/n)
	}
	row("books", p.Main)
	row("tight books", p.Tight)
	row("pushers that requote", p.Requote)
	for _, c := range p.Correlated {
		row(fmt.Sprintf("books, ρ %.1f, %d a day", c.Rho, c.PerDay), c.Worlds)
	}
	fmt.Fprintln(t)
}

// printMethods prints a row for each method, with medians over the worlds and the worst case.
func printMethods(t io.Writer, outcomes []Outcome) {
	if len(outcomes) == 0 {
		return
	}
	settled := 0
	for _, o := range outcomes {
		settled += o.Settled
	}
	fmt.Fprintf(
		t, "%d worlds with rivals, %d settled predictions in each on average\n\n", len(outcomes), settled/len(outcomes),
	)
	fmt.Fprintln(t, "method\tSpearman median\tworst\ttop-20 precision median\tworst\tcoverage of 95 % median\tworst\ttruth above it\t")
	for i, m := range outcomes[0].Methods {
		column := func(value func(Assessment) float64) (float64, float64) {
			return medianAndWorst(outcomes, i, value)
		}
		s, sWorst := column(func(a Assessment) float64 { return a.Spearman })
		p, pWorst := column(func(a Assessment) float64 { return a.Precision })
		c, cWorst := column(func(a Assessment) float64 { return a.Coverage })
		modest, _ := column(func(a Assessment) float64 { return a.TooModest })
		fmt.Fprintf(
			t, "%s\t%.3f\t%.3f\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t\n", m.Method, s, sWorst, p, pWorst, c, cWorst, modest,
		)
	}
	fmt.Fprintln(t)
}

// printKinds prints how agents of each kind did on our board.
func printKinds(t io.Writer, outcomes []Outcome, listed ...kind) {
	s := total(outcomes, 0)
	fmt.Fprintln(t, "behaviour\tranked\tproven\trange above zero\tpoints per event, expected\tworlds with one in the top 20\tbest rank\t")
	for _, k := range listed {
		f := s.Kinds[k]
		top, best := places(outcomes, k)
		rank, expected := "–", "–"
		if best > 0 {
			rank, expected = fmt.Sprint(best), fmt.Sprintf("%.2f", f.Expected/float64(f.Ranked))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%d\t%s\t\n", kindNames[k], f.Ranked, f.Proven, f.Above, expected, top, rank)
	}
	fmt.Fprintln(t)
}

// places returns the number of worlds in which a kind is in the top 20, and its best rank, 0 for
// none.
func places(outcomes []Outcome, k kind) (top, best int) {
	for _, o := range outcomes {
		rank := o.Methods[0].Best[k]
		if rank > 0 && rank <= topPlaces {
			top++
		}
		if rank > 0 && (best == 0 || rank < best) {
			best = rank
		}
	}
	return top, best
}

// printBest prints the best rank that each kind of agent reached under each method.
func printBest(t io.Writer, outcomes []Outcome) {
	if len(outcomes) == 0 {
		return
	}
	fmt.Fprint(t, "best rank: median (best), and most in a top 20; – never ranked\n")
	for i := range outcomes[0].Methods {
		fmt.Fprintf(t, "\t%s", outcomes[0].Methods[i].Method)
	}
	fmt.Fprintln(t, "\t")
	for k := range kinds {
		fmt.Fprint(t, kindNames[k])
		for i := range outcomes[0].Methods {
			fmt.Fprintf(t, "\t%s", reached(outcomes, i, k))
		}
		fmt.Fprintln(t, "\t")
	}
	fmt.Fprintln(t)
}

func printDaily(t io.Writer, all []Daily) {
	fmt.Fprintln(t, "ρ\tevents a day\tever proven without an edge\tsellers of tails\twithout day blocks\trange holds\twithout day blocks\tproven with an edge of 2\t")
	for _, d := range all {
		fmt.Fprintf(t, "%.1f\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t\n", d.Rho, d.PerDay,
			d.Ever.Rate(), d.Tails.Rate(), d.Plain.Rate(), d.Held.Rate(), d.HeldPlain.Rate(), d.Proven.Rate())
	}
	fmt.Fprintln(t)
}

func printPower(t io.Writer, all []Power) {
	fmt.Fprint(t, "proven, by edge and events")
	for _, events := range PowerEvents {
		fmt.Fprintf(t, "\t%d", events)
	}
	fmt.Fprintln(t, "\t")
	for _, p := range all {
		fmt.Fprintf(t, "%.0f", p.Edge)
		for _, s := range p.Proven {
			fmt.Fprintf(t, "\t%.2f", s.Rate())
		}
		fmt.Fprintln(t, "\t")
	}
}

func medianAndWorst(outcomes []Outcome, method int, value func(Assessment) float64) (median, worst float64) {
	if len(outcomes) == 0 {
		return 0, 0
	}
	values := make([]float64, len(outcomes))
	for i, o := range outcomes {
		values[i] = value(o.Methods[method])
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2, values[0]
}

// reached returns a kind's median and best rank, and its greatest number of agents in a top 20.
func reached(outcomes []Outcome, method int, k kind) string {
	var best []int
	most := 0
	for _, o := range outcomes {
		if rank := o.Methods[method].Best[k]; rank > 0 {
			best = append(best, rank)
		}
		most = max(most, o.Methods[method].InTop[k])
	}
	if len(best) == 0 {
		return "–"
	}
	slices.Sort(best)
	return fmt.Sprintf("%d (%d), %d", best[len(best)/2], best[0], most)
}

// Verdict lists the ways in which the order of the first method misses its targets: it must have
// the highest median correlation, and no kind of cheat may be in the top 20 in any world.
func Verdict(outcomes []Outcome) []string {
	var short []string
	if len(outcomes) == 0 {
		return nil
	}
	spearman := func(a Assessment) float64 { return a.Spearman }
	rivals := withRivals(outcomes)
	own, _ := medianAndWorst(rivals, 0, spearman)
	for i, m := range outcomes[0].Methods[1:] {
		if other, _ := medianAndWorst(rivals, i+1, spearman); other >= own && !m.Variant {
			short = append(short, fmt.Sprintf("%s has a median correlation of %.3f, ours %.3f", m.Method, other, own))
		}
	}
	for _, o := range outcomes {
		for _, k := range cheats {
			if rank := o.Methods[0].Best[k]; rank > 0 && rank <= topPlaces {
				short = append(short, fmt.Sprintf("seed %d: %s reach rank %d", o.Seed, kindNames[k], rank))
			}
		}
		if n := o.Methods[0].InTop[sybilKnown]; n > leaderboardRules.perOwner {
			short = append(short, fmt.Sprintf("seed %d: %d sybils of one known owner in the top 20", o.Seed, n))
		}
	}
	return short
}
