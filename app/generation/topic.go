package generation

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Topic identifies a part of what the service shows.
type Topic int

// The topics. A transaction moves every topic whose answers it changes.
const (
	Predictions Topic = iota // predictions were published
	Results                  // baselines, settlements, rulings, corrections
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

// move increments a slot of the topic that no transaction holds, or adds a slot if there is none.
const move = `, free AS (SELECT topic, slot FROM generations WHERE topic = (SELECT topic FROM v) LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
moved AS (UPDATE generations AS g SET value = g.value + 1 FROM free WHERE g.topic = free.topic AND g.slot = free.slot RETURNING g.slot)
INSERT INTO generations (topic, slot, value) SELECT topic, gen_random_uuid()::text, 1 FROM v WHERE NOT EXISTS (SELECT 1 FROM moved)`

type movedRow struct {
	Topic string `bun:",type:text"`
}

// moveAlone is the statement for SQLite, which has one writer.
const moveAlone = `INSERT INTO generations (topic, slot, value) VALUES (?, '', 1)
ON CONFLICT (topic, slot) DO UPDATE SET value = generations.value + 1`

// Moved moves topics. Call it in the transaction that changes what the service shows under them. It
// never waits for another transaction.
func Moved(ctx context.Context, tx bun.Tx, list ...Topic) error {
	for _, topic := range list {
		var err error
		if name := topic.String(); database.IsPostgres(tx) {
			_, err = database.ExecPlannedRows(ctx, tx, move, []movedRow{{name}})
		} else {
			_, err = tx.ExecContext(ctx, moveAlone, name)
		}
		if err != nil {
			return fmt.Errorf("move the generation of %s: %w", topic, err)
		}
	}
	return nil
}
