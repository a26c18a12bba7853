package simulation

import "math/rand/v2"

// Config is the size of a simulation.
type Config struct {
	// Seeds is the number of worlds, First the seed of the first; the others follow.
	Seeds, First int
	// Agents and Markets are the size of each world.
	Agents, Markets int
	// Foresight is how far the skilled differ: the scale of the half-normal from which
	// their foresight is drawn, a correlation of 0..0.6.
	Foresight float64
	// Rho correlates the outcomes of events that close on one day, 0..1.
	Rho float64
	// PerDay is about how many events close on one day, 0 for closes at any time.
	PerDay int
	// TightBooks gives every market a liquid book with a spread of at most 0.005.
	TightBooks bool
	// Requote lets the pushers of a book replace their quotes whenever they are taken, so
	// that the book stands as long as they want, whatever it costs them.
	Requote bool
	// OwnOnly leaves out the rivals and the variants.
	OwnOnly bool
}

// The two populations; see the package comment.
const (
	// ClearSkill is about as far as the specification's default prior supposes.
	ClearSkill = 0.40
	// FaintSkill leaves fewer than twenty agents that can be told from lucky ones.
	FaintSkill = 0.22
)

// Run simulates the worlds, as many at a time as there are processors, and returns
// one outcome for each, in the order of their seeds.
func Run(c Config) []Outcome {
	outcomes := make([]Outcome, c.Seeds)
	inParallel(len(outcomes), func(i int) { outcomes[i] = simulate(uint64(c.First+i), c) })
	return outcomes
}

// simulate is one world: everything in it follows from the seed.
func simulate(seed uint64, c Config) Outcome {
	r := rand.New(rand.NewPCG(seed, 0x70756c7365))
	w := newWorld(r, c, seed)
	agents := newPopulation(r, c.Agents, c.Foresight)
	measure(agents, w, r)
	all := publish(w, agents, r)
	settled, counts := settledOnly(w, len(agents), all)
	least := leaderboardRules.events
	boards := []*board{ours("Pulsecast", w, agents, all, leaderboardRules)}
	if !c.OwnOnly {
		boards = append(boards,
			variant("ours, without the hour", w, agents, all, func(r *rules) { r.withoutHour = true }),
			variant("ours, displayed prices", w, agents, all, func(r *rules) { r.displayed = true }),
			rawBrier(w, agents, settled, counts, least),
			winRate(w, agents, settled, counts, least),
			brierSkill(w, agents, settled, counts, least),
			peerScores(w, agents, settled, counts, least),
			twoWay(w, agents, settled, counts, least),
			marketAdjusted(w, agents, settled, counts, least),
		)
	}
	o := Outcome{Seed: seed, Forecasts: len(all), Settled: len(settled)}
	for _, b := range boards {
		o.Methods = append(o.Methods, assess(b, agents, counts, least))
	}
	return o
}
