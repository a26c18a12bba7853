// Package prediction owns predictions: the record, the rules for a new one, publication and search. A
// prediction is never edited or deleted. Later facts (baseline, resolution, scores, hidden texts) are stored
// beside what the agent wrote.
package prediction

import (
	"cmp"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
)

// Status is the state of a prediction.
type Status string

// The three states. A corrected or reopened market moves one back to open.
const (
	Open     Status = "open"
	Resolved Status = "resolved"
	Void     Status = "void"
)

// BaselineState is the state of a prediction's baseline.
type BaselineState string

const (
	// Unlinked: no market, so never a baseline.
	Unlinked BaselineState = "unlinked"
	// Pending: waiting for the first price after publication.
	Pending BaselineState = "pending"
	// Fixed: the bounds and the weight are set for good.
	Fixed BaselineState = "fixed"
	// Missed: no price came in time; the prediction is not ranked.
	Missed BaselineState = "missed"
	// Illiquid: the market reported too little liquidity; the prediction is not ranked.
	Illiquid BaselineState = "illiquid"
)

// Evidence is one link that supports a prediction. SignalKind ("market" or "news") and SignalID name the known
// signal that the address belongs to. Both are empty if there is none.
type Evidence struct {
	Title      string
	URL        string
	SignalKind string
	SignalID   string
}

// Prediction is one published record. It is read from the view prediction_records, which joins two tables:
// predictions holds what the agent wrote, and results holds what settlement adds. So settlement never rewrites
// an index over texts.
type Prediction struct {
	bun.BaseModel `bun:"table:prediction_records,alias:p"`

	ID      uuid.UUID `bun:",pk,type:uuid"` // UUIDv7 of CreatedAt: sorting by id is sorting by time
	AgentID uuid.UUID `bun:",type:uuid"`

	Title      string
	Thesis     string
	Confidence float64 // probability that the answer to Title is yes, 0..1, four decimals
	HorizonAt  time.Time
	Category   string     // lower-case
	Model      string     // as declared; may be empty
	Evidence   []Evidence `bun:"type:json"`

	// MarketID is empty without a market. Outcome is the name of the outcome that Confidence is about,
	// OutcomeIndex its position.
	MarketID     string `bun:",nullzero"`
	Outcome      string `bun:",nullzero"`
	OutcomeIndex *int
	// EventKey is market.Market.EventKey at publication. ScheduledCloseAt is the market's scheduled close at
	// publication, zero if it had none.
	EventKey         string    `bun:",nullzero"`
	ScheduledCloseAt time.Time `bun:",nullzero"`
	// MarketCategory is the market's category at publication, empty if it had none. The agent's first
	// prediction on an event fixes the category that the event counts in.
	MarketCategory string `bun:",nullzero"`

	// Baseline is q. BaselineBefore, BaselineAfter and BaselinePrevious are values that it was clamped to; see
	// score.Bounds. Before and after are displayed prices.
	BaselineState      BaselineState
	Baseline           *float64
	BaselineBefore     *float64
	BaselineAfter      *float64
	BaselinePrevious   *float64
	BaselineObservedAt time.Time `bun:",nullzero"`
	// The book of the outcome before and after publication, and its time-weighted median over the hour before.
	// Each is nil if it is unknown.
	BeforeBid, BeforeAsk *float64
	AfterBid, AfterAsk   *float64
	MedianBid, MedianAsk *float64
	// Stake is what the prediction risks against the baseline. Spread is the standard deviation of its edge.
	// Both are set with the baseline; see score.Stake and score.Spread.
	Stake, Spread *score.Points
	// WeightIndex is i of the weight ½^i, set with the baseline.
	WeightIndex *int

	Status            Status
	ResolutionValue   *float64  // y: the resolved value of the named outcome, 0..1
	ResolutionOutcome string    `bun:",nullzero"` // the winning outcome's name
	ResolutionSource  string    `bun:",nullzero"` // "market" or "admin"
	ResolutionNote    string    `bun:",nullzero"`
	ResolvedAt        time.Time `bun:",nullzero"` // when the market closed, or an admin decided
	SettledAt         time.Time `bun:",nullzero"` // when Status last changed, or when the void prediction was revealed after that
	Ruled             bool      // an admin ruled on this prediction alone, and not on its market

	Brier   *float64 // 0 best, 1 worst
	Edge    *score.Points
	LogEdge *float64 // bits
	// The scores count on Day, a UTC day such as "2026-11-21", and in ScoreCategory.
	Day           string `bun:",nullzero"`
	ScoreCategory string `bun:",nullzero"`
	RulesVersion  string `bun:",nullzero"`

	// Reveal is when others see the prediction, and Unrevealed says that they don't yet. Others see Hash
	// instead, and can check it later with Salt; see seal. Both are nil with RevealNow. RevealedAt is zero
	// while Unrevealed and with RevealNow.
	Reveal     Reveal
	Salt, Hash []byte
	Unrevealed bool
	RevealedAt time.Time `bun:",nullzero"`

	Hidden bool // by an admin; Redact also sets it if all texts of the agent are hidden
	// Newcomer says that the agent had no settled prediction at publication. The agent's first settlement
	// clears it; see establish.
	Newcomer  bool
	Sample    bool
	CreatedAt time.Time
}

// MarketThen returns the price that the market displayed at publication: the last price before it, else the
// first one after it. It returns nil without a baseline.
func (p *Prediction) MarketThen() *float64 { return cmp.Or(p.BaselineBefore, p.BaselineAfter) }

// Bounds returns the values that the stored baseline was clamped to. Bounds().Clamp(Confidence) gives Baseline
// again. The bounds are empty without a baseline.
func (p *Prediction) Bounds() score.Bounds {
	return score.Bounds{
		Before: storedView(p.BaselineBefore, p.BeforeBid, p.BeforeAsk), After: storedView(p.BaselineAfter, p.AfterBid, p.AfterAsk),
		Hour: storedView(nil, p.MedianBid, p.MedianAsk), Previous: p.BaselinePrevious,
	}
}

func storedView(price, bid, ask *float64) *score.View {
	switch {
	case bid != nil && ask != nil:
		return &score.View{Bid: *bid, Ask: *ask}
	case price != nil:
		v := score.PriceView(*price)
		return &v
	}
	return nil
}

// Tally counts an agent's predictions by status. It is updated with each change, so reading it costs one row.
type Tally struct {
	bun.BaseModel `bun:"table:agent_tallies,alias:t"`

	AgentID  uuid.UUID `bun:",pk,type:uuid"`
	Total    int64
	Open     int64
	Resolved int64
	Void     int64
	// PublicationDays is the number of UTC days with a prediction linked to a market. LastRankedDay
	// ("2026-11-21") is the latest of these days.
	PublicationDays int64
	LastRankedDay   string    `bun:",nullzero"`
	LastPublishedAt time.Time `bun:",nullzero"`
}
