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

// MaxLimit is the most rows a page has.
const MaxLimit = 100

// planStep is by how much the pages differ that are planned each for itself.
const planStep = 25

// Filter selects a page of a board.
type Filter struct {
	Window   Window // "" is All
	Category string // "" is all categories
	Model    string // only agents that declare this model; "" is any
	Limit    int    // 1..MaxLimit; the caller checks it
	Cursor   string // Next of the page before; "" starts at the top
}

// Entry is a row with what a reader wants to know about its agent.
type Entry struct {
	Row
	Handle, Name string
	Sample       bool
	// Predictions counts all the agent ever published; LastPredictionAt is zero
	// when it never did.
	Predictions      int64
	LastPredictionAt time.Time `bun:",nullzero"`
	// Disabled is whether it was disabled since the board was built. Such rows are read, so
	// that pages end where they should, and not shown.
	Disabled bool
}

// Page is a piece of a board. Board is nil when it was never built: nothing of that
// category has been settled.
type Page struct {
	Board   *Board
	Entries []Entry
	Next    string // cursor of the next page, "" at the end
}

// Prior returns what the page's rows were shrunk with, the defaults without a board.
func (p *Page) Prior() Prior {
	if p.Board == nil {
		return defaultPrior()
	}
	return Prior{
		Day: p.Board.PriorDay, Kappa: p.Board.Kappa, Sigma2: p.Board.Sigma2, Mu: p.Board.Mu, Tau: p.Board.Tau,
	}
}

// Read reads a page as it is now. A cursor stays good while boards are built: rows that
// did not move are neither repeated nor left out. Refusal: invalid_parameter for a bad
// cursor.
func (s *Store) Read(ctx context.Context, db bun.IDB, f Filter) (*Page, error) {
	after, err := f.fill()
	if err != nil {
		return nil, err
	}
	board, err := readBoard(ctx, db, f.Window, f.Category)
	if err != nil || board == nil {
		return cut(f, nil, []Entry{}), err
	}
	entries, err := readEntries(ctx, db, f, after, f.planned())
	if err != nil {
		return nil, err
	}
	return cut(f, board, entries), nil
}

// fill sets the defaults and decodes the cursor; after is nil without one.
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

// planned is how many rows are read for a page and one more.
func (f *Filter) planned() int { return (f.Limit+planStep-1)/planStep*planStep + 1 }

// Page is Read with the first pages of the boards out of memory, at most a second old, and
// so is what a page says of its board.
func (s *Store) Page(ctx context.Context, db bun.IDB, f Filter) (*Page, error) {
	after, err := f.fill()
	if err != nil {
		return nil, err
	}
	first, err := s.top(ctx, db, boardKey{f.Window, f.Category})
	if err != nil {
		return nil, err
	}
	if after == nil && f.Model == "" {
		return cut(f, first.board, first.entries), nil
	}
	entries, err := readEntries(ctx, db, f, after, f.planned())
	if err != nil {
		return nil, err
	}
	return cut(f, first.board, entries), nil
}

// cut makes a page of at most f.Limit out of more entries, which it leaves as they
// are.
func cut(f Filter, board *Board, entries []Entry) *Page {
	p := &Page{Board: board, Entries: entries}
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

// decodePosition reads where a page of the same board ended.
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

// readEntries reads up to limit rows of a board after a position, in board order.
// The rows are chosen before the agents are joined: otherwise Postgres plans for, and
// sets memory aside for, joining the whole board.
func readEntries(ctx context.Context, db bun.IDB, f Filter, after []byte, limit int) ([]Entry, error) {
	p := database.NewPlanned(db)
	rows := db.NewSelect().Model((*Row)(nil)).Where("r.span = ?", p.Value(f.Window)).
		Where("r.category = ?", p.Value(f.Category)).
		OrderExpr("r.position").Limit(int64(limit))
	if f.Model != "" {
		rows.Where("r.model = ?", p.Value(f.Model))
	}
	if after != nil {
		rows.Where("r.position > ?", p.Value(after))
	}
	entries := []Entry{}
	err := p.Scan(ctx, db.NewSelect().TableExpr("(?) AS r", rows).ColumnExpr("r.*").
		ColumnExpr("a.handle, a.name, a.sample, NOT (?) AS disabled", agent.Listed("a")).
		ColumnExpr("COALESCE(t.total, 0) AS predictions, t.last_published_at AS last_prediction_at").
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
