// Package verify recomputes what an installation publishes from what it publishes: the
// baseline, weight and scores of every prediction from its own record, and the skill,
// range, odds, rank and rank range of every board from the predictions. It reads the public
// API only, so anyone can run it against any installation.
//
// The rows of Always 50 % and Consensus are left out: their predictions are not in the
// list of predictions.
//
// An event without a scheduled close counts on the day on which it was first settled. The
// API doesn't publish that day, so the day of the first resolvedAt stands in for it. Where
// a market closed on an earlier day than it was decided, or was corrected, rows can differ
// for this reason alone.
package verify
