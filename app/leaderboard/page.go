package leaderboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// MaxLimit is the most rows of a page.
const MaxLimit = 100

// planStep is the step to which page sizes are rounded up for a query, so that Postgres plans for
// few different sizes.
const planStep = 25

// Filter selects a page of a board.
type Filter struct {
	Window   Window // "" means All
	Category string // "" means all categories
	Model    string // only agents that declare this model; "" means any
	Limit    int    // clamped to 1..MaxLimit
	Cursor   string // Page.Next of the page before; "" starts at the top
}

// Entry is a row with the public facts about its agent.
type Entry struct {
	Row
	Handle, Name string
	Sample       bool
	Closed       bool // the account was closed, so it publishes no more
	// Predictions counts all predictions that the agent ever published. LastPredictionAt is zero if
	// there are none.
	Predictions      int64
	LastPredictionAt time.Time `bun:",nullzero"`
	// PublicationDays counts the different UTC days with a prediction on a market.
	PublicationDays int64
	// Disabled is true if the agent was disabled since the board was built. Such rows are read, so
	// that the cursor of the page is right, and then left out.
	Disabled bool
}

// Page is a page of a board. Board is nil if the board was never built, because no prediction of
// its category has settled.
type Page struct {
	Board   *Board
	Need    Need
	Entries []Entry
	Next    string // cursor of the next page, "" at the end
}

// Prior returns the prior that the page's board was built with, or the defaults without a board.
func (p *Page) Prior() Prior {
	if p.Board == nil {
		return defaultPrior()
	}
	return Prior{
		Day: p.Board.PriorDay, Kappa: p.Board.Kappa, Sigma2: p.Board.Sigma2, Mu: p.Board.Mu, Tau: p.Board.Tau,
	}
}

// Read reads a page from the database. A cursor stays valid while boards are built: rows that
// didn't move are neither repeated nor skipped. Read returns invalid_parameter for a bad cursor.
func (s *Store) Read(ctx context.Context, db bun.IDB, f Filter) (*Page, error) {
	after, err := f.fill()
	if err != nil {
		return nil, err
	}
	board, err := readBoard(ctx, db, f.Window, f.Category)
	if err != nil || board == nil {
		return s.cut(f, nil, []Entry{}), err
	}
	entries, err := readEntries(ctx, db, f, after, f.planned())
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		s.thresholds.renew(&e.Row, e.PublicationDays, e.Closed, e.Disabled)
	}
	return s.cut(f, board, entries), nil
}

// fill sets the defaults and decodes the cursor. after is nil without a cursor.
func (f *Filter) fill() (after []byte, err error) {
	if f.Window == "" {
		f.Window = All
	}
	f.Limit = min(max(f.Limit, 1), MaxLimit)
	if f.Cursor == "" {
		return nil, nil
	}
	return decodePosition(*f)
}

// planned is the number of rows to read: the limit rounded up to planStep, and one more that shows
// whether a page follows.
func (f *Filter) planned() int { return (f.Limit+planStep-1)/planStep*planStep + 1 }

// cut returns a page of the first f.Limit entries. It doesn't modify entries.
func (s *Store) cut(f Filter, board *Board, entries []Entry) *Page {
	p := &Page{Board: board, Need: s.thresholds.need(f.Category), Entries: entries}
	if len(entries) > f.Limit {
		p.Entries = entries[:f.Limit:f.Limit]
		p.Next = cursor.Encode(string(f.Window), f.Category, string(p.Entries[f.Limit-1].Position))
	}
	disabled := func(e Entry) bool { return e.Disabled }
	if slices.ContainsFunc(p.Entries, disabled) {
		p.Entries = slices.DeleteFunc(slices.Clone(p.Entries), disabled)
	}
	return p
}

// decodePosition returns the position in f.Cursor. It returns invalid_parameter if the cursor is of
// another board.
func decodePosition(f Filter) ([]byte, error) {
	parts, err := cursor.Decode(f.Cursor, 3)
	if err != nil {
		return nil, err
	}
	if parts[0] != string(f.Window) || parts[1] != f.Category || len(parts[2]) != len(place(0, 0, 0, uuid.UUID{})) {
		return nil, cursor.Invalid()
	}
	return []byte(parts[2]), nil
}

// readEntries reads up to limit rows of a board after a position, in board order. It selects the
// rows before it joins the agents. Otherwise Postgres would plan to join the whole board and
// reserve memory for that.
func readEntries(ctx context.Context, db bun.IDB, f Filter, after []byte, limit int) ([]Entry, error) {
	p := database.NewPlanned(db)
	rows := db.NewSelect().Model((*Row)(nil)).Where("r.span = ?", p.Value(f.Window)).
		Where("r.category = ?", p.Value(f.Category)).Where("r.version = ("+versionShown+")", p.Value(f.Window), p.Value(f.Category)).
		OrderExpr("r.position").Limit(int64(limit))
	if f.Model != "" {
		rows.Where("r.model = ?", p.Value(f.Model))
	}
	if after != nil {
		rows.Where("r.position > ?", p.Value(after))
	}
	entries := []Entry{}
	err := p.Scan(ctx, db.NewSelect().TableExpr("(?) AS r", rows).ColumnExpr("r.*").
		ColumnExpr("a.handle, a.name, a.sample, a.closed_at IS NOT NULL AS closed, NOT (?) AS disabled", agent.Listed("a")).
		ColumnExpr("COALESCE(t.total, 0) AS predictions, t.last_published_at AS last_prediction_at").
		ColumnExpr("COALESCE(t.publication_days, 0) AS publication_days").
		Join("JOIN (?) AS a ON a.id = r.agent_id", agent.Select(db)).
		Join("LEFT JOIN (?) AS t ON t.agent_id = r.agent_id", prediction.SelectTallies(db)).
		OrderExpr("r.position"), &entries)
	if err != nil {
		return nil, fmt.Errorf("read board page: %w", err)
	}
	for i := range entries {
		entries[i].LastPredictionAt = entries[i].LastPredictionAt.UTC()
	}
	return entries, nil
}
