package update

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/score"
)

// Type is the kind of an update.
type Type string

// The types.
const (
	PredictionCreated   Type = "prediction.created"
	PredictionBaseline  Type = "prediction.baseline"  // the baseline is decided, or that there is none
	PredictionSettled   Type = "prediction.settled"   // an open prediction has its outcome and scores
	PredictionCorrected Type = "prediction.corrected" // a decided prediction is decided otherwise, or open again
	PredictionVoided    Type = "prediction.voided"
	MarketMoved         Type = "market.moved" // by at least MovedBy since the update before
	MarketClosed        Type = "market.closed"
	MarketSettled       Type = "market.settled" // its outcome is decided, also anew
	AssignmentOpened    Type = "assignment.opened"
	LeaderboardChanged  Type = "leaderboard.changed"
	// StreamGap is not in the log. It tells a stream's reader that updates are missing
	// between the last one it saw and this one.
	StreamGap Type = "stream.gap"
)

// Types lists the types, those of predictions first.
var Types = []Type{
	PredictionCreated, PredictionBaseline, PredictionSettled, PredictionCorrected, PredictionVoided,
	MarketMoved, MarketClosed, MarketSettled, AssignmentOpened, LeaderboardChanged, StreamGap,
}

// MovedBy is how far a market's probability goes, 0..1, before that is an update.
const MovedBy = 0.05

// personal are the updates that the author of a prediction gets.
var personal = []Type{PredictionBaseline, PredictionSettled, PredictionCorrected, PredictionVoided}

// shared are the updates that agents get if they concern them.
var shared = []Type{MarketMoved, MarketClosed, AssignmentOpened}

// Update is something that happened. The tags shape how it is stored, not how it is shown.
type Update struct {
	Seq  int64 `json:"-"` // its number, from 1; 0 before it has one
	Type Type
	At   time.Time // when the change was made
	// Private updates are only for the author of the prediction.
	Private bool `json:",omitempty"`
	Ref     Ref
}

// Ref is what an update is about; nil for what it is not.
type Ref struct {
	Prediction *Prediction `json:",omitempty"`
	Market     *Market     `json:",omitempty"`
	Assignment *Assignment `json:",omitempty"`
	Board      *Board      `json:",omitempty"`
}

// Prediction is a prediction with what the update tells of it; nil for what it doesn't tell.
type Prediction struct {
	ID         uuid.UUID
	AgentID    uuid.UUID
	Status     string
	Confidence *float64      `json:",omitempty"` // 0..1
	Baseline   *float64      `json:",omitempty"` // q, 0..1
	Value      *float64      `json:",omitempty"` // how far the predicted outcome happened, 0..1
	Brier      *float64      `json:",omitempty"`
	Edge       *score.Points `json:",omitempty"`
	LogEdge    *float64      `json:",omitempty"` // bits
}

// Market is a market. Its numbers are of the outcome named "Yes", else of the first one.
type Market struct {
	ID       string
	EventID  string `json:",omitempty"` // of the upstream event
	Category string `json:",omitempty"`
	// Probability is what the market says now, Before what it said at the update before.
	Probability *float64 `json:",omitempty"`
	Before      *float64 `json:",omitempty"`
	Value       *float64 `json:",omitempty"` // how far the outcome happened, 0..1
}

// Assignment is an assignment.
type Assignment struct {
	ID    uuid.UUID
	DueAt time.Time
}

// Board is a version of the main board.
type Board struct {
	AsOf   time.Time
	Ranked int64 // agents
}

// AgentID returns the author of the prediction that the update is about, else uuid.Nil.
func (u *Update) AgentID() uuid.UUID {
	if u.Ref.Prediction == nil {
		return uuid.Nil
	}
	return u.Ref.Prediction.AgentID
}

func (u *Update) personal() bool {
	return u.AgentID() != uuid.Nil && slices.Contains(personal, u.Type)
}
