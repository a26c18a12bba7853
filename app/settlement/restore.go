package settlement

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Restored is what Restore puts into an empty database. Its markets need no more than their ids.
type Restored struct {
	Predictions []prediction.Prediction
	Entries     []Entry
	References  []SettledReference
}

// Restore writes predictions, their ledger and reference rows as they are, and the category and
// the day of each cluster as its latest ledger row has them. Rebuild then makes the sums. The
// agents and the markets of the references must be there.
func Restore(ctx context.Context, tx bun.Tx, r Restored) error {
	if err := prediction.Restore(ctx, tx, r.Predictions); err != nil {
		return err
	}
	b := batch{entries: r.Entries}
	if err := b.writeLedger(ctx, tx); err != nil {
		return err
	}
	if len(r.References) > 0 {
		rows := make([]ReferencePrediction, len(r.References))
		for i := range r.References {
			rows[i] = r.References[i].ReferencePrediction
		}
		if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
			return fmt.Errorf("restore reference rows: %w", err)
		}
	}
	return restoreClusters(ctx, tx, r)
}

func restoreClusters(ctx context.Context, tx bun.Tx, r Restored) error {
	events := make(map[uuid.UUID]string, len(r.Predictions))
	for i := range r.Predictions {
		if p := &r.Predictions[i]; p.BaselineState == prediction.Fixed {
			events[p.ID] = p.EventKey
		}
	}
	found := map[clusterKey]Cluster{}
	add := func(agent uuid.UUID, event, category, day string) {
		found[clusterKey{agent, event}] = Cluster{AgentID: agent, EventKey: event, Category: category, Day: day}
	}
	for i := range r.Entries { // the latest comes last
		e := &r.Entries[i]
		if event, ok := events[e.PredictionID]; ok && e.Kind == kindScore {
			add(e.AgentID, event, e.Category, e.Day)
		}
	}
	for i := range r.References {
		if ref := &r.References[i]; ref.Value != nil {
			add(ref.AgentID, ref.EventKey, ref.Category, ref.Day)
		}
	}
	const statement = `INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value)
		SELECT v.agent_id, v.event_key, v.category, v.day, 0, 0, 0, 0 FROM v WHERE TRUE
		ON CONFLICT (agent_id, event_key) DO UPDATE SET category = EXCLUDED.category, day = EXCLUDED.day`
	rows := make([]Cluster, 0, len(found))
	for _, c := range found {
		rows = append(rows, c)
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := database.ExecRows(ctx, tx, statement, rows); err != nil {
		return fmt.Errorf("restore clusters: %w", err)
	}
	return nil
}
