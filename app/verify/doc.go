// Package verify recomputes what an installation publishes from what it publishes: the
// baseline, weight and scores of every prediction from its own record, and the skill,
// range, odds, rank and rank range of every board from the predictions. It reads the public
// API only, so anyone can run it against any installation.
//
// The rows of Always 50 % and Consensus are left out: their predictions are not in the
// list of predictions.
package verify
