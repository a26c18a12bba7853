// Package verify recomputes the published results of an installation from its published data. It
// recomputes the baseline, weight and scores of every prediction from the prediction's record, and the
// skill, range, odds, rank and rank range of every board from the predictions. It reads only the public
// API, so anyone can run it against any installation.
//
// It leaves out the rows of Always 50 % and Consensus, because their predictions are not in the list of
// predictions.
//
// An event without a scheduled close counts on the day of its first settlement. The API doesn't publish
// that day, so the day of the first resolvedAt is used. If a market closed on an earlier day than it
// was decided, or if it was corrected, rows can differ for this reason alone.
package verify
