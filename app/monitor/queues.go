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

// Ages from which a queue needs a person.
const (
	BaselinesLate  = settlement.BaselineWithin + 4*time.Minute // a baseline usually takes three minutes
	SettlementLate = 72 * time.Hour                            // longer than most disputes about a market's result
)

// Queues are the queues in the database, for all nodes together. They leave out samples, which are
// never settled.
type Queues struct {
	Baselines queue.Depth // predictions without a baseline; age since publication
	Markets   queue.Depth // ended markets with open predictions; age since the end
	Due       queue.Depth // predictions that an admin must settle; age since the horizon
	Outcomes  queue.Depth // decided markets that are not applied yet; age since the decision
	Boards    queue.Depth // ledger entries that count by now but are on no board
	Reports   queue.Depth // open reports
}

// SettlementAge returns how long the oldest market or prediction has waited for its settlement.
func (q *Queues) SettlementAge(now time.Time) time.Duration {
	return max(q.Markets.Age(now), q.Due.Age(now))
}

// ReadQueues reads each queue from the package that owns it. It takes a few index scans.
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

// boardQueue returns the queue of the boards. It is empty before the first build, because that
// build covers everything.
func boardQueue(ctx context.Context, db bun.IDB, now time.Time) (queue.Depth, error) {
	built, err := leaderboard.BuiltAt(ctx, db)
	if err != nil || built.IsZero() {
		return queue.Depth{}, err
	}
	return settlement.EntryQueue(ctx, db, built, now)
}
