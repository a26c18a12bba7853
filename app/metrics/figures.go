package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/ingest"
)

// Queue is how much waits for something, and since when the oldest of it does.
type Queue struct {
	Count  int64
	Oldest time.Time `bun:",nullzero"` // zero when nothing waits
}

// Age is how long the oldest has waited; zero when nothing waits.
func (q Queue) Age(now time.Time) time.Duration {
	if q.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(q.Oldest), 0)
}

// Figures are what the database tells of the whole service, all nodes together.
// Sample data is not counted in the queues: nothing will ever settle it.
type Figures struct {
	Open, Resolved, Void int64 // predictions
	// Baselines are predictions that wait for their baseline since publication.
	Baselines Queue
	// Markets are closed ones with open predictions, since they closed.
	Markets Queue
	// Due are open predictions without a market, since their horizon passed: an admin
	// settles them.
	Due Queue
	// Outcomes are decided markets whose predictions are not all moved yet, since the
	// decision.
	Outcomes Queue
	// Boards are entries of the ledger that no leaderboard shows yet.
	Boards Queue
	// Reports are open ones.
	Reports Queue
	// Feeds are the states of the feeds that were read at least once.
	Feeds []ingest.FeedState
}

// ReadFigures asks the database. It takes a few index scans.
func ReadFigures(ctx context.Context, db bun.IDB, now time.Time) (f Figures, err error) {
	err = db.NewRaw("SELECT CAST(COALESCE(SUM(open), 0) AS BIGINT), CAST(COALESCE(SUM(resolved), 0) AS BIGINT), CAST(COALESCE(SUM(void), 0) AS BIGINT) FROM agent_tallies").
		Scan(ctx, &f.Open, &f.Resolved, &f.Void)
	if err != nil {
		return f, fmt.Errorf("count predictions: %w", err)
	}
	if err := f.readQueues(ctx, db, now); err != nil {
		return f, err
	}
	for _, name := range []string{"markets", "news"} {
		state, found, err := ingest.State(ctx, db, name)
		if err != nil {
			return f, err
		}
		if found {
			f.Feeds = append(f.Feeds, state)
		}
	}
	return f, nil
}

func (f *Figures) readQueues(ctx context.Context, db bun.IDB, now time.Time) error {
	queues := []struct {
		into  *Queue
		query *bun.RawQuery
	}{
		{&f.Baselines, db.NewRaw("SELECT COUNT(*) AS count, MIN(created_at) AS oldest FROM results WHERE baseline_state = 'pending' AND NOT sample")},
		{&f.Markets, db.NewRaw("SELECT COUNT(*) AS count, MIN(COALESCE(closed_at, closes_at, observed_at)) AS oldest FROM markets" +
			" WHERE closed AND NOT sample AND id IN (SELECT market_id FROM results WHERE status = 'open' AND market_id IS NOT NULL)")},
		{&f.Due, db.NewRaw("SELECT COUNT(*) AS count, MIN(horizon_at) AS oldest FROM results"+
			" WHERE status = 'open' AND market_id IS NULL AND NOT sample AND horizon_at <= ?", now.UTC())},
		{&f.Outcomes, db.NewRaw("SELECT COUNT(*) AS count, MIN(decided_at) AS oldest FROM market_outcomes WHERE NOT applied")},
		{&f.Reports, db.NewRaw("SELECT COUNT(*) AS count, MIN(created_at) AS oldest FROM reports WHERE status = 'open'")},
	}
	for _, q := range queues {
		if err := q.query.Scan(ctx, q.into); err != nil {
			return fmt.Errorf("look at the queues: %w", err)
		}
		q.into.Oldest = q.into.Oldest.UTC()
	}
	return f.readBoards(ctx, db)
}

// readBoards counts the entries since the newest board. Ids sort by the moment of their
// entry, and have the only index.
func (f *Figures) readBoards(ctx context.Context, db bun.IDB) error {
	var boards []time.Time
	if err := db.NewRaw("SELECT as_of FROM boards WHERE span = 'all' AND category = ''").Scan(ctx, &boards); err != nil {
		return fmt.Errorf("look at the boards: %w", err)
	}
	for _, asOf := range boards { // one at most
		err := db.NewRaw("SELECT COUNT(*) AS count, MIN(created_at) AS oldest FROM score_entries WHERE id >= ? AND created_at > ?",
			database.FirstID(asOf), asOf.UTC()).Scan(ctx, &f.Boards)
		if err != nil {
			return fmt.Errorf("look at the ledger: %w", err)
		}
		f.Boards.Oldest = f.Boards.Oldest.UTC()
	}
	return nil
}
