package leaderboard

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// A board can have 10,000 rows, and one settlement can move the ranks of all of them. One transaction with all these
// rows would hold SQLite's one writer for half a second. So on SQLite, a build that changes many rows writes the whole
// board under a new random version, in short transactions. Readers read only the version in boards, so they don't see
// the new rows yet. The last transaction changes that version, and then the old rows are deleted. On Postgres,
// publishing doesn't wait for the rows of a board, and a build changes all of them in one transaction.
//
// Rows of any other version belong to an interrupted build or to a build on another node. Each build deletes them, so
// two builds can delete each other's rows. Therefore a build counts its rows before it shows them.

const (
	// rowsInPlace is the most rows that a build on SQLite changes in place: in the version that readers see, in one
	// transaction. On a board of more than 2,000 rows, the limit is a twentieth of them, because a new version would
	// write twenty times as many, but at most 500 rows, which take about 30 ms.
	rowsInPlace = 100
	// versionRows is how many rows one transaction writes or deletes in a version that readers don't see.
	versionRows = 100
)

const (
	// versionShown selects the version of a board's rows that readers see. Its arguments are the window and the
	// category.
	versionShown = "COALESCE((SELECT b.version FROM boards AS b WHERE b.span = ?0 AND b.category = ?1), 0)"
	// onMainBoard is true for the rows r of the main board (all time, all categories) that readers see.
	onMainBoard = "r.span = 'all' AND r.category = '' AND " +
		"r.version = COALESCE((SELECT b.version FROM boards AS b WHERE b.span = 'all' AND b.category = ''), 0)"
	// shownOf is true for the rows of all boards of a window that readers see.
	shownOf = "(category, version) IN (SELECT b.category, b.version FROM boards AS b WHERE b.span = ?)"
)

// mostInPlace returns the most rows that a build changes in place on a board of this size.
func mostInPlace(size int) int { return min(max(rowsInPlace, size/20), 500) }

// writeVersion writes a new version of a board and shows it. rows are the rows that the build knows. A partial build
// doesn't know the untouched provisional rows; they are copied.
func (b *Builder) writeVersion(ctx context.Context, p job, old, next *Board, d delta, rows []*Row) error {
	if err := b.deleteVersions(ctx, p); err != nil {
		return err
	}
	shown := next.Version
	next.Version = rand.Int64()
	written := map[uuid.UUID]bool{}
	if p.touched != nil {
		if err := b.copyProvisional(ctx, p, shown, next.Version, written); err != nil {
			return err
		}
	}
	for _, id := range d.gone {
		delete(written, id)
	}
	for _, r := range rows {
		written[r.AgentID] = true
	}
	err := inChunks(ctx, b, d.gone, func(ctx context.Context, tx bun.Tx, some []uuid.UUID) error {
		return deleteRows(ctx, tx, p, next.Version, some)
	})
	if err != nil {
		return err
	}
	err = inChunks(ctx, b, rows, func(ctx context.Context, tx bun.Tx, some []*Row) error {
		return writeRows(ctx, tx, p, next.Version, some)
	})
	if err != nil {
		return err
	}
	if p.main() { // so readers may see a new point of an agent's history a moment before the board
		if err := inChunks(ctx, b, historyOf(d, day(p.at)), writeHistory); err != nil {
			return err
		}
	}
	err = b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		n, err := tx.NewSelect().Model((*Row)(nil)).Where("span = ?", p.window).Where("category = ?", p.category).
			Where("version = ?", next.Version).Count(ctx)
		if err != nil {
			return fmt.Errorf("count rows: %w", err)
		}
		if int(n) != len(written) {
			return ErrRaced
		}
		if old == nil { // Relabel finds no rows of a board that was never shown
			if err := relabelRows(ctx, tx, p, next.Version, slices.Collect(maps.Keys(written))); err != nil {
				return err
			}
		}
		return b.show(ctx, tx, p, old, next, d)
	})
	if err != nil {
		return err
	}
	return b.deleteVersions(ctx, p)
}

// inChunks calls write with a few entries of the list at a time, each time in a transaction.
func inChunks[T any](ctx context.Context, b *Builder, list []T, write func(ctx context.Context, tx bun.Tx, some []T) error) error {
	for some := range slices.Chunk(list, versionRows) {
		if err := b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return write(ctx, tx, some) }); err != nil {
			return err
		}
	}
	return nil
}

// copyProvisional copies the provisional rows of one version to another, and adds their agents to written.
func (b *Builder) copyProvisional(ctx context.Context, p job, from, to int64, written map[uuid.UUID]bool) error {
	after := []byte{byte(sectionProvisional)}
	for {
		var list []*Row
		err := b.db.Reader.NewSelect().Model(&list).Where("span = ?", p.window).Where("category = ?", p.category).
			Where("version = ?", from).Where("position > ?", after).Order("position").Limit(versionRows).Scan(ctx)
		if err != nil {
			return fmt.Errorf("read rows to copy: %w", err)
		}
		if len(list) == 0 {
			return nil
		}
		for _, r := range list {
			written[r.AgentID] = true
		}
		err = b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return writeRows(ctx, tx, p, to, list) })
		if err != nil {
			return err
		}
		after = list[len(list)-1].Position
	}
}

// deleteVersions deletes the rows of a board that have another version than the one that readers see. Each transaction
// reads that version anew, because another process may change it meanwhile.
func (b *Builder) deleteVersions(ctx context.Context, p job) error {
	for _, other := range []string{"version < (" + versionShown + ")", "version > (" + versionShown + ")"} {
		for {
			var some []uuid.UUID
			err := b.db.Reader.NewSelect().Model((*Row)(nil)).Column("agent_id").Where("span = ?", p.window).
				Where("category = ?", p.category).Where(other, p.window, p.category).Limit(versionRows).Scan(ctx, &some)
			if err != nil {
				return fmt.Errorf("look for old rows: %w", err)
			}
			if len(some) == 0 {
				break
			}
			err = b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
				_, err := tx.NewDelete().Model((*Row)(nil)).Where("span = ?", p.window).Where("category = ?", p.category).
					Where(other, p.window, p.category).Where("agent_id IN (?)", bun.List(some)).Exec(ctx)
				return err
			})
			if err != nil {
				return fmt.Errorf("delete old rows: %w", err)
			}
		}
	}
	return nil
}
