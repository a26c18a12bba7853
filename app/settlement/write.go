package settlement

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// write stores the batch, except what writeMarkets stores. The tallies of its agents are locked
// from the start of the transaction, so the order of these writes doesn't matter. Meanwhile the
// agents' publishes wait for a later batch, and those of other agents go on.
func (b *batch) write(ctx context.Context, tx bun.Tx) error {
	changed := make([]Cluster, 0, len(b.before))
	for key, before := range b.before {
		after := b.clusters[key]
		after.clearDay()
		if before.Settled > 0 {
			b.days.add(before.share(-1))
		}
		if after.Settled > 0 {
			b.days.add(after.share(1))
		}
		changed = append(changed, *after)
	}
	moves := make([]prediction.TallyMove, 0, len(b.tallies))
	for _, m := range b.tallies {
		moves = append(moves, *m)
	}
	if err := prediction.Resolve(ctx, tx, b.predictions); err != nil {
		return err
	}
	if err := b.writeLedger(ctx, tx); err != nil {
		return err
	}
	if err := b.writeReferences(ctx, tx); err != nil {
		return err
	}
	if err := settleClusters(ctx, tx, changed); err != nil {
		return err
	}
	if err := addDays(ctx, tx, b.days); err != nil {
		return err
	}
	if err := b.writeEvents(ctx, tx); err != nil {
		return err
	}
	if err := update.Record(ctx, tx, b.updates...); err != nil {
		return err
	}
	return prediction.MoveTallies(ctx, tx, moves)
}

func (b *batch) writeLedger(ctx context.Context, tx bun.Tx) error {
	if len(b.entries) == 0 {
		return nil
	}
	const columns = "id, prediction_id, seq, kind, agent_id, value, outcome, source, note, brier, edge, contribution, log_edge, stake, spread, category, day, rules_version, created_at"
	if _, err := database.ExecRows(ctx, tx, "INSERT INTO score_entries ("+columns+") SELECT "+columns+" FROM v", b.entries); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

func (b *batch) writeReferences(ctx context.Context, tx bun.Tx) error {
	for i := range b.references { // a market has at most two
		if _, err := tx.NewUpdate().Model(&b.references[i]).Column("status", "value", "edge", "settled_at").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("write reference rows: %w", err)
		}
	}
	return nil
}
