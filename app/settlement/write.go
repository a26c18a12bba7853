package settlement

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// write stores the batch. It writes the tallies last, because publishing waits for them.
func (b *batch) write(ctx context.Context, tx bun.Tx) error {
	changed := make([]Cluster, 0, len(b.before))
	for key, before := range b.before {
		after := b.clusters[key]
		after.settle()
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
	for _, step := range []func() error{
		func() error { return prediction.Resolve(ctx, tx, b.predictions) },
		func() error { return b.writeLedger(ctx, tx) },
		func() error { return b.writeReferences(ctx, tx) },
		func() error { return settleClusters(ctx, tx, changed) },
		func() error { return addDays(ctx, tx, b.days) },
		func() error { return update.Record(ctx, tx, b.updates...) },
		func() error { return prediction.MoveTallies(ctx, tx, moves) },
		func() error { return prediction.RevealResolved(ctx, tx, b.predictions, b.now) },
		func() error { return b.countEvents(ctx, tx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
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
