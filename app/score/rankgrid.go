package score

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

const (
	// RankGridPoints is the number of points at which a RankGrid holds F.
	RankGridPoints = 400
	// rankCutoff is the number of deviations from its centre beyond which Φ is taken as 0 or 1.
	rankCutoff = 6
	// rankGridFormat is the first byte of an encoded grid.
	rankGridFormat = 1
)

// RankGrid computes the rank ranges of one board. It holds, at 400 points x in points of edge,
//
//	F(x) = ΣΦ((Gⱼ − x)/σⱼ)
//
// over the ranked agents j, with Gⱼ the best guess and σⱼ the standard deviation of their
// posteriors. F(x) is the expected number of agents with a true edge above x. Mogstad, Romano,
// Shaikh and Wilhelm 2024 treat the uncertainty of ranks.
//
// Each Φ is rounded to 1e-9 and added as an integer, and the points of a grid never change. So F
// doesn't depend on the node or on the order of the agents. Any sequence of Add and Remove that
// leads to the same agents gives the same F.
type RankGrid struct {
	points [RankGridPoints]float64
	sums   [RankGridPoints]int64 // in billionths
	agents int64
}

// NewRankGrid returns the grid of a board's ranked agents. Its points are quantiles of the ends of
// their ranges. Without agents, the grid is empty.
func NewRankGrid(ranked []Posterior) *RankGrid {
	g := &RankGrid{agents: int64(len(ranked))}
	if len(ranked) == 0 {
		return g
	}
	ends := make([]float64, 0, 2*len(ranked))
	for _, p := range ranked {
		ends = append(ends, p.Low, p.High)
	}
	slices.Sort(ends)
	for i := range g.points {
		g.points[i] = quantile(ends, float64(i)/(RankGridPoints-1))
	}
	// above[i] counts the agents that are certainly above every point before i but not above point
	// i.
	var above [RankGridPoints + 1]int64
	for _, p := range ranked {
		from, to := g.uncertain(p)
		above[from]++
		for i := from; i < to; i++ {
			g.sums[i] += chanceAbove(p, g.points[i])
		}
	}
	certain := g.agents
	for i := range g.sums {
		certain -= above[i]
		g.sums[i] += certain * nanoScale
	}
	return g
}

// Agents returns the number of agents in the grid.
func (g *RankGrid) Agents() int { return int(g.agents) }

// Add adds a ranked agent.
func (g *RankGrid) Add(p Posterior) { g.move(p, 1) }

// Remove removes an agent that was added before with the same posterior.
func (g *RankGrid) Remove(p Posterior) { g.move(p, -1) }

func (g *RankGrid) move(p Posterior, sign int64) {
	g.agents += sign
	from, to := g.uncertain(p)
	for i := range from {
		g.sums[i] += sign * nanoScale
	}
	for i := from; i < to; i++ {
		g.sums[i] += sign * chanceAbove(p, g.points[i])
	}
}

// uncertain returns the points from..to−1, which lie within rankCutoff deviations of an agent's
// best guess. The agent counts as 1 at all lower points and as 0 at all higher ones.
func (g *RankGrid) uncertain(p Posterior) (from, to int) {
	from, _ = slices.BinarySearch(g.points[:], p.BestGuess-rankCutoff*p.Deviation)
	to, _ = slices.BinarySearch(g.points[:], p.BestGuess+rankCutoff*p.Deviation)
	return from, max(from, to)
}

// chanceAbove returns Φ((G − x)/σ) in billionths, cut off at rankCutoff.
func chanceAbove(p Posterior, x float64) int64 {
	z := (p.BestGuess - x) / p.Deviation
	switch {
	case z >= rankCutoff:
		return nanoScale
	case z <= -rankCutoff:
		return 0
	}
	return nano(normal(z))
}

// at returns F(x) in billionths. It interpolates linearly between the points. Beyond them, F is
// constant.
func (g *RankGrid) at(x float64) int64 {
	i, _ := slices.BinarySearch(g.points[:], x)
	if i == 0 {
		return g.sums[0]
	}
	if i == RankGridPoints {
		return g.sums[RankGridPoints-1]
	}
	left, right := g.points[i-1], g.points[i]
	part := (x - left) / (right - left)
	return g.sums[i-1] + int64(math.Round(float64(part*float64(g.sums[i]-g.sums[i-1]))))
}

// Range returns the plausible ranks of an agent, the best and the worst. They are one more than the
// expected number of other agents above the high end and above the low end of its 95 % range:
//
//	low  = ⌊1 + F(high end) − Φ((G − high end)/σ)⌋
//	high = ⌈1 + F(low end) − Φ((G − low end)/σ)⌉
//
// Both are clamped to 1..N, with N the number of agents in the grid. Then the range is widened to
// include rank, the agent's rank on the board, from 1. The agent must be in the grid with posterior
// p.
func (g *RankGrid) Range(p Posterior, rank int) (low, high int) {
	better := max(g.at(p.High)-chanceAbove(p, p.High), 0)
	worse := max(g.at(p.Low)-chanceAbove(p, p.Low), 0)
	low = 1 + int(better/nanoScale)
	high = 1 + int((worse+nanoScale-1)/nanoScale)
	most := max(g.Agents(), 1)
	return min(max(low, 1), most, rank), max(min(high, most), rank)
}

// rankGridSize is the length of an encoded grid: a format byte, the number of agents, and each
// point with its sum.
const rankGridSize = 1 + 8 + RankGridPoints*16

// MarshalBinary encodes the grid in 6,409 bytes, little endian. The error is always nil.
func (g *RankGrid) MarshalBinary() ([]byte, error) {
	data := append(make([]byte, 0, rankGridSize), rankGridFormat)
	data = binary.LittleEndian.AppendUint64(data, uint64(g.agents))
	for i := range g.points {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(g.points[i]))
		data = binary.LittleEndian.AppendUint64(data, uint64(g.sums[i]))
	}
	return data, nil
}

// UnmarshalBinary decodes what MarshalBinary returned. It returns an error for another length or
// format, for points that aren't finite or not in order, and for a negative number of agents.
func (g *RankGrid) UnmarshalBinary(data []byte) error {
	if len(data) != rankGridSize || data[0] != rankGridFormat {
		return errors.New("not an encoded rank grid")
	}
	read := RankGrid{agents: int64(binary.LittleEndian.Uint64(data[1:]))}
	for i := range read.points {
		at := data[9+16*i:]
		read.points[i] = math.Float64frombits(binary.LittleEndian.Uint64(at))
		read.sums[i] = int64(binary.LittleEndian.Uint64(at[8:]))
		bad := math.IsNaN(read.points[i]) || math.IsInf(read.points[i], 0)
		if bad || i > 0 && read.points[i] < read.points[i-1] {
			return errors.New("encoded rank grid has points out of order")
		}
	}
	if read.agents < 0 {
		return errors.New("encoded rank grid has a negative number of agents")
	}
	*g = read
	return nil
}
