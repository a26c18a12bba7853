package prediction

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/market"
)

// Sort is an order of the list; every one ends with the id.
type Sort string

// The three orders, each falling. ByResolvedAt and ByEdge list only predictions
// that have the value.
const (
	ByCreatedAt  Sort = "createdAt"
	ByResolvedAt Sort = "resolvedAt"
	ByEdge       Sort = "edge"
)

// Filter narrows the list; zero fields do not.
type Filter struct {
	AgentID  uuid.UUID
	Category string
	MarketID string
	EventID  string // of an upstream event: the predictions of its markets
	Status   Status
	Words    string // all of them, in title or thesis
	Sort     Sort
	Limit    int
	Cursor   string
}

// List reads one page and the cursor of the next, empty at the end. A cursor that
// is not one of this list's is refused as invalid_parameter.
func (s Store) List(ctx context.Context, db bun.IDB, f Filter) ([]Record, string, error) {
	if f.Sort == "" {
		f.Sort = ByCreatedAt
	}
	var found []Prediction
	q := db.NewSelect().Model(&found).Limit(int64(f.Limit) + 1)
	q = f.narrow(q, s.viewer)
	if f.EventID != "" {
		q = q.Where("p.market_id IN (?)", market.SelectSiblings(db, f.EventID))
	}
	if err := f.page(q); err != nil {
		return nil, "", err
	}
	if err := q.Scan(ctx); err != nil {
		return nil, "", fmt.Errorf("list predictions: %w", err)
	}
	next := ""
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = f.cursorAfter(&found[f.Limit-1])
	}
	records, err := s.records(ctx, db, found)
	return records, next, err
}

// CursorPast returns the cursor of the page that begins after the next n predictions of an
// agent, newest first; empty if there are no more than n. f names the agent and where to begin.
func (s Store) CursorPast(ctx context.Context, db bun.IDB, f Filter, n int) (string, error) {
	f = Filter{AgentID: f.AgentID, Cursor: f.Cursor, Sort: ByCreatedAt}
	var found []Prediction
	q := db.NewSelect().Model(&found).Column("p.id").Where("p.agent_id = ?", f.AgentID).Offset(int64(n - 1)).Limit(2)
	if err := f.page(q); err != nil {
		return "", err
	}
	if err := q.Scan(ctx); err != nil {
		return "", fmt.Errorf("look past a page of predictions: %w", err)
	}
	if len(found) < 2 {
		return "", nil
	}
	return f.cursorAfter(&found[0]), nil
}

func (f Filter) narrow(q *bun.SelectQuery, viewer agent.Viewer) *bun.SelectQuery {
	if f.AgentID != uuid.Nil {
		q = q.Where("p.agent_id = ?", f.AgentID)
	}
	if f.Category != "" {
		q = q.Where("p.category = ?", f.Category)
	}
	if f.MarketID != "" {
		q = q.Where("p.market_id = ?", f.MarketID)
	}
	if f.Status != "" {
		q = q.Where("p.status = ?", f.Status)
	}
	if f.Words != "" {
		q = containsWords(q, f.Words)
	}
	if f.Words != "" || f.Category != "" { // a match would reveal a hidden word
		q = whereTexts(q, viewer)
	}
	return q
}

// page adds the order and what the cursor left behind. The id is compared on both sides
// of the view: a bound on one does not bound an index of the other.
func (f Filter) page(q *bun.SelectQuery) error {
	column := map[Sort]string{ByResolvedAt: "p.resolved_at", ByEdge: "p.edge"}[f.Sort]
	switch {
	case column == "" && f.Status != "" && f.AgentID == uuid.Nil && f.Category == "" && f.MarketID == "" && f.EventID == "":
		// SQLite takes the order from an index only of the side it begins with.
		q.OrderExpr("p.result_id DESC")
	case column == "":
		q.OrderExpr("p.id DESC")
	default:
		q.Where(column + " IS NOT NULL").OrderExpr(column + " DESC, p.result_id DESC")
	}
	if f.Cursor == "" {
		return nil
	}
	bad := cursor.Invalid()
	parts, err := cursor.Decode(f.Cursor, 3)
	if err != nil || parts[0] != string(f.Sort) {
		return bad
	}
	id, err := uuid.Parse(parts[2])
	if err != nil {
		return bad
	}
	if column == "" {
		q.Where("p.id < ?0", id).Where("p.result_id < ?0", id)
		return nil
	}
	var bound any
	if f.Sort == ByResolvedAt {
		bound, err = cursor.ParseTime(parts[1])
	} else {
		bound, err = strconv.ParseInt(parts[1], 10, 64)
	}
	if err != nil {
		return bad
	}
	q.Where("("+column+", p.result_id) < (?, ?)", bound, id)
	return nil
}

func (f Filter) cursorAfter(last *Prediction) string {
	value := ""
	switch f.Sort {
	case ByResolvedAt:
		value = cursor.Time(last.ResolvedAt)
	case ByEdge:
		value = strconv.FormatInt(int64(*last.Edge), 10)
	}
	return cursor.Encode(string(f.Sort), value, last.ID.String())
}
