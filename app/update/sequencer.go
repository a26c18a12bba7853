package update

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

// outboxBatch is the most rows of the outbox that one transaction numbers.
const outboxBatch = 32

// Sequencer numbers updates. One node should run it, under a lease. Two sequencers wait for each other.
type Sequencer struct {
	db  *database.DB
	now func() time.Time
}

// NewSequencer returns a Sequencer.
func NewSequencer(db *database.DB, now func() time.Time) *Sequencer { return &Sequencer{db, now} }

// Tick numbers all committed updates. It is cheap if there are none.
func (s *Sequencer) Tick(ctx context.Context) error {
	for {
		waits, err := s.waiting(ctx)
		if err != nil || !waits {
			return err
		}
		if err := s.db.InTx(ctx, s.number); err != nil {
			return fmt.Errorf("number updates: %w", err)
		}
	}
}

func (s *Sequencer) waiting(ctx context.Context) (bool, error) {
	var found []int
	if err := s.db.Reader.NewRaw("SELECT 1 FROM update_outbox LIMIT 1").Scan(ctx, &found); err != nil {
		return false, fmt.Errorf("look for updates: %w", err)
	}
	return len(found) > 0, nil
}

// number moves rows of the outbox to the log. It locks the head first, so that its later statements see
// everything that earlier calls committed.
func (s *Sequencer) number(ctx context.Context, tx bun.Tx) error {
	last, timeline, err := s.begin(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := dequeue(ctx, tx)
	if err != nil || len(rows) == 0 {
		return err
	}
	at := database.Stored(s.now())
	chunks, list := make([]chunkRow, 0, len(rows)), make([]Update, 0, len(rows))
	for _, row := range rows {
		numbered, err := decode(row.Content, last+1)
		if err != nil {
			return err
		}
		first := last + 1
		last += int64(len(numbered))
		chunks, list = append(chunks, chunkRow{last, first, at, row.Content}), append(list, numbered...)
	}
	if err := writeLog(ctx, tx, chunks, list); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE update_head SET last = ?, timeline = ? WHERE id = 1", last, timeline); err != nil {
		return fmt.Errorf("move the head: %w", err)
	}
	return generation.Move(ctx, tx, generation.Updates)
}

// begin locks the head. It returns the last number, and the timeline to store with the next one. If another timeline
// gave the last number, later numbers may have been lost with it, so begin restarts the log.
func (s *Sequencer) begin(ctx context.Context, tx bun.Tx) (last int64, timeline string, err error) {
	var before string
	if err := database.ForUpdate(tx.NewSelect().Table("update_head").Column("timeline").Where("id = 1")).Scan(ctx, &before); err != nil {
		return 0, "", fmt.Errorf("lock the head of the updates: %w", err)
	}
	if timeline, err = database.Timeline(ctx, tx); err != nil {
		return 0, "", err
	}
	if before != "" && timeline != "" && before != timeline {
		if err := Restart(ctx, tx, s.now()); err != nil {
			return 0, "", err
		}
	}
	head, err := readHead(ctx, selectHead(tx))
	return head.Last, cmp.Or(timeline, before), err
}

// dequeue removes the oldest rows of the outbox and returns them.
func dequeue(ctx context.Context, tx bun.Tx) ([]outboxRow, error) {
	var rows []outboxRow
	err := tx.NewRaw(`DELETE FROM update_outbox WHERE id IN (SELECT id FROM update_outbox ORDER BY id LIMIT ?)
		RETURNING id, content`, outboxBatch).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("take updates out: %w", err)
	}
	slices.SortFunc(rows, func(a, b outboxRow) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return rows, nil
}

// chunkRow is a row of the outbox with its numbers.
type chunkRow struct {
	Last    int64     `bun:",type:bigint"`
	First   int64     `bun:",type:bigint"`
	At      time.Time `bun:",type:timestamptz"`
	Content []byte    `bun:",type:bytea"`
}

// ownRow is an update of an agent's own prediction.
type ownRow struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	Seq     int64     `bun:",type:bigint"`
	Type    Type      `bun:",type:text"`
	At      time.Time `bun:",type:timestamptz"`
	Ref     Ref       `bun:",type:jsonb"`
}

// sharedRow is an update that may concern any agent.
type sharedRow struct {
	Seq  int64     `bun:",type:bigint"`
	Type Type      `bun:",type:text"`
	At   time.Time `bun:",type:timestamptz"`
	Ref  Ref       `bun:",type:jsonb"`
}

// writeLog writes chunks, and the updates in them that agents read.
func writeLog(ctx context.Context, tx bun.Tx, chunks []chunkRow, list []Update) error {
	var own []ownRow
	var common []sharedRow
	for i := range list {
		switch u := &list[i]; {
		case u.personal():
			own = append(own, ownRow{u.AgentID(), u.Seq, u.Type, u.At, u.Ref})
		case slices.Contains(shared, u.Type):
			common = append(common, sharedRow{u.Seq, u.Type, u.At, u.Ref})
		}
	}
	writes := []database.Write{
		database.NewInsert("update_chunks", chunks, ""),
	}
	if len(own) > 0 {
		writes = append(writes, database.NewInsert("updates", own, ""))
	}
	if len(common) > 0 {
		writes = append(writes, database.NewInsert("shared_updates", common, ""))
	}
	if err := database.ExecWrites(ctx, tx, writes...); err != nil {
		return fmt.Errorf("write the log of updates: %w", err)
	}
	return nil
}
