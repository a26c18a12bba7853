package prediction

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// clearedMarks is how many of an agent's newest predictions lose the mark of a newcomer at its first
// settlement. Older predictions are too old for a feed.
const clearedMarks = 100

// agentsAtOnce is how many agents one query reads the newest predictions of.
const agentsAtOnce = 100

// establish clears the mark of a newcomer from the newest predictions of agents whose first settlement is among
// moves. The transaction must hold their tallies.
func establish(ctx context.Context, tx bun.Tx, moves []TallyMove) error {
	settled := slices.DeleteFunc(slices.Clone(moves), func(m TallyMove) bool { return m.Resolved <= 0 })
	if len(settled) == 0 {
		return nil
	}
	type first struct {
		AgentID uuid.UUID `bun:",type:uuid"`
	}
	var agents []first
	err := database.ScanRows(ctx, tx, `SELECT v.agent_id FROM v JOIN agent_tallies AS t ON t.agent_id = v.agent_id
		WHERE t.resolved = 0`, settled, &agents)
	if err != nil {
		return fmt.Errorf("look for first settlements: %w", err)
	}
	if len(agents) == 0 {
		return nil
	}
	for chunk := range slices.Chunk(agents, agentsAtOnce) {
		ids := make([]uuid.UUID, len(chunk))
		for i, a := range chunk {
			ids[i] = a.AgentID
		}
		var newest []Key
		if err := newestBy(tx, ids, clearedMarks).Scan(ctx, &newest); err != nil {
			return fmt.Errorf("read the newest predictions of agents: %w", err)
		}
		if len(newest) == 0 {
			continue
		}
		for _, table := range []string{"predictions", "results"} {
			_, err := database.ExecRows(ctx, tx, `UPDATE `+table+` AS p SET newcomer = FALSE FROM v
				WHERE p.agent_id = v.agent_id AND p.id = v.id AND p.newcomer`, newest)
			if err != nil {
				return fmt.Errorf("clear the marks of newcomers: %w", err)
			}
		}
	}
	return nil
}
