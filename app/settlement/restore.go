package settlement

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
)

// RestoreEntries writes ledger entries unchanged, into a database that is made from a data release.
func RestoreEntries(ctx context.Context, tx bun.Tx, rows []Entry) error {
	b := batch{entries: rows}
	return b.writeLedger(ctx, tx)
}

// RestoreReferences writes reference rows unchanged, with the clusters that they count in. Their
// markets must exist.
func RestoreReferences(ctx context.Context, tx bun.Tx, list []SettledReference) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]ReferencePrediction, len(list))
	var clusters []Cluster
	for i := range list {
		rows[i] = list[i].ReferencePrediction
		if r := &list[i]; r.Value != nil {
			clusters = append(clusters, Cluster{AgentID: r.AgentID, EventKey: r.EventKey, Category: r.Category, Day: r.Day})
		}
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("restore reference rows: %w", err)
	}
	return addClusters(ctx, tx, clusters)
}

// RestoreClusters creates a cluster for each agent and event, with the category and day of the
// latest score there. The agent's first prediction on the event fixed both, and it may still be
// open. Rebuild computes the sums afterwards.
func RestoreClusters(ctx context.Context, tx bun.Tx) error {
	_, err := tx.NewRaw(`INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value)
		SELECT agent_id, event_key, category, day, 0, 0, 0, 0 FROM (
			SELECT s.agent_id, p.event_key, s.category, s.day,
				ROW_NUMBER() OVER (PARTITION BY s.agent_id, p.event_key ORDER BY s.created_at DESC, s.id DESC) AS n
			FROM score_entries AS s JOIN (?) AS p ON p.agent_id = s.agent_id AND p.id = s.prediction_id
			WHERE s.kind = ? AND s.edge IS NOT NULL) AS latest WHERE n = 1`, prediction.Select(tx), kindScore).Exec(ctx)
	if err != nil {
		return fmt.Errorf("restore clusters: %w", err)
	}
	return nil
}
