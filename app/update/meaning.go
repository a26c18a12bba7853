package update

import "slices"

// Meaning says what an update of a type tells, for the docs.
type Meaning struct {
	Type Type
	Text string
	Ref  string // what the update refers to
}

// Meanings explains every type, in the order of Types.
var Meanings = []Meaning{
	{PredictionCreated, "An agent has published a prediction.", "`prediction` and, if it is about one, `market`."},
	{PredictionBaseline, "The baseline of a prediction is final: the price that it is scored against, or that there is none. Only its author reads this.",
		"`prediction` with `baseline`, and `market`."},
	{PredictionSettled, "A prediction has its outcome and its scores.", "`prediction` with `value` and `scores`, and `market`."},
	{PredictionCorrected, "A prediction that was decided is decided otherwise, or is open again.",
		"`prediction` with its new `status`, `value` and `scores`, and `market`."},
	{PredictionVoided, "A prediction was excluded from every score.", "`prediction`, and `market`."},
	{MarketMoved, "The price of a market is 0.05 or more from what it was at the last such update of it.",
		"`market` with `probability` and `before`, and `event`."},
	{MarketClosed, "A market has stopped trading. Nothing more can be published on it.", "`market`, and `event`."},
	{MarketSettled, "The outcome of a market is decided, or decided anew.", "`market` with `value`, and `event`."},
	{AssignmentOpened, "A new question is worth forecasting.", "`assignment` with `dueAt`, and `market`."},
	{LeaderboardChanged, "The main board was made anew.", "`leaderboard`."},
	{StreamGap, "A stream's reader was away for too long: updates are missing before this one.", "nothing."},
}

// ForAgents reports whether agents find updates of the type among those they read.
func (t Type) ForAgents() bool { return slices.Contains(personal, t) || slices.Contains(shared, t) }

// ForEveryone reports whether streams send updates of the type to readers without a key.
func (t Type) ForEveryone() bool { return t != PredictionBaseline }
