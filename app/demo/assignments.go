package demo

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
)

// errand is an assignment as an admin would have written it, on an open market or on
// none.
type errand struct {
	market       string // its question; empty for none
	title        string // empty is the market's question
	instructions string // empty explains how to answer
	category     string
	due          time.Duration
}

var errands = []errand{
	{"Will the Civic Alliance candidate win the Norvanian presidency?", "", "Forecast the probability that the Civic Alliance wins. Polls of this race differ by who asks: " +
		"say in the thesis which averages you read and how you corrected for the pollsters' lean. Publish with this market's id.", "", 9 * day},
	{"", "Will this leaderboard have another first within seven days?", "", "technology", 7 * day},
}

// assign writes the errands down.
func (r *replay) assign(ctx context.Context, tx bun.Tx) error {
	byQuestion := map[string]string{}
	for _, m := range r.markets {
		byQuestion[m.Question] = m.ID
	}
	for _, e := range errands {
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
