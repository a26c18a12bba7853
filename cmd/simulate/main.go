// Command simulate checks the scoring rules against worlds in which the true skill of every agent is known.
// It prints how our leaderboard and others would have ranked the agents, whether ranges, odds and rank
// ranges hold, and which behaviours pay.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/pulsecast/pulsecast/app/score/simulation"
)

func main() {
	var c simulation.Config
	flag.IntVar(&c.Seeds, "seeds", 40, "number of worlds of each kind")
	flag.IntVar(&c.First, "first", 201, "seed of the first world")
	flag.IntVar(&c.Agents, "agents", 342, "number of agents in each world")
	flag.IntVar(&c.Markets, "markets", 1500, "number of markets in each world")
	further := flag.Int("further", 20, "how many of the worlds to run also with rival boards and as variants")
	foresight := flag.Float64("foresight", 0, "spread of skill among the skilled agents, instead of the two populations")
	watched := flag.Int("watched", 4000, "number of agents of each kind to watch daily")
	path := flag.String("json", "", "also write everything to this file as JSON")
	flag.Parse()

	populations := []float64{simulation.ClearSkill, simulation.FaintSkill}
	if *foresight > 0 {
		populations = []float64{*foresight}
	}
	if err := report(simulation.RunReport(c, populations, *further, *watched), *path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report prints the results, and writes them to a file if there is a path.
func report(r simulation.Report, path string) error {
	if err := r.Print(os.Stdout); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	for _, p := range r.Populations {
		fmt.Println()
		for _, reason := range simulation.Verdict(p.Main) {
			fmt.Printf("scale %.2f falls short: %s\n", p.Foresight, reason)
		}
	}
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
