package assignment

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
)

// Bounds of the texts that admins write, in characters.
const (
	MaxTitle        = 300
	MaxInstructions = 5000
	MaxCategory     = 64
)

// Draft is an assignment as an admin writes it.
type Draft struct {
	// MarketID links the assignment to an open market, and Outcome is the outcome to forecast; "" is the one
	// named Yes. Both may be empty.
	MarketID, Outcome string
	Title             string // "" is the market's question
	Instructions      string // "" for the default text, which explains how to answer
	Category          string // "" is the market's
	OpensAt           time.Time
	DueAt             time.Time
	Sample            bool // of the sample world; Update ignores it
}

// Create stores an assignment. It refuses a wrong draft as 422 invalid_request, with every wrong field.
func (s Store) Create(ctx context.Context, tx bun.Tx, d Draft, now time.Time) (*Assignment, error) {
	now = database.Stored(now)
	a := &Assignment{ID: database.NewID(now), Status: Open, Sample: d.Sample, CreatedAt: now}
	if d.OpensAt.IsZero() {
		d.OpensAt = now
	}
	if err := s.fill(ctx, tx, a, d, now); err != nil {
		return nil, err
	}
	if _, err := tx.NewInsert().Model(a).Exec(ctx); err != nil {
		return nil, fmt.Errorf("create assignment: %w", err)
	}
	return a, generation.Move(ctx, tx, generation.Assignments)
}

// Update replaces the contents of an open assignment. It refuses with 404 not_found, 409 assignment_closed, or
// as Create does.
func (s Store) Update(ctx context.Context, tx bun.Tx, id uuid.UUID, d Draft, now time.Time) (*Assignment, error) {
	a, err := s.openOne(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if d.OpensAt.IsZero() {
		d.OpensAt = a.OpensAt
	}
	if err := s.fill(ctx, tx, a, d, database.Stored(now)); err != nil {
		return nil, err
	}
	res, err := tx.NewUpdate().Model(a).ExcludeColumn("announced").WherePK().Where("status = ?", Open).Exec(ctx)
	if err := one(res, err, "update assignment"); err != nil {
		return nil, err
	}
	return a, generation.Move(ctx, tx, generation.Assignments)
}

// Close ends an open assignment at once. It refuses with 404 not_found or 409 assignment_closed.
func (s Store) Close(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
	if _, err := s.openOne(ctx, tx, id); err != nil {
		return err
	}
	res, err := tx.NewUpdate().Model((*Assignment)(nil)).Set("status = ?", Closed).
		Where("s.id = ?", id).Where("s.status = ?", Open).Exec(ctx)
	if err := one(res, err, "close assignment"); err != nil {
		return err
	}
	return generation.Move(ctx, tx, generation.Assignments)
}

func (s Store) openOne(ctx context.Context, db bun.IDB, id uuid.UUID) (*Assignment, error) {
	a, err := s.ByID(ctx, db, id)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, problem.NotFound("There is no assignment with this id. See the list of assignments for valid ids.")
	case a.Status != Open:
		return nil, errClosed()
	}
	return a, nil
}

// Lock returns an assignment by id and locks it until the transaction ends. It returns 404 not_found if there
// is none.
func (s Store) Lock(ctx context.Context, tx bun.Tx, id uuid.UUID) (*Assignment, error) {
	var rows []Assignment
	if err := database.ForUpdate(tx.NewSelect().Model(&rows).Where("s.id = ?", id)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("lock assignment: %w", err)
	}
	if len(rows) == 0 {
		return nil, problem.NotFound("There is no assignment with this id. See the list of assignments for valid ids.")
	}
	rows[0].utc()
	return &rows[0], nil
}

func errClosed() error {
	return problem.New(problem.CodeAssignmentClosed, "This assignment is closed and can't be changed. Create a new one.")
}

// one checks that a statement changed an open assignment. Another admin may have closed it since it was read.
func one(res interface{ RowsAffected() (int64, error) }, err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return errClosed()
	}
	return err
}

// fill checks a draft and copies it to the assignment.
func (s Store) fill(ctx context.Context, db bun.IDB, a *Assignment, d Draft, now time.Time) error {
	var wrong []problem.Field
	add := func(field, message string) { wrong = append(wrong, problem.Field{Field: field, Message: message}) }
	m, err := s.linked(ctx, db, &d, add)
	if err != nil {
		return err
	}
	a.MarketID, a.Outcome = d.MarketID, d.Outcome
	a.Title, a.Instructions = strings.TrimSpace(d.Title), strings.TrimSpace(d.Instructions)
	a.Category = strings.ToLower(strings.TrimSpace(d.Category))
	a.OpensAt, a.DueAt = database.Stored(d.OpensAt), database.Stored(d.DueAt)
	if m != nil {
		a.Title, a.Category = cmp.Or(a.Title, plaintext.Cut(m.Question, MaxTitle)), cmp.Or(a.Category, m.Category)
		a.Instructions = cmp.Or(a.Instructions, instructions(m, d.Outcome))
		a.Sample = m.Sample
	}
	a.Category = cmp.Or(a.Category, score.OtherCategory)
	a.Instructions = cmp.Or(a.Instructions, fmt.Sprintf("Publish a prediction with exactly the title %q. Set confidence to the probability that the answer is yes, from 0 to 1. "+
		"The question has no market, so the prediction counts for calibration but not for the ranking.", a.Title))
	text(add, "title", a.Title, MaxTitle, false)
	text(add, "instructions", a.Instructions, MaxInstructions, true)
	if message := plaintext.CheckLabel(a.Category, 1, MaxCategory); message != "" {
		add("category", message)
	}
	switch {
	case d.DueAt.IsZero():
		add("dueAt", "is required: an RFC 3339 time in the future")
	case !a.DueAt.After(now):
		add("dueAt", "must lie in the future; it is now "+now.Format(time.RFC3339))
	case !a.DueAt.After(a.OpensAt):
		add("dueAt", "must be later than opensAt")
	case m != nil && !m.ClosesAt.IsZero() && a.DueAt.After(m.ClosesAt):
		add("dueAt", "must not be later than the market's scheduled close, "+m.ClosesAt.UTC().Format(time.RFC3339))
	}
	if len(wrong) > 0 {
		return problem.InvalidRequest(wrong...)
	}
	return nil
}

// linked returns the market of a draft and sets its outcome. It returns nil without a market.
func (s Store) linked(ctx context.Context, db bun.IDB, d *Draft, add func(field, message string)) (*market.Market, error) {
	d.MarketID, d.Outcome = strings.TrimSpace(d.MarketID), strings.TrimSpace(d.Outcome)
	if d.MarketID == "" {
		if d.Outcome != "" {
			add("outcome", "needs a marketId. Leave outcome out for a question without a market")
		}
		return nil, nil
	}
	m, found, err := s.markets.ByID(ctx, db, d.MarketID)
	if err != nil {
		return nil, err
	}
	if !found {
		add("marketId", "is not a known market: send an id from GET /api/intelligence/markets")
		return nil, nil
	}
	if m.Closed {
		add("marketId", "is a closed market: send an open one")
	}
	i := m.YesIndex()
	if d.Outcome != "" {
		i = m.OutcomeIndex(d.Outcome)
	}
	if i < 0 {
		add("outcome", "must be one of "+strings.Join(m.Outcomes, ", "))
		return m, nil
	}
	d.Outcome = m.Outcomes[i]
	return m, nil
}

func text(add func(field, message string), field, value string, most int, multiline bool) {
	if message := plaintext.CheckLength(value, 1, most, multiline); message != "" {
		add(field, message)
	}
}
