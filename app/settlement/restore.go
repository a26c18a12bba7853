package settlement

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
)

// RestoreEntries writes rows of the ledger as they are, for a database that is made from a data
// release.
func RestoreEntries(ctx context.Context, tx bun.Tx, rows []Entry) error {
	b := batch{entries: rows}
	return b.writeLedger(ctx, tx)
}

// RestoreReferences writes reference rows as they are, with the clusters that they count in. Their
// markets must be there.
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

// RestoreClusters gives each event of an agent the category and the day of its latest score. They
// were fixed by the agent's first prediction on the event, which may still be open. Rebuild then
// makes the sums.
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
