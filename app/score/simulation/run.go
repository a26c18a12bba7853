package simulation

import "math/rand/v2"

// Config holds the size and the settings of a simulation.
type Config struct {
	// Seeds is the number of worlds. First is the seed of the first world. The others have the
	// seeds that follow it.
	Seeds, First int
	// Agents and Markets are the numbers of agents and markets in each world.
	Agents, Markets int
	// Foresight says how much skilled agents differ. It is the scale of the half-normal
	// distribution of their foresight, which is a correlation of 0..0.6.
	Foresight float64
	// Rho is the correlation of the outcomes of events that close on one day, 0..1.
	Rho float64
	// PerDay is the approximate number of events that close on one day. 0 means that events close
	// at any time.
	PerDay int
	// TightBooks gives every market a liquid book with a spread of at most 0.005.
	TightBooks bool
	// Requote lets the pushers of a book replace their quotes whenever traders take them, at any
	// cost, so that the book stands for as long as they want.
	Requote bool
	// OwnOnly leaves out the rivals and the variants of our method.
	OwnOnly bool
}

// The values of Config.Foresight for the two populations.
const (
	// ClearSkill makes agents differ about as much as score.DefaultPrior assumes.
	ClearSkill = 0.40
	// FaintSkill makes agents differ so little that fewer than twenty can be distinguished from
	// lucky ones.
	FaintSkill = 0.22
)

// Run simulates the worlds, one at a time for each processor, and returns their outcomes in the
// order of the seeds.
func Run(c Config) []Outcome {
	outcomes := make([]Outcome, c.Seeds)
	inParallel(len(outcomes), func(i int) { outcomes[i] = simulate(uint64(c.First+i), c) })
	return outcomes
}

// simulate simulates one world. The seed and c decide everything in it.
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
