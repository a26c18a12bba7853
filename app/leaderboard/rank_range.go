package leaderboard

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
)

// refitBelow is the most ranked agents with which each build makes a new grid. Larger boards keep
// the points of the day's first build and only update the sums.
const refitBelow = 2000

// rankRanges sets the rank ranges of the ranked rows and returns the board's new grid, encoded. old
// is the grid of an earlier build of the same day, which counted the ranked rows of before. If old
// is nil, it makes a new grid.
func rankRanges(ranked []*Row, old []byte, before map[uuid.UUID]*Row) ([]byte, error) {
	grid, err := moveGrid(ranked, old, before)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, 2*len(ranked))
	for i, r := range ranked {
		low, high := 1, len(ranked)
		if p, ok := r.Posterior(); ok {
			low, high = grid.Range(p, i+1)
		}
		n := numbers[2*i : 2*i+2]
		n[0], n[1] = int64(low), int64(high)
		r.RankLow, r.RankHigh = &n[0], &n[1]
	}
	return grid.MarshalBinary()
}

// readGrid reads the encoded grid of a board. It returns nil if the board wasn't built on the day
// of at.
func readGrid(ctx context.Context, db bun.IDB, board *Board, at time.Time) (grid []byte, err error) {
	if board == nil || day(board.AsOf) != day(at) {
		return nil, nil
	}
	err = db.NewSelect().Model((*Board)(nil)).Column("rank_grid").
		Where("span = ?", board.Window).Where("category = ?", board.Category).Scan(ctx, &grid)
	if err != nil {
		return nil, fmt.Errorf("read the grid of the rank ranges: %w", err)
	}
	return grid, nil
}

func moveGrid(ranked []*Row, old []byte, before map[uuid.UUID]*Row) (*score.RankGrid, error) {
	if old == nil || len(ranked) <= refitBelow {
		return newGrid(ranked), nil
	}
	grid := new(score.RankGrid)
	if err := grid.UnmarshalBinary(old); err != nil {
		return nil, fmt.Errorf("read the grid of the rank ranges: %w", err)
	}
	if grid.Agents() <= refitBelow {
		return newGrid(ranked), nil
	}
	stays := make(map[uuid.UUID]bool, len(ranked))
	for _, r := range ranked {
		now, is := r.Posterior()
		was, had := rankedPosterior(before[r.AgentID])
		stays[r.AgentID] = true
		if is == had && now == was {
			continue
		}
		if had {
			grid.Remove(was)
		}
		if is {
			grid.Add(now)
		}
	}
	for id, r := range before {
		if was, had := rankedPosterior(r); had && !stays[id] {
			grid.Remove(was)
		}
	}
	return grid, nil
}

func newGrid(ranked []*Row) *score.RankGrid {
	posteriors := make([]score.Posterior, 0, len(ranked))
	for _, r := range ranked {
		if p, ok := r.Posterior(); ok {
			posteriors = append(posteriors, p)
		}
	}
	return score.NewRankGrid(posteriors)
}

// rankedPosterior returns the posterior that a stored row has in its board's grid, and false if it
// has none.
func rankedPosterior(r *Row) (score.Posterior, bool) {
	if r == nil || r.Rank == nil {
		return score.Posterior{}, false
	}
	return r.Posterior()
}
