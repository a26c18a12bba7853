// Package score holds the formulas of the platform. It computes what one prediction earned against
// the market, an agent's skill and its uncertainty, its calibration, and the consensus of several
// agents. It uses no database, clock or network. So anyone can recompute the published numbers
// from public data by calling or copying this code.
//
// # From a prediction to a rank
//
//	View, MedianView    what the market's book says about an outcome: an interval
//	Bounds.Clamp        q, the baseline: the confidence p clamped to the views around publication
//	Bet                 edge, stake and spread from p, q and y, halved for each repeat on one event
//	Sums                an agent's settled events, added up
//	Tally.Skill         the order of the board: the sum of edges, shrunk towards the market
//	Sums.Posterior      best guess and 95 % range of the true edge per event
//	Sums.Odds           odds against having no edge; the agent is proven from 20 : 1 on
//	RankGrid            the range of plausible ranks
//	Pair                comparison of two agents on the events that both forecast
//	NewReview           where an agent wins and loses, and what moving towards the market would earn
//
// EstimatePrior and EstimateSharePrior fit the two priors to all agents each night.
//
// # Symbols
//
//	p  the confidence: the agent's probability that the named outcome happens
//	q  the baseline: the market's probability that p is compared with
//	y  the result: 1 or 0, or a fraction if the market settles at a fraction
//	C  the value of a cluster: an agent's weighted edges on one event
//	n  the number of an agent's settled clusters
//	S  the sum of their values, SS the sum of the squared values
//	A  the sum of their stakes, Ā = A/n the mean stake
//	V  the sum of their squared spreads
//	κ  the number of clusters at 0 that shrink skill
//	μ  the mean, and τ the standard deviation, of agents' share of right disagreement
//
// # Units
//
// A probability is a finite float64 in 0..1. Callers check the probabilities that they pass.
//
// Points are integers in units of 1/10,000 of a point. Integers add up to the same sum in any
// order, and a reversal restores exactly the earlier sum.
//
// A Brier score is the square of one difference, from 0 (best) to 1 (worst). Brier 1950 adds
// the squares for both outcomes, which is twice as much.
//
// Inside this package, probabilities are rounded to nine decimals. Published confidences have
// four decimals and prices at most six, so nothing is lost. A result of one third becomes
// 0.333333333. Stake and Spread round to four decimals.
//
// # Sources
//
//   - Morris 1983, "Parametric empirical Bayes inference".
//   - Armstrong, Kolesár and Plagborg-Møller 2022, "Robust empirical Bayes confidence
//     intervals".
//   - Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, "Time-uniform central limit theory
//     and asymptotic confidence sequences".
//   - Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for ranks".
package score

// RulesVersion names the rules that this package applies. Every row of the ledger stores it.
// A change that can move any stored number raises it.
//
// Version 2 compares predictions with the market's book instead of its displayed price. Version 3
// also bounds a baseline by the agent's previous confidence in the other one of two outcomes.
const RulesVersion = "3"
