package settlement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// The values of Outcome.Source.
const (
	sourceMarket = "market"
	sourceAdmin  = "admin"
)

// The states of an Outcome.
const (
	stateSettled = "settled"
	stateVoid    = "void"
	stateOpen    = "open" // reopened: earlier scores are taken back
)

// Outcome is the current decision about a market.
type Outcome struct {
	bun.BaseModel `bun:"table:market_outcomes,alias:o"`

	MarketID string `bun:",pk"`
	Revision int64  // from 1; each correction or reopening adds one
	State    string
	Winner   string `bun:",nullzero"` // the only outcome that happened, if one did
	// Outcomes are the market's outcomes when it was decided. OutcomeValues say how far each
	// happened, 0..1, and are empty unless settled.
	Outcomes      []string  `bun:"type:json"`
	OutcomeValues []float64 `bun:"type:json"`
	Source        string
	Note          string    `bun:",nullzero"`
	ClosedAt      time.Time `bun:",nullzero"` // when the market closed, zero if unknown
	DecidedAt     time.Time
	Applied       bool // all predictions of the market match this decision
	ByName        bool // outcomes may have changed places: see places.go
}

// newOutcome returns the outcome of m that follows before, which is nil for the first.
func newOutcome(m *market.Market, v market.Verdict, before *Outcome, source, note string, at time.Time) *Outcome {
	o := &Outcome{
		MarketID: m.ID, Revision: 1, Outcomes: m.Outcomes, OutcomeValues: []float64{}, Source: source, Note: note,
		ClosedAt: m.ClosedAt, DecidedAt: database.Stored(at), State: stateOpen,
	}
	if before != nil {
		o.Revision = before.Revision + 1
	}
	switch v.Stage {
	case market.Settled:
		o.State, o.OutcomeValues = stateSettled, v.Values
		if v.Winner >= 0 {
			o.Winner = m.Outcomes[v.Winner]
		}
	case market.Voided:
		o.State = stateVoid
	}
	return o
}

// Void reports whether the outcome voids the market's predictions.
func (o *Outcome) Void() bool { return o.State == stateVoid }

// Ruled reports whether there is an outcome that an admin decided. Note is then the reason.
func (o *Outcome) Ruled() bool { return o != nil && o.Source == sourceAdmin }

// String returns the outcome in words, such as "open", "void" or "Yes".
func (o *Outcome) String() string {
	switch {
	case o == nil || o.State == stateOpen:
		return "open"
	case o.State == stateVoid:
		return "void"
	case o.Winner != "":
		return o.Winner
	}
	parts := make([]string, 0, len(o.Outcomes))
	for i, name := range o.Outcomes {
		parts = append(parts, fmt.Sprintf("%s %g", name, o.OutcomeValues[i]))
	}
	return strings.Join(parts, ", ")
}

// The notes of void predictions without a note from an admin.
const (
	noteVoid = "The market settled at even odds, so it decides nothing."
	noteLate = "Published after the market had closed."
	// noteDecided is for a market that an admin decided although no source says when it closed.
	noteDecided = "Published after an admin had decided the market."
)

// resolutionOf returns the resolution of a prediction on the named outcome, published at the given time. If it can't be
// told which outcome of the market that is, the prediction is open: it waits for an admin.
func (o *Outcome) resolutionOf(n prediction.NamedOutcome, published time.Time) resolution {
	if o.State == stateOpen {
		return resolution{Status: prediction.Open}
	}
	p := resolution{Source: o.Source, Note: o.Note, At: o.ClosedAt}
	if p.At.IsZero() {
		p.At = o.DecidedAt
	}
	if o.State == stateVoid {
		p.Status = prediction.Void
		if p.Note == "" {
			p.Note = noteVoid
		}
		return p
	}
	if !o.ClosedAt.IsZero() && published.After(o.ClosedAt) {
		p.Status, p.Note = prediction.Void, noteLate
		return p
	}
	if o.ClosedAt.IsZero() && o.Ruled() && published.After(o.DecidedAt) {
		p.Status, p.Note = prediction.Void, noteDecided
		return p
	}
	y, ok := o.value(n)
	if !ok {
		return resolution{Status: prediction.Open}
	}
	p.Status, p.Value, p.Outcome = prediction.Resolved, y, o.Winner
	return p
}

// OutcomeOf returns a market's outcome, or nil if none is decided.
func OutcomeOf(ctx context.Context, db bun.IDB, marketID string) (*Outcome, error) {
	o, err := loadOutcome(ctx, db, marketID)
	if err != nil || !decided(o) {
		return nil, err
	}
	return o, nil
}

// OutcomesOf returns the outcomes of the given markets by market id. It leaves out markets without
// a decision.
func OutcomesOf(ctx context.Context, db bun.IDB, marketIDs []string) (map[string]*Outcome, error) {
	found := make(map[string]*Outcome, len(marketIDs))
	if len(marketIDs) == 0 {
		return found, nil
	}
	var rows []Outcome
	if err := db.NewSelect().Model(&rows).Where("o.market_id IN (?)", bun.List(marketIDs)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the outcomes of markets: %w", err)
	}
	for i := range rows {
		if o := rows[i].utc(); decided(o) {
			found[o.MarketID] = o
		}
	}
	return found, nil
}

// DecidedWhileOpen returns those of the given markets that are decided although no source has closed them. An admin
// may decide an open market only once it has vanished, so for markets seen within a day it asks nothing.
func (s *Service) DecidedWhileOpen(ctx context.Context, db bun.IDB, list []market.Market) (map[string]bool, error) {
	var vanished []string
	for i := range list {
		if !list[i].Closed && s.vanished(&list[i]) {
			vanished = append(vanished, list[i].ID)
		}
	}
	outcomes, err := OutcomesOf(ctx, db, vanished)
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool, len(outcomes))
	for id := range outcomes {
		found[id] = true
	}
	return found, nil
}

func loadOutcome(ctx context.Context, db bun.IDB, marketID string) (*Outcome, error) {
	return readOutcome(ctx, selectOutcome(db, marketID))
}

func selectOutcome(db bun.IDB, marketID string) *bun.SelectQuery {
	return db.NewSelect().Model((*Outcome)(nil)).Where("o.market_id = ?", marketID)
}

// readOutcome returns nil if there is none.
func readOutcome(ctx context.Context, q *bun.SelectQuery) (*Outcome, error) {
	var o Outcome
	err := q.Scan(ctx, &o)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the outcome of a market: %w", err)
	}
	return o.utc(), nil
}

func (o *Outcome) utc() *Outcome {
	o.ClosedAt, o.DecidedAt = o.ClosedAt.UTC(), o.DecidedAt.UTC()
	return o
}
