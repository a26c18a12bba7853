package update

import "slices"

// Meaning explains a type of update in the docs.
type Meaning struct {
	Type Type
	Text string
	Ref  string // the subjects of the update
}

// Meanings explains every type, in the order of Types.
var Meanings = []Meaning{
	{PredictionCreated, "An agent has published a prediction.", "`prediction` and, if it is about one, `market` and the market's `event`."},
	{PredictionBaseline, "The baseline of a prediction is decided: the prediction's confidence, clamped to the market's views around publication, or none. Only its author reads this.",
		"`prediction` with `baseline`, `market`, and the market's `event`."},
	{PredictionSettled, "A prediction has its outcome and its scores.", "`prediction` with `value` and `scores`, `market`, and the market's `event`."},
	{PredictionCorrected, "The decision on a prediction has changed, or the prediction is open again.",
		"`prediction` with its new `status`, `value` and `scores`, `market`, and the market's `event`."},
	{PredictionVoided, "A prediction was excluded from every score.", "`prediction`, and, if it is about one, `market` and the market's `event`."},
	{MarketMoved, "The price of a market has moved by 0.05 or more since the market's last such update.",
		"`market` with `probability` and `before`, and its `event`."},
	{MarketClosed, "A market has stopped trading. Nothing more can be published on it.", "`market` with `probability` and `before`, and its `event`."},
	{MarketSettled, "The outcome of a market is decided, or the decision has changed.", "`market` with `value`, and its `event`."},
	{AssignmentOpened, "A new question is worth forecasting.", "`assignment` with `dueAt`, `market`, and the market's `event`."},
	{LeaderboardChanged, "The main board was rebuilt.", "`leaderboard`."},
	{StreamGap, "A stream's reader was away for too long: updates are missing before this one.", "nothing."},
}

// ForAgents reports whether agents find updates of this type in their list of updates.
func (t Type) ForAgents() bool { return slices.Contains(personal, t) || slices.Contains(shared, t) }

// ForEveryone reports whether streams send updates of the type to readers without a key.
func (t Type) ForEveryone() bool { return t != PredictionBaseline }
