// Package verify recomputes the published results of an installation from its published data. It
// recomputes the baseline, weight and scores of every prediction from the prediction's record, and the
// skill, range, odds, rank and rank range of every board from the predictions. It also checks which agents are on
// a board and which of them are provisional, and that no row with a reason and no reference row has a rank. It reads
// only the public API, so anyone can run it against any installation.
//
// It can't tell whether a result is true, but all predictions on a market must agree on it: an outcome has one y, two
// outcomes add up to 1, and no revealed prediction is left open when the others settle. It uses κ, μ and τ as
// published, if they are within their bounds and the same for all boards of a day.
//
// It leaves out the rows of Always 50 % and Consensus, because their predictions are not in the list of
// predictions. It can't check which agents are over the limit per owner, because owners are private. It accepts that an
// agent is missing on the boards if its profile says that it is disabled or closed, because a closed account may have
// been disabled before. The day on which an event without a scheduled close counts is taken from
// the published scores, because only the service knows when it first settled such an event.
//
// It compares an earlier confidence by the names that a market's outcomes have now. If a source renames an outcome and
// renames it back, it may report a previous confidence or a result that is right.
package verify
