package score

import "math/big"

// Cluster adds up an agent's settled predictions on one event: the Contributions of their edges,
// stakes and spreads. All are integers, so the sums don't depend on the order of settlements,
// corrections and reversals.
type Cluster struct {
	// C is the sum of the weighted edges, within ±200 points.
	C Points
	// A is the sum of the weighted stakes, 0..200 points.
	A Points
	// U is the sum of the weighted spreads, 0..200 points.
	U Points
}

// Bet returns the cluster of one prediction with confidence p, baseline q and result y, all in
// 0..1. i is the prediction's index on its event, from 0; see Weight.
func Bet(p, q, y float64, i int) Cluster {
	return Cluster{
		C: Contribution(Edge(p, q, y), i),
		A: Contribution(Stake(p, q), i),
		U: Contribution(Spread(p, q), i),
	}
}

// Plus returns the sum of two clusters of one agent on one event.
func (c Cluster) Plus(d Cluster) Cluster { return Cluster{c.C + d.C, c.A + d.A, c.U + d.U} }

// Days holds an agent's settled clusters added up in blocks by day. Events that are scheduled to
// close on one day share shocks, so their sum varies more than the sum of independent events. In
// the fields, n is the number of clusters of one day, D is their sum, and Σ is over the days.
type Days struct {
	// T is ΣD² in units of 1e-8 point². It is the only sum here that can exceed 64 bits.
	T Int128
	// W is Σ(n · D).
	W Points
	// Q is Σn².
	Q int64
}

// Add adds a day with n clusters that sum to d.
func (b *Days) Add(n int64, d Points) {
	*b = b.Plus(Days{Square(int64(d)), Points(n) * d, n * n})
}

// Plus returns the sum over two sets of days that share no day.
func (b Days) Plus(c Days) Days { return Days{b.T.Plus(c.T), b.W + c.W, b.Q + c.Q} }

// Sums adds up an agent's settled clusters in one window and category. Skill, range, odds and both
// priors are computed from it. Sums of sets of days can be added. Days must always hold whole days:
// the Days of two categories don't add up to the Days of both together, because the totals of a day
// are squared.
type Sums struct {
	Tally
	// A is the sum of the clusters' stakes.
	A Points
	// V is the sum of the clusters' squared spreads in units of 1e-8 point². It is the variance of
	// S in the model. An int64 holds two million of the largest possible terms.
	V int64
	// Days holds the day blocks.
	Days Days
}

// Add adds a settled cluster. It doesn't change Days, whose Add takes whole days.
func (s *Sums) Add(c Cluster) {
	s.Tally.Add(c.C)
	s.A += c.A
	s.V += int64(c.U) * int64(c.U)
}

// Plus returns the sum over two sets of clusters that share no day.
func (s Sums) Plus(t Sums) Sums {
	return Sums{s.Tally.Plus(t.Tally), s.A + t.A, s.V + t.V, s.Days.Plus(t.Days)}
}

// disagrees reports whether the agent has a stake: a settled prediction that differs from its
// baseline.
func (s Sums) disagrees() bool { return s.N > 0 && s.A > 0 }

// stake returns Ā, the mean stake per event in points. It is at least 1e-4.
func (s Sums) stake() float64 { return max(s.A.Float()/float64(s.N), 1/float64(pointScale)) }

const (
	// modelClusters is the weight of the model's variance beside the agent's own, in clusters.
	modelClusters = 100
	// varianceFloor keeps the width of the range above 0 if all clusters are equal.
	varianceFloor = 1e-6
)

// Variance returns v₀, the variance of one cluster, in points²:
//
//	v₀ = (100 · V/n + D)/(99 + n) with D = SS − S²/n
//
// It pools the variance of the model with that of the agent's own clusters. The model's has the
// weight of 100 clusters. v₀ is at least 1e-6, and 1e-6 without clusters.
func (s Sums) Variance() float64 { return s.variance(1) }

// variance returns v₀ once n, V and D have grown in proportion.
func (s Sums) variance(growth float64) float64 {
	if s.N <= 0 {
		return varianceFloor
	}
	n := float64(s.N)
	model := float64(s.V) / (pointScale * pointScale)
	return max((modelClusters*model/n+s.Deviance()*growth)/(modelClusters-1+n*growth), varianceFloor)
}

// rangeVariance returns v₀ · max(1, (T − 2gW + g²Q)/D) with g = S/n. The factor says how much more
// the days vary around the agent's mean than independent events.
func (s Sums) rangeVariance() float64 {
	// Multiply both terms by n²: they become n²T − 2nSW + S²Q and n(n·SS − S²).
	n, sum := big.NewInt(s.N), big.NewInt(int64(s.S))
	within := new(big.Int).Mul(n, big.NewInt(s.SS))
	within.Sub(within, square(sum)).Mul(within, n)
	blocks := new(big.Int).Mul(square(n), s.Days.T.Big())
	cross := new(big.Int).Mul(n, sum)
	cross.Mul(cross, big.NewInt(int64(s.Days.W))).Lsh(cross, 1)
	blocks.Sub(blocks, cross).Add(blocks, new(big.Int).Mul(square(sum), big.NewInt(s.Days.Q)))
	return s.Variance() * inflation(blocks, within)
}

// oddsVariance returns v₀ · max(1, T/SS) once all sums have grown in proportion. Unlike
// rangeVariance, it doesn't subtract the agent's mean. This is stricter on purpose: a common drift
// of all days counts as luck.
func (s Sums) oddsVariance(growth float64) float64 {
	return s.variance(growth) * inflation(s.Days.T.Big(), big.NewInt(s.SS))
}

func square(i *big.Int) *big.Int { return new(big.Int).Mul(i, i) }

// inflation returns blocks/within, at least 1. It returns 1 if within isn't above zero.
func inflation(blocks, within *big.Int) float64 {
	if within.Sign() <= 0 || blocks.Cmp(within) <= 0 {
		return 1
	}
	above, _ := blocks.Float64()
	below, _ := within.Float64()
	return above / below
}
