package leaderboard

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
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
		Where("day >= ?", day(s.now().AddDate(0, 0, -days))).OrderExpr("agent_id, day").Scan(ctx)
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

// binSums lists the columns that sum up the calibration bins.
var binSums = func() string {
	var columns strings.Builder
	for i := range score.BinCount {
		for _, part := range []string{"count", "confidence", "observed"} {
			fmt.Fprintf(&columns, ", CAST(SUM(b%d_%s) AS BIGINT)", i, part)
		}
	}
	return columns.String()
}()

// calibrations sums up the calibration bins of many agents over all their days.
func (s *Store) calibrations(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]Thumbnail, error) {
	rows, err := db.NewSelect().TableExpr("(?) AS d", settlement.SelectDays(db)).ColumnExpr("d.agent_id"+binSums).
		Where("d.agent_id IN (?)", bun.List(agents)).Where("d.category <> ?", AllCategories).
		Where("d.day <= ?", day(s.now())).GroupExpr("d.agent_id").Rows(ctx)
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	defer rows.Close()
	out := make(map[uuid.UUID]Thumbnail, len(agents))
	for rows.Next() {
		var id uuid.UUID
		var bins [score.BinCount]score.BinSum
		fields := []any{&id}
		for i := range bins {
			fields = append(fields, &bins[i].Count, &bins[i].P, &bins[i].Y)
		}
		if err := rows.Scan(fields...); err != nil {
			return nil, fmt.Errorf("read calibrations: %w", err)
		}
		out[id] = Thumbnail{Calibration: score.Bins(bins)}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	return out, nil
}
