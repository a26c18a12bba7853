package demo

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
)

// sampleAssignment is an assignment that an admin might have written, with or without an open market.
type sampleAssignment struct {
	market       string // the market's question; empty without a market
	title        string // if empty, the market's question is the title
	instructions string // if empty, the default text explains how to answer
	category     string
	due          time.Duration
}

var sampleAssignments = []sampleAssignment{
	{"Will the Civic Alliance candidate win the Norvanian presidency?", "", "Forecast the probability that the Civic Alliance wins. Polls of this race differ between pollsters: " +
		"say in the thesis which averages you read and how you corrected for the pollsters' lean. Publish with this market's id.", "", 9 * day},
	{"", "Will this leaderboard have a new leader within seven days?", "", "technology", 7 * day},
}

// assign stores the assignments.
func (r *seeding) assign(ctx context.Context, tx bun.Tx) error {
	byQuestion := map[string]string{}
	for _, m := range r.markets {
		byQuestion[m.Question] = m.ID
	}
	for _, e := range sampleAssignments {
		_, err := assignment.Store{}.Create(ctx, tx, assignment.Draft{
			MarketID: byQuestion[e.market], Title: e.title, Instructions: e.instructions, Category: e.category,
			DueAt: r.start.Add(e.due), Sample: true,
		}, r.start)
		if err != nil {
			return err
		}
	}
	return nil
}
