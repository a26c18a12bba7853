// Package verify recomputes the published results of an installation from its published data. It
// recomputes the baseline, weight and scores of every prediction from the prediction's record, and the
// skill, range, odds, rank and rank range of every board from the predictions. It reads only the public
// API, so anyone can run it against any installation.
//
// It leaves out the rows of Always 50 % and Consensus, because their predictions are not in the list of
// predictions. The day on which an event without a scheduled close counts is taken from
// the published scores, because only the service knows when it first settled such an event.
//
// It compares an earlier confidence by the names that a market's outcomes have now. If a source renames an outcome and
// renames it back, it may report a difference of a baseline's previous confidence that is none.
package verify
