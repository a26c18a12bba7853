package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/settlement"
)

var upsertHistory = upsert(
	"skill_history", []string{"agent_id", "day"}, []string{"skill", "skill_low", "skill_high", "events"},
)

// SkillPoint is an agent's skill over all time at the end of a day on which its record changed.
type SkillPoint struct {
	bun.BaseModel `bun:"table:skill_history"`

	AgentID             uuid.UUID `bun:",pk,type:uuid"`
	Day                 string    `bun:",pk,type:text"` // "2026-11-21", UTC
	Skill               float64   `bun:",type:double precision"`
	SkillLow, SkillHigh *float64  `bun:",type:double precision"` // ends of the range of the true edge
	Events              int64     `bun:",type:bigint"`
}

// historyOf returns the new points of the agents whose settled events changed. A new prior alone
// moves every skill a little and isn't recorded. An agent without a settled event is recorded only
// if it had one before, so that its history doesn't end at a skill that was reversed.
func historyOf(d delta, day string) (points []SkillPoint) {
	for _, r := range d.changed {
		old := d.before[r.AgentID]
		none := r.Events == 0 && (old == nil || old.Events == 0)
		if r.AgentID == settlement.MarketAgent || none || (old != nil && old.Tally() == r.Tally()) {
			continue
		}
		points = append(points, SkillPoint{
			AgentID: r.AgentID, Day: day, Skill: r.Skill, SkillLow: r.SkillLow, SkillHigh: r.SkillHigh, Events: r.Events,
		})
	}
	return points
}

func writeHistory(ctx context.Context, tx bun.Tx, points []SkillPoint) error {
	if _, err := database.ExecRows(ctx, tx, upsertHistory, points); err != nil {
		return fmt.Errorf("write skill history: %w", err)
	}
	return nil
}
