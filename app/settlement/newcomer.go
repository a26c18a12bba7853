package settlement

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// ConsensusEvents is how many settled events an agent needs to count in a market's consensus and in
// the Consensus reference row. The threshold keeps many new accounts from moving either.
const ConsensusEvents = 5

// CountInConsensus reports for each agent whether it has at least ConsensusEvents settled events.
func CountInConsensus(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]bool, error) {
	events, err := settledEvents(ctx, db, agents)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]bool, len(events))
	for id, n := range events {
		counts[id] = n >= ConsensusEvents
	}
	return counts, nil
}

// settledEvents counts the settled events of each agent. It reads only the first few days of an
// agent, so a count above ConsensusEvents may be too small.
func settledEvents(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]int64, error) {
	type row struct {
		AgentID uuid.UUID `bun:",type:uuid"`
	}
	rows := make([]row, len(agents))
	for i, id := range agents {
		rows[i].AgentID = id
	}
	events := make(map[uuid.UUID]int64, len(agents))
	if len(agents) == 0 {
		return events, nil
	}
	var found []struct {
		AgentID uuid.UUID `bun:",type:uuid"`
		Events  int64
	}
	// Without the order, Postgres may read the whole table once for each agent.
	query := fmt.Sprintf(`SELECT v.agent_id, (SELECT CAST(COALESCE(SUM(f.clusters), 0) AS BIGINT) FROM (
			SELECT d.clusters FROM agent_days AS d WHERE d.agent_id = v.agent_id AND d.category = '%s' AND d.clusters > 0
			ORDER BY d.agent_id, d.category, d.day LIMIT %d) AS f) AS events FROM v`, AllCategories, ConsensusEvents+1)
	if err := database.ScanRows(ctx, db, query, rows, &found); err != nil {
		return nil, fmt.Errorf("count settled events: %w", err)
	}
	for _, f := range found {
		events[f.AgentID] = f.Events
	}
	return events, nil
}

// writeMarkets marks the consensus of a market for counting again, and that of every market with
// predictions of agents that began or ceased to count. Then it reveals the decided predictions, unless they stay
// withheld. It must follow write and be the last step of its transaction, because publishing waits
// for the rows of market_consensus that it locks.
func (b *batch) writeMarkets(ctx context.Context, tx bun.Tx, marketID string) error {
	agents, err := b.countNow(ctx, tx)
	if err != nil {
		return err
	}
	// AgentsChanged locks the rows in ascending order, as publishing does. A reveal changes the
	// market's row too, so it would break that order if it came first.
	if err := prediction.AgentsChanged(ctx, tx, agents, marketID); err != nil {
		return err
	}
	if b.withheld {
		return nil
	}
	return prediction.RevealResolved(ctx, tx, b.predictions, b.now)
}

// countNow lists the agents that begin or cease to count in consensus because of what the batch
// wrote.
func (b *batch) countNow(ctx context.Context, tx bun.Tx) ([]uuid.UUID, error) {
	gained := map[uuid.UUID]int64{}
	for key, n := range b.gains() {
		gained[key.agent] += n
	}
	moved := make([]uuid.UUID, 0, len(gained))
	for id, n := range gained {
		if n != 0 {
			moved = append(moved, id)
		}
	}
	events, err := settledEvents(ctx, tx, moved)
	if err != nil {
		return nil, err
	}
	var changed []uuid.UUID
	for _, id := range moved {
		if now := events[id]; (now >= ConsensusEvents) != (now-gained[id] >= ConsensusEvents) {
			changed = append(changed, id)
		}
	}
	return changed, nil
}
