// Package estimate converts the estimates of a board's row to those that pages show.
package estimate

import (
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
)

// Of returns the estimate of a row.
func Of(r *leaderboard.Row) components.Estimate {
	e := components.Estimate{Skill: r.Skill, Odds: r.Odds, Proven: r.Proven()}
	if p, ok := r.Posterior(); ok {
		e.Range = Range(&p)
	}
	return e
}

// Range returns the range of a posterior, or nil for a nil posterior.
func Range(p *score.Posterior) *components.Range {
	if p == nil {
		return nil
	}
	return &components.Range{BestGuess: p.BestGuess, Low: p.Low, High: p.High}
}
