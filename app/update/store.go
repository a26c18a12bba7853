package update

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

const (
	// KeptForAgents is how long Own and Shared return an update.
	KeptForAgents = 30 * 24 * time.Hour
	// KeptForStreams is how long Chunks returns an update.
	KeptForStreams = 24 * time.Hour
	// pruneBatch is the most rows of each table that one call of Prune deletes.
	pruneBatch = 1000
)

// Store reads the log.
type Store struct{}

// Head is the end of the log. A later read up to Last misses no update.
type Head struct {
	Last int64 // the last assigned number
	// Deleted is the highest number deleted because of its age, among the updates that Own and Shared
	// return.
	Deleted int64
}

// Head reads the end of the log.
func (Store) Head(ctx context.Context, db bun.IDB) (Head, error) {
	return readHead(ctx, selectHead(db))
}

func selectHead(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().Table("update_head").Column("last", "deleted").Where("id = 1")
}

func readHead(ctx context.Context, q *bun.SelectQuery) (h Head, err error) {
	if err = q.Scan(ctx, &h); err != nil {
		return h, fmt.Errorf("read the head of the updates: %w", err)
	}
	return h, nil
}

// Span is a part of the log: the numbers after After, up to UpTo.
type Span struct{ After, UpTo int64 }

// within narrows a query to a span, in order.
func (s Span) within(q *bun.SelectQuery, limit int) *bun.SelectQuery {
	return q.Where("seq > ?", s.After).Where("seq <= ?", s.UpTo).Order("seq").Limit(int64(limit))
}

// Own returns the first updates of an agent's own predictions in a span, in order.
func (Store) Own(ctx context.Context, db bun.IDB, agentID uuid.UUID, span Span, limit int) ([]Update, error) {
	var rows []kept
	q := db.NewSelect().Table("updates").Column("seq", "type", "at", "ref").Where("agent_id = ?", agentID)
	if err := span.within(q, limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read an agent's updates: %w", err)
	}
	return updatesOf(rows), nil
}

// Shared returns the first updates of markets and assignments in a span, in order: market.moved,
// market.closed and assignment.opened.
func (Store) Shared(ctx context.Context, db bun.IDB, span Span, limit int) ([]Update, error) {
	var rows []kept
	q := db.NewSelect().Table("shared_updates").Column("seq", "type", "at", "ref")
	if err := span.within(q, limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read shared updates: %w", err)
	}
	return updatesOf(rows), nil
}

// kept is a row of updates or shared_updates.
type kept struct {
	Seq  int64
	Type Type
	At   time.Time
	Ref  Ref `bun:"type:json"`
}

func updatesOf(rows []kept) []Update {
	list := make([]Update, len(rows))
	for i, r := range rows {
		list[i] = Update{Seq: r.Seq, Type: r.Type, At: r.At.UTC(), Ref: r.Ref}
	}
	return list
}

// Chunks returns the updates after a number, in order: those of the next chunk, and of the chunks that end
// within most numbers after it. A chunk has at most 400 updates. oldest is the number of the first update in
// these chunks, even if it isn't after the given number. It is 0 if there are no chunks. Updates older than
// KeptForStreams are gone.
func (Store) Chunks(ctx context.Context, db bun.IDB, after int64, most int) (list []Update, oldest int64, err error) {
	var rows []chunkRow
	err = db.NewSelect().Table("update_chunks").Column("last", "first", "content").Where("last > ?", after).
		Where("last <= ? + (SELECT min(last) FROM update_chunks WHERE last > ?)", most, after).Order("last").Scan(ctx, &rows)
	if err != nil {
		return nil, 0, fmt.Errorf("read updates: %w", err)
	}
	for i, row := range rows {
		part, err := decode(row.Content, row.First)
		if err != nil {
			return nil, 0, err
		}
		if i == 0 {
			oldest = row.First
			part = part[max(0, after-row.First+1):]
		}
		list = append(list, part...)
	}
	return list, oldest, nil
}

// Restart moves the log to numbers that were never assigned. Call it after the database was restored from a
// backup. Otherwise the numbers assigned since the backup would be assigned again to other updates. The Sequencer
// calls it after a failover. All earlier cursors expire, and streams get a gap. The new number is made from the
// current time, so that a backup can be restored twice. Numbers stay below 2^53, as JavaScript requires, until the
// year 2255.
func Restart(ctx context.Context, tx bun.Tx, now time.Time) error {
	const more = 1_000_000_000 // more numbers than were assigned since the backup, in case the clock went back
	_, err := tx.NewRaw(`UPDATE update_head SET last = CASE WHEN last + ?0 > ?1 THEN last + ?0 ELSE ?1 END,
		deleted = CASE WHEN last + ?0 > ?1 THEN last + ?0 ELSE ?1 END WHERE id = 1`, more, now.UnixMicro()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("restart the updates: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM update_chunks"); err != nil {
		return fmt.Errorf("restart the updates: %w", err)
	}
	return generation.Move(ctx, tx, generation.Updates)
}

// Prune deletes one batch of expired updates. more reports whether there may be further ones.
func (Store) Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		own, err := deleteOld(ctx, tx, `WITH old AS (SELECT agent_id, seq FROM updates WHERE at < ? ORDER BY at LIMIT ?)
			DELETE FROM updates WHERE (agent_id, seq) IN (SELECT agent_id, seq FROM old) RETURNING seq`, now)
		if err != nil {
			return err
		}
		common, err := deleteOld(ctx, tx, `WITH old AS (SELECT seq FROM shared_updates WHERE at < ? ORDER BY at LIMIT ?)
			DELETE FROM shared_updates WHERE seq IN (SELECT seq FROM old) RETURNING seq`, now)
		more = own.full() || common.full()
		if highest := max(own.highest, common.highest); err == nil && highest > 0 {
			_, err = tx.ExecContext(ctx, "UPDATE update_head SET deleted = ? WHERE id = 1 AND deleted < ?", highest, highest)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("prune updates: %w", err)
	}
	chunks, err := database.Prune(ctx, db, "update_chunks", "at", now.Add(-KeptForStreams), "last")
	return more || chunks, err
}

type deleted struct {
	count   int
	highest int64
}

func (d deleted) full() bool { return d.count == pruneBatch }

func deleteOld(ctx context.Context, tx bun.Tx, statement string, now time.Time) (d deleted, err error) {
	var numbers []int64
	if err := tx.NewRaw(statement, database.Stored(now.Add(-KeptForAgents)), pruneBatch).Scan(ctx, &numbers); err != nil {
		return d, err
	}
	for _, n := range numbers {
		d.highest = max(d.highest, n)
	}
	d.count = len(numbers)
	return d, nil
}
