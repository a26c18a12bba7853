package monitor

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/queue"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// From these ages on a queue needs a person.
const (
	BaselinesLate  = 15 * time.Minute // a baseline takes three minutes at most
	SettlementLate = 72 * time.Hour   // longer than a market's result is usually disputed
)

// Queues are what waits in the database, all nodes together. Samples are left out:
// nothing will ever settle them.
type Queues struct {
	Baselines queue.Depth // predictions without their baseline, since publication
	Markets   queue.Depth // ended markets with open predictions, since they ended
	Due       queue.Depth // predictions that an admin must settle, since their horizon
	Outcomes  queue.Depth // decided markets not applied yet, since the decision
	Boards    queue.Depth // entries of the ledger that count by now and that no board shows
	Reports   queue.Depth // open ones
}

// SettlementAge is how long the oldest market or prediction has waited for its settlement.
func (q *Queues) SettlementAge(now time.Time) time.Duration {
	return max(q.Markets.Age(now), q.Due.Age(now))
}

// ReadQueues asks the owner of each queue. It takes a few index scans.
func ReadQueues(ctx context.Context, db bun.IDB, now time.Time) (q Queues, err error) {
	var predictions prediction.Store
	for _, read := range []struct {
		into *queue.Depth
		from func() (queue.Depth, error)
	}{
		{&q.Baselines, func() (queue.Depth, error) { return predictions.BaselineQueue(ctx, db) }},
		{&q.Markets, func() (queue.Depth, error) { return settlement.MarketQueue(ctx, db, now) }},
		{&q.Due, func() (queue.Depth, error) { return predictions.DueQueue(ctx, db, now) }},
		{&q.Outcomes, func() (queue.Depth, error) { return settlement.OutcomeQueue(ctx, db) }},
		{&q.Boards, func() (queue.Depth, error) { return boardQueue(ctx, db, now) }},
		{&q.Reports, func() (queue.Depth, error) { return moderation.ReportQueue(ctx, db) }},
	} {
		if *read.into, err = read.from(); err != nil {
			return q, err
		}
	}
	return q, nil
}

// boardQueue is empty before the first build, which shows everything.
func boardQueue(ctx context.Context, db bun.IDB, now time.Time) (queue.Depth, error) {
	built, err := leaderboard.BuiltAt(ctx, db)
	if err != nil || built.IsZero() {
		return queue.Depth{}, err
	}
	return settlement.EntryQueue(ctx, db, built, now)
}
