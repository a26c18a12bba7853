package score

import (
	"math"
	"math/big"
)

// Cluster is an agent's settled predictions on one event, added up: the Contribution of
// each edge, stake and spread. All are integers, so the order of settlements, corrections
// and reversals leaves no trace.
type Cluster struct {
	// C is the sum of the weighted edges, within ±200 points.
	C Points
	// A is the sum of the weighted stakes, 0..200 points.
	A Points
	// U is the sum of the weighted spreads, 0..200 points.
	U Points
}

// Bet is the cluster of one prediction: p held against q with result y, the i-th on its
// event counted from 0.
func Bet(p, q, y float64, i int) Cluster {
	return Cluster{
		C: Contribution(Edge(p, q, y), i),
		A: Contribution(Stake(p, q), i),
		U: Contribution(Spread(p, q), i),
	}
}

// Plus is the sum of the same agent's predictions on the same event.
func (c Cluster) Plus(d Cluster) Cluster { return Cluster{c.C + d.C, c.A + d.A, c.U + d.U} }

// Days holds the day blocks of an agent's settled clusters. Events that are scheduled to
// close on one day share shocks, so their sum varies more than independent events would.
// With n the number and D the sum of the clusters of a day:
type Days struct {
	// T is ΣD² in 1e-8 point². It is the only sum here that can pass 64 bits.
	T Int128
	// W is Σ(n · D) in 1e-4 point.
	W Points
	// Q is Σn².
	Q int64
}

// Add counts one more day with n clusters that sum to d.
func (b *Days) Add(n int64, d Points) {
	*b = b.Plus(Days{Square(int64(d)), Points(n) * d, n * n})
}

// Remove takes back a day that was added before.
func (b *Days) Remove(n int64, d Points) {
	*b = b.Minus(Days{Square(int64(d)), Points(n) * d, n * n})
}

// Plus is the sum over two disjoint sets of days.
func (b Days) Plus(c Days) Days { return Days{b.T.Plus(c.T), b.W + c.W, b.Q + c.Q} }

// Minus is the difference that leads from c to b.
func (b Days) Minus(c Days) Days { return Days{b.T.Minus(c.T), b.W - c.W, b.Q - c.Q} }

// Sums is all that range, odds and prior need of an agent in one window and category.
// It is additive, as Tally is. Only Days has to be taken from whole days: the day sums
// of two categories don't add up to those of both.
type Sums struct {
	Tally
	// A is the sum of the clusters' stakes.
	A Points
	// V is the sum of the squares of the clusters' spreads in 1e-8 point²: the variance
	// that the model gives S. An int64 holds two million of the largest possible.
	V int64
	// Days holds the day blocks.
	Days Days
}

// Add counts one more settled cluster; Days is counted apart.
func (s *Sums) Add(c Cluster) {
	s.Tally.Add(c.C)
	s.A += c.A
	s.V += int64(c.U) * int64(c.U)
}

// Remove takes back a cluster that was added before.
func (s *Sums) Remove(c Cluster) {
	s.Tally.Remove(c.C)
	s.A -= c.A
	s.V -= int64(c.U) * int64(c.U)
}

// Replace moves a cluster from one value to another.
func (s *Sums) Replace(before, after Cluster) {
	s.Remove(before)
	s.Add(after)
}

// Plus is the sum over two disjoint sets of clusters that share no day.
func (s Sums) Plus(t Sums) Sums {
	return Sums{s.Tally.Plus(t.Tally), s.A + t.A, s.V + t.V, s.Days.Plus(t.Days)}
}

// Minus is the difference that leads from t to s.
func (s Sums) Minus(t Sums) Sums {
	return Sums{s.Tally.Minus(t.Tally), s.A - t.A, s.V - t.V, s.Days.Minus(t.Days)}
}

// disagrees reports whether the agent has put anything at stake against the market.
func (s Sums) disagrees() bool { return s.N > 0 && s.A > 0 }

// stake is Ā, the mean stake per event in points, at least 1e-4.
func (s Sums) stake() float64 { return max(s.A.Float()/float64(s.N), 1/float64(pointScale)) }

const (
	// modelClusters is how many clusters' worth of evidence the model's variance has
	// beside the agent's own.
	modelClusters = 100
	// varianceFloor keeps the range open where all clusters are equal.
	varianceFloor = 1e-6
)

// Variance is v₀ = (100 · V/n + D)/(99 + n), at least 1e-6: the variance of one cluster
// in points², the model's pooled with the agent's own D = SS − S²/n. It is 1e-6 without
// clusters.
func (s Sums) Variance() float64 {
	if s.N <= 0 {
		return varianceFloor
	}
	n := float64(s.N)
	model := float64(s.V) / (pointScale * pointScale)
	return max((modelClusters*model/n+s.Deviance())/(modelClusters-1+n), varianceFloor)
}

// rangeVariance is v₀ times the inflation of the day blocks about the agent's mean,
// max(1, (T − 2gW + g²Q)/D) with g = S/n.
func (s Sums) rangeVariance() float64 {
	// With both terms times n², they are n²T − 2nSW + S²Q and n(n·SS − S²).
	n, sum := big.NewInt(s.N), big.NewInt(int64(s.S))
	within := new(big.Int).Mul(n, big.NewInt(s.SS))
	within.Sub(within, square(sum)).Mul(within, n)
	blocks := new(big.Int).Mul(square(n), s.Days.T.Big())
	cross := new(big.Int).Mul(n, sum)
	cross.Mul(cross, big.NewInt(int64(s.Days.W))).Lsh(cross, 1)
	blocks.Sub(blocks, cross).Add(blocks, new(big.Int).Mul(square(sum), big.NewInt(s.Days.Q)))
	return s.Variance() * inflation(blocks, within)
}

// oddsVariance is v₀ times max(1, T/SS). It isn't centred, which is stricter on purpose:
// a common drift of all days counts as luck.
func (s Sums) oddsVariance() float64 {
	return s.Variance() * inflation(s.Days.T.Big(), big.NewInt(s.SS))
}

func square(i *big.Int) *big.Int { return new(big.Int).Mul(i, i) }

// inflation is blocks/within, at least 1, and 1 where within isn't above zero.
func inflation(blocks, within *big.Int) float64 {
	if within.Sign() <= 0 || blocks.Cmp(within) <= 0 {
		return 1
	}
	ratio, _ := new(big.Rat).SetFrac(blocks, within).Float64()
	return min(ratio, math.MaxFloat32)
}
