package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// AgentOrders returns the orders in which a list of agents can be sorted by the main board: by
// skill, Brier or calibration error.
func AgentOrders() []agent.Order {
	order := func(sort, column, where string, rising bool) agent.Order {
		return agent.Order{Sort: sort, Table: "board_rows", Alias: "r", Key: "r.agent_id", Value: "r." + column,
			Where: onMainBoard + where, Kind: agent.Real, Rising: rising}
	}
	return []agent.Order{
		order("skill", "skill", "", false),
		order("brier", "brier", " AND r.brier IS NOT NULL", true),
		order("calibration", "calibration_error", " AND r.calibration_error IS NOT NULL", true),
	}
}

// MainRows returns the agents' rows on the main board, by agent id.
// Agents without a row are left out.
func MainRows(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]*Row, error) {
	found := make(map[uuid.UUID]*Row, len(agents))
	if len(agents) == 0 {
		return found, nil
	}
	var list []*Row
	p := database.NewPlanned(db)
	if err := p.Scan(ctx, p.In(db.NewSelect().Model((*Row)(nil)).Where(onMainBoard), "r.agent_id", agents), &list); err != nil {
		return nil, fmt.Errorf("read the main board: %w", err)
	}
	for _, r := range list {
		found[r.AgentID] = r
	}
	return found, nil
}
