package generation

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Topic identifies a part of what the service shows.
type Topic int

// The topics. A transaction moves every topic whose answers it changes.
const (
	Predictions Topic = iota // predictions were published or revealed
	Results                  // stored predictions changed: reveals, baselines, settlements, rulings, corrections
	Boards                   // leaderboards were built
	Markets                  // markets or events were observed
	Agents                   // agents registered, or their profiles or states changed
	Assignments              // assignments were made or closed
	Texts                    // texts or agents were hidden or shown again
	Consensus                // the consensus on a market changed
	Updates                  // updates were numbered
	Archive                  // a day of the archive was sealed
	topics
)

var names = [topics]string{
	Predictions: "predictions", Results: "results", Boards: "boards", Markets: "markets", Agents: "agents",
	Assignments: "assignments", Texts: "texts", Consensus: "consensus", Updates: "updates", Archive: "archive",
}

// String returns the name of the topic in the database.
func (t Topic) String() string { return names[t] }

// movedTopic is a topic to move on Postgres.
type movedTopic struct {
	Topic string `bun:",type:text"`
}

// firstSlot is the only slot of a topic on SQLite, which has one writer.
type firstSlot struct {
	Topic string `bun:",type:text"`
	Slot  string `bun:",type:text"`
	Value int64  `bun:",type:bigint"`
}

// move increments a slot of each topic that no other transaction holds, or adds a slot if there is none.
const move = `INSERT INTO generations AS g (topic, slot, value)
SELECT v.topic, COALESCE((SELECT slot FROM generations WHERE topic = v.topic LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED), gen_random_uuid()::text), 1 FROM v
ON CONFLICT (topic, slot) DO UPDATE SET value = g.value + 1`

// NewWrite returns the write that moves topics, at least one. Run it in the transaction that changes what the service
// shows under them. It never waits for another transaction.
func NewWrite(tx bun.Tx, list ...Topic) database.Write {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	if database.IsPostgres(tx) {
		rows := make([]movedTopic, len(list))
		for i, topic := range list {
			rows[i].Topic = topic.String()
		}
		return database.NewWrite(move, rows)
	}
	rows := make([]firstSlot, len(list))
	for i, topic := range list {
		rows[i] = firstSlot{Topic: topic.String(), Value: 1}
	}
	return database.NewInsert("generations AS g", rows, "ON CONFLICT (topic, slot) DO UPDATE SET value = g.value + 1")
}

// Move runs the write of NewWrite as a separate statement. Without topics it does nothing.
func Move(ctx context.Context, tx bun.Tx, list ...Topic) error {
	if len(list) == 0 {
		return nil
	}
	if err := database.ExecWrites(ctx, tx, NewWrite(tx, list...)); err != nil {
		return fmt.Errorf("move the generations of %v: %w", list, err)
	}
	return nil
}
