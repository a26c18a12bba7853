package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
)

// Thumbnail holds the data of the small charts that a board draws for an agent.
type Thumbnail struct {
	// Calibration is over all the agent's settled predictions.
	Calibration [score.BinCount]score.Bin
	// Trend is the skill at the end of each recent day on which the agent's record changed, the
	// oldest first.
	Trend []float64
}

// Thumbnails reads the thumbnails of many agents with two queries. Trends go back the given number
// of days. Agents without settled predictions are left out.
func (s *Store) Thumbnails(ctx context.Context, db bun.IDB, agents []uuid.UUID, days int) (map[uuid.UUID]Thumbnail, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	out, err := s.calibrations(ctx, db, agents)
	if err != nil {
		return nil, err
	}
	var points []SkillPoint
	err = db.NewSelect().Model(&points).Where("agent_id IN (?)", bun.List(agents)).
		Where("day >= ?", day(s.now().UTC().AddDate(0, 0, -days))).OrderExpr("agent_id, day").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read trends: %w", err)
	}
	for _, p := range points {
		t := out[p.AgentID]
		t.Trend = append(t.Trend, p.Skill)
		out[p.AgentID] = t
	}
	return out, nil
}

// calibrations reads the calibration bins of many agents from their rows on the main board.
func (s *Store) calibrations(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]Thumbnail, error) {
	var rows []Row
	err := db.NewSelect().Model(&rows).Column("agent_id", "totals").Where(onMainBoard).
		Where("agent_id IN (?)", bun.List(agents)).Where("totals IS NOT NULL").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	out := make(map[uuid.UUID]Thumbnail, len(agents))
	for i := range rows {
		t, err := decodeTotals(rows[i].Totals)
		if err != nil {
			return nil, fmt.Errorf("read calibrations: %w", err)
		}
		out[rows[i].AgentID] = Thumbnail{Calibration: t.calibration()}
	}
	return out, nil
}
