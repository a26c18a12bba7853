package settlement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Where an outcome comes from.
const (
	sourceMarket = "market"
	sourceAdmin  = "admin"
)

// The states of an Outcome.
const (
	stateSettled = "settled"
	stateVoid    = "void"
	stateOpen    = "open" // reopened: what stood before is taken back
)

// Outcome is what a market's closing decided, as it stands.
type Outcome struct {
	bun.BaseModel `bun:"table:market_outcomes,alias:o"`

	MarketID string `bun:",pk"`
	Revision int64  // 1 for the first; a correction or a reopening adds one
	State    string
	Winner   string `bun:",nullzero"` // of the outcome that happened alone
	// Outcomes are the market's outcomes as decided upon, OutcomeValues how far each
	// happened, empty unless settled.
	Outcomes      []string  `bun:"type:json"`
	OutcomeValues []float64 `bun:"type:json"`
	Source        string
	Note          string    `bun:",nullzero"`
	ClosedAt      time.Time `bun:",nullzero"` // when the market closed, if it says so
	DecidedAt     time.Time
	Applied       bool // every prediction stands where it follows from this
}

// newOutcome is the next outcome of a market after before (nil for none).
func newOutcome(m *market.Market, v market.Verdict, before *Outcome, source, note string, at time.Time) *Outcome {
	o := &Outcome{
		MarketID: m.ID, Revision: 1, Outcomes: m.Outcomes, OutcomeValues: []float64{}, Source: source, Note: note,
		ClosedAt: m.ClosedAt, DecidedAt: database.Now(at), State: stateOpen,
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

// Void reports whether it decides nothing.
func (o *Outcome) Void() bool { return o.State == stateVoid }

// Ruled reports whether an admin decided it. Note is the reason then.
func (o *Outcome) Ruled() bool { return o.Source == sourceAdmin }

// equal reports whether two outcomes say the same happened.
func (o *Outcome) equal(other *Outcome) bool {
	return other != nil && o.State == other.State && o.Winner == other.Winner && slices.Equal(o.OutcomeValues, other.OutcomeValues)
}

// String says the outcome in words.
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

// value is how far the named outcome happened.
func (o *Outcome) value(name string) (float64, bool) {
	for i, n := range o.Outcomes {
		if i < len(o.OutcomeValues) && strings.EqualFold(strings.TrimSpace(n), strings.TrimSpace(name)) {
			return o.OutcomeValues[i], true
		}
	}
	return 0, false
}

// The notes a void prediction carries if no admin wrote another.
const (
	noteVoid = "The market settled at even odds, so it decides nothing."
	noteLate = "Published after the market had closed."
)

// placeOf is where a statement on the named outcome, published at the given time,
// must stand. It reports false when the market no longer has that outcome.
func (o *Outcome) placeOf(name string, published time.Time) (place, bool) {
	if o.State == stateOpen {
		return place{Status: prediction.Open}, true
	}
	p := place{Source: o.Source, Note: o.Note, At: o.ClosedAt}
	if p.At.IsZero() {
		p.At = o.DecidedAt
	}
	if o.State == stateVoid {
		p.Status = prediction.Void
		if p.Note == "" {
			p.Note = noteVoid
		}
		return p, true
	}
	if !o.ClosedAt.IsZero() && published.After(o.ClosedAt) {
		p.Status, p.Note = prediction.Void, noteLate
		return p, true
	}
	y, ok := o.value(name)
	p.Status, p.Value, p.Outcome = prediction.Resolved, y, o.Winner
	return p, ok
}

// apply moves the predictions of a market to where its outcome says, chunk by chunk.
func (s *Service) apply(ctx context.Context, marketID string) error {
	run := applyRun{service: s, market: marketID}
	for more := true; more; {
		err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			more, err = run.chunk(ctx, tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("settle market %s: %w", marketID, err)
		}
		if err := s.afterChunk(); err != nil {
			return err
		}
	}
	return nil
}

// applyRun walks once through a market's predictions, from the start again when its
// outcome changes underway.
type applyRun struct {
	service  *Service
	market   string
	revision int64
	last     uuid.UUID
	left     bool // some could not be moved yet
}

func (r *applyRun) chunk(ctx context.Context, tx bun.Tx) (more bool, err error) {
	o, err := loadOutcome(ctx, tx, r.market)
	if err != nil || o == nil {
		return false, err
	}
	if o.Revision != r.revision {
		r.revision, r.last, r.left = o.Revision, uuid.Nil, false
	}
	rows, err := r.load(ctx, tx, o)
	if err != nil {
		return false, err
	}
	more = len(rows) == r.service.chunk
	var references []ReferencePrediction
	if !more {
		if references, err = loadReferences(ctx, tx, r.market); err != nil {
			return false, err
		}
	}
	if err := r.move(ctx, tx, o, rows, references); err != nil {
		return false, err
	}
	if more {
		// A crash can only take back the last chunks; their outcome is not yet marked as
		// applied then, and the next tick moves them again.
		return true, database.CommitLater(ctx, tx)
	}
	return false, r.finish(ctx, tx, o)
}

// load reads the next predictions that may stand elsewhere than o says: of a first
// outcome, only the open ones.
func (r *applyRun) load(ctx context.Context, tx bun.Tx, o *Outcome) ([]item, error) {
	which := prediction.OpenOrNot
	switch {
	case o.Revision == 1:
		which = prediction.OnlyOpen
	case o.State == stateOpen:
		which = prediction.NotOpen
	}
	next := prediction.SelectToSettle(tx, r.market, which, r.last, r.service.chunk)
	return loadItems(ctx, tx, items(tx).
		Join("JOIN (?) AS next ON next.agent_id = p.agent_id AND next.id = p.id", next).Order("p.id"))
}

func (r *applyRun) move(ctx context.Context, tx bun.Tx, o *Outcome, rows []item, references []ReferencePrediction) error {
	bets := make([]bet, 0, len(rows)+len(references))
	for i := range rows {
		bets = append(bets, rows[i].bet())
	}
	for i := range references {
		bets = append(bets, references[i].bet())
	}
	b, err := newBatch(ctx, tx, bets, database.Now(r.service.now()), o.DecidedAt)
	if err != nil {
		return err
	}
	for i := range rows {
		p := &rows[i]
		r.last = p.ID
		if p.Ruled {
			continue
		}
		to, ok := o.placeOf(p.Outcome, p.CreatedAt)
		if !ok {
			r.left = true
			continue
		}
		if err := b.move(p, to); err != nil {
			return err
		}
	}
	for _, ref := range references {
		to, ok := o.placeOf(ref.Outcome, ref.ObservedAt)
		if !ok {
			continue
		}
		if err := b.moveReference(ref, to); err != nil {
			return err
		}
	}
	if err := b.write(ctx, tx); err != nil || len(b.predictions) == 0 {
		return err
	}
	return prediction.ConsensusChanged(ctx, tx, r.market)
}

// finish marks the outcome applied, unless something is left to move.
func (r *applyRun) finish(ctx context.Context, tx bun.Tx, o *Outcome) error {
	waiting, err := prediction.Store{}.HasPending(ctx, tx, r.market)
	if err != nil {
		return err
	}
	if waiting || r.left || o.Applied {
		return nil
	}
	if _, err := tx.NewUpdate().Model(o).Set("applied = TRUE").WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("mark the outcome applied: %w", err)
	}
	return nil
}

// loadItems reads predictions with their last ledger rows.
func loadItems(ctx context.Context, tx bun.Tx, q *bun.SelectQuery) ([]item, error) {
	rows := make([]item, 0, chunkSize)
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read predictions: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, 0, len(rows))
	at := make(map[uuid.UUID]*item, len(rows))
	for i := range rows {
		rows[i].CreatedAt = rows[i].CreatedAt.UTC()
		ids = append(ids, rows[i].ID)
		at[rows[i].ID] = &rows[i]
	}
	var entries []Entry
	if err := tx.NewSelect().Model(&entries).Where("s.prediction_id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for i := range entries {
		e := &entries[i]
		if p := at[e.PredictionID]; p.last == nil || p.last.Seq < e.Seq {
			p.last = e
		}
	}
	return rows, nil
}

func loadReferences(ctx context.Context, tx bun.Tx, marketID string) ([]ReferencePrediction, error) {
	var rows []ReferencePrediction
	if err := tx.NewSelect().Model(&rows).Where("r.market_id = ?", marketID).Order("r.agent_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read reference rows: %w", err)
	}
	return rows, nil
}

// OutcomeOf is what a market's closing decided; nil while nothing stands.
func OutcomeOf(ctx context.Context, db bun.IDB, marketID string) (*Outcome, error) {
	o, err := loadOutcome(ctx, db, marketID)
	if err != nil || !decided(o) {
		return nil, err
	}
	return o, nil
}

func loadOutcome(ctx context.Context, db bun.IDB, marketID string) (*Outcome, error) {
	var rows []Outcome
	if err := db.NewSelect().Model(&rows).Where("o.market_id = ?", marketID).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the outcome of market %s: %w", marketID, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0].utc(), nil
}

func (o *Outcome) utc() *Outcome {
	o.ClosedAt, o.DecidedAt = o.ClosedAt.UTC(), o.DecidedAt.UTC()
	return o
}
