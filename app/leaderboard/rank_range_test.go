package leaderboard

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/uuid"
)

// TestLargeBoardsMoveTheirGrid checks that a board above refitBelow keeps the points of its grid
// and updates the sums for the agents that changed. An update and its reverse give the same bytes,
// and an updated grid gives nearly the same ranges as a new one.
func TestLargeBoardsMoveTheirGrid(t *testing.T) {
	t.Parallel()
	first := rankedRows(refitBelow+100, 0)
	grid, err := rankRanges(first, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// One agent leaves, one arrives, and a tenth have other posteriors.
	second := rankedRows(refitBelow+101, 0.3)[1:]
	moved, err := rankRanges(second, grid, byAgent(first))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(moved, grid) {
		t.Error("the grid didn't move")
	}
	fresh := rankedRows(refitBelow+101, 0.3)[1:]
	if _, err := rankRanges(fresh, nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, r := range second {
		if off := *r.RankLow - *fresh[i].RankLow; off < -5 || off > 5 {
			t.Errorf("rank %d: low end %d on the moved grid, %d on a new one", i+1, *r.RankLow, *fresh[i].RankLow)
		}
		if off := *r.RankHigh - *fresh[i].RankHigh; off < -5 || off > 5 {
			t.Errorf("rank %d: high end %d on the moved grid, %d on a new one", i+1, *r.RankHigh, *fresh[i].RankHigh)
		}
	}
	back, err := rankRanges(rankedRows(refitBelow+100, 0), moved, byAgent(second))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back, grid) {
		t.Error("an update of the grid and its reverse changed it")
	}
	if _, err := rankRanges(first, []byte("torn"), nil); err == nil {
		t.Error("a truncated grid was read without an error")
	}
}

// rankedRows returns the rows of n ranked agents, the best first. The range of every tenth is moved
// by shift.
func rankedRows(n int, shift float64) []*Row {
	rows := make([]*Row, n)
	for i := range rows {
		guess := 5 - 10*float64(i)/float64(n)
		if i%10 == 5 {
			guess += shift
		}
		low, high, rank := guess-1, guess+1.5, int64(i+1)
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], uint64(i))
		rows[i] = &Row{AgentID: id, Rank: &rank, BestGuess: &guess, SkillLow: &low, SkillHigh: &high}
	}
	return rows
}

func byAgent(rows []*Row) map[uuid.UUID]*Row {
	all := make(map[uuid.UUID]*Row, len(rows))
	for _, r := range rows {
		all[r.AgentID] = r
	}
	return all
}
