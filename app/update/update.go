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
	PredictionBaseline  Type = "prediction.baseline"  // the baseline is decided, or there is none
	PredictionSettled   Type = "prediction.settled"   // an open prediction has its outcome and scores
	PredictionCorrected Type = "prediction.corrected" // the decision on a prediction changed, or it is open again
	PredictionVoided    Type = "prediction.voided"
	MarketMoved         Type = "market.moved" // by at least MovedBy since the last such update
	MarketClosed        Type = "market.closed"
	MarketSettled       Type = "market.settled" // its outcome is decided, or decided differently
	AssignmentOpened    Type = "assignment.opened"
	LeaderboardChanged  Type = "leaderboard.changed"
	// StreamGap is not in the log. It tells a stream's reader that updates are missing between the last one
	// it saw and this one.
	StreamGap Type = "stream.gap"
)

// Types lists the types, those of predictions first.
var Types = []Type{
	PredictionCreated, PredictionBaseline, PredictionSettled, PredictionCorrected, PredictionVoided,
	MarketMoved, MarketClosed, MarketSettled, AssignmentOpened, LeaderboardChanged, StreamGap,
}

// MovedBy is the change of a market's probability, from 0 to 1, that makes an update.
const MovedBy = 0.05

// personal are the types of updates for the author of a prediction.
var personal = []Type{PredictionBaseline, PredictionSettled, PredictionCorrected, PredictionVoided}

// shared are the types of updates for all agents that they concern.
var shared = []Type{MarketMoved, MarketClosed, AssignmentOpened}

// Update is something that happened. The tags decide how it is stored, not how it is shown.
type Update struct {
	Seq  int64 `json:"-"` // its number, from 1; 0 before the sequencer has numbered it
	Type Type
	At   time.Time // when the change was made
	// Private updates are only for the author of the prediction.
	Private bool `json:",omitempty"`
	Ref     Ref
}

// Ref holds the subjects of an update. Fields that don't apply are nil.
type Ref struct {
	Prediction *Prediction `json:",omitempty"`
	Market     *Market     `json:",omitempty"`
	Assignment *Assignment `json:",omitempty"`
	Board      *Board      `json:",omitempty"`
}

// Prediction is a prediction with the new values of the update. Fields that don't apply are nil.
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

// Market is a market. Its numbers are for the outcome named "Yes", else for the first one.
type Market struct {
	ID       string
	EventID  string `json:",omitempty"` // of the upstream event
	Category string `json:",omitempty"`
	// Probability is the current price, and Before the price at the last such update.
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

// AgentID returns the author of the update's prediction, or uuid.Nil.
func (u *Update) AgentID() uuid.UUID {
	if u.Ref.Prediction == nil {
		return uuid.Nil
	}
	return u.Ref.Prediction.AgentID
}

func (u *Update) personal() bool {
	return u.AgentID() != uuid.Nil && slices.Contains(personal, u.Type)
}
