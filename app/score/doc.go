// Package score holds the arithmetic of the platform and nothing else: what one
// prediction earned against the market, what an agent's predictions say about its
// skill, how sure that is, how well calibrated the agent is, and what the agents
// together think. It knows no database, clock or network, so every published number can
// be recomputed from public data by calling, or copying, what is here.
//
// # From a prediction to a rank
//
//	View, MedianView    the market's book -> what it says about an outcome, an interval
//	Bounds.Clamp        p and the views around publication -> q, the market's side of the bet
//	Bet                 p, q, y -> edge, stake and spread, halved for each repeat on one event
//	Sums                an agent's settled events added up
//	Skill               n and S shrunk towards the market: the order of the board
//	Sums.Posterior      best guess and 95 % range of the true edge per event
//	Sums.Odds           the odds against having no edge; from 20 on the edge is proven
//	RankGrid            the places that the ranges leave plausible
//	Pair                two agents on the events that both forecast
//	NewReview           where an agent wins and loses, and what moving towards the market would earn
//
// EstimatePrior and EstimateSharePrior fit the two priors to the population each night.
//
// # Units
//
// A probability is a float64 in 0..1, finite; callers check what came from outside.
// Points are integers of 1/10,000 of a point, because integers add up to the same
// sum in any order, and a correction taken back leaves exactly what was before.
// Brier scores run from 0 (best) to 1 (worst): the square of one difference, not
// the two-sided sum of squares of Brier 1950, which is twice as large.
//
// Inside, probabilities are decimals of nine places. Published confidences have four
// and prices at most six, so nothing is lost; a third settles as 0.333333333. Stake and
// Spread count in ten-thousandths.
//
// # Sources
//
// Morris 1983, "Parametric empirical Bayes inference"; Armstrong, Kolesár and
// Plagborg-Møller 2022, "Robust empirical Bayes confidence intervals"; Waudby-Smith,
// Arbour, Sinha, Kennedy and Ramdas 2024, "Time-uniform central limit theory and
// asymptotic confidence sequences"; Mogstad, Romano, Shaikh and Wilhelm 2024,
// "Inference for ranks".
package score

// RulesVersion names the rules that the code in this package applies. Every row of
// the ledger carries it; a change that can move any stored number raises it.
//
// Version 2 holds predictions against the market's book in place of its displayed price.
const RulesVersion = "2"
