package prediction

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
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
	// Established leaves out what an agent published before anything of it was settled. It is
	// for a list by ByCreatedAt without other filters.
	Established bool
	Sort        Sort
	Limit       int
	Cursor      string
}

// List reads one page and the cursor of the next, empty at the end. A cursor that
// is not one of this list's is refused as invalid_parameter.
//
// A page looks at no more than 300 predictions, so that it costs the same however many there
// are. It may hold fewer than Limit, or none, although there is a next page: if several
// filters are combined, few of those that fit the first may fit the others. Filter.Newest
// tells whether a list is ranked among the newest ones only.
func (s Store) List(ctx context.Context, db bun.IDB, f Filter) ([]Record, string, error) {
	if f.Sort == "" {
		f.Sort = ByCreatedAt
	}
	after, err := f.readCursor()
	if err != nil {
		return nil, "", err
	}
	looked, more, err := s.look(ctx, db, f, after)
	if err != nil {
		return nil, "", err
	}
	page, next := f.cut(looked, more, after)
	records, err := s.inOrder(ctx, db, page)
	return records, next, err
}

// CursorPast returns the last of the next n predictions of an agent, newest first, and the
// cursor of the page that begins after it; uuid.Nil and "" if there are no more than n. f names
// the agent and where to begin.
func (s Store) CursorPast(ctx context.Context, db bun.IDB, f Filter, n int) (last uuid.UUID, next string, err error) {
	f = Filter{AgentID: f.AgentID, Cursor: f.Cursor, Sort: ByCreatedAt}
	after, err := f.readCursor()
	if err != nil {
		return uuid.Nil, "", err
	}
	q := db.NewSelect().Table("predictions").Column("id").Where("agent_id = ?", f.AgentID).
		OrderExpr("id DESC").Offset(int64(n - 1)).Limit(2)
	if after != nil {
		q.Where("id < ?", after.ID)
	}
	var ids []uuid.UUID
	if err := q.Scan(ctx, &ids); err != nil {
		return uuid.Nil, "", fmt.Errorf("look past a page of predictions: %w", err)
	}
	if len(ids) < 2 {
		return uuid.Nil, "", nil
	}
	return ids[0], f.cursorAfter(&place{ID: ids[0]}), nil
}

// place is where a prediction stands in a list.
type place struct {
	AgentID    uuid.UUID `bun:",type:uuid"`
	ID         uuid.UUID `bun:",type:uuid"`
	ResolvedAt time.Time `bun:",nullzero"` // by ByResolvedAt
	Edge       *int64    // by ByEdge
	// Position is the row of the search index on SQLite, which lists by it.
	Position int64
	Fits     bool
}

// compare orders places as a list by has them, the first before.
func (p *place) compare(o *place, by Sort) int {
	switch {
	case by == ByResolvedAt && !p.ResolvedAt.Equal(o.ResolvedAt):
		return o.ResolvedAt.Compare(p.ResolvedAt)
	case by == ByEdge && p.Edge != nil && o.Edge != nil && *p.Edge != *o.Edge:
		return cmp.Compare(*o.Edge, *p.Edge)
	case p.Position != o.Position && by == ByCreatedAt:
		return cmp.Compare(o.Position, p.Position)
	}
	return bytes.Compare(o.ID[:], p.ID[:])
}

// ranked reports whether the newest predictions that f finds are put in order here, since no
// index holds them in it.
func (f *Filter) ranked() bool {
	return f.Sort != ByCreatedAt && (f.Words != "" || (f.AgentID == uuid.Nil && (f.MarketID != "" || f.EventID != "")))
}

// Newest is how many of the newest predictions are ranked by f, which leaves out older ones; 0 if
// the list has all. They are those that match Words (on Postgres with an agent or a market, those
// among so many of it), or those of a market or event.
func (f *Filter) Newest() int {
	if f.ranked() {
		return window
	}
	return 0
}

// cut takes a page from the places that were looked at, and the cursor of the next. more says
// that there may be others after them.
func (f *Filter) cut(looked []place, more bool, after *place) (page []place, next string) {
	for i := range looked {
		p := &looked[i]
		if !p.Fits || (f.ranked() && (!f.valued(p) || (after != nil && after.compare(p, f.Sort) >= 0))) {
			continue
		}
		if len(page) == f.Limit {
			return page, f.cursorAfter(&page[f.Limit-1])
		}
		page = append(page, *p)
	}
	if more {
		next = f.cursorAfter(&looked[len(looked)-1])
	}
	return page, next
}

// valued reports whether p has what the list is ordered by.
func (f *Filter) valued(p *place) bool {
	return (f.Sort == ByEdge && p.Edge != nil) || (f.Sort == ByResolvedAt && !p.ResolvedAt.IsZero())
}

// inOrder reads the records of a page.
func (s Store) inOrder(ctx context.Context, db bun.IDB, page []place) ([]Record, error) {
	ids := make([]uuid.UUID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	found, err := s.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(ids))
	for _, id := range ids {
		if r := found[id]; r != nil {
			records = append(records, *r)
		}
	}
	return records, nil
}

// readCursor reads where the page before ended; nil for the first page.
func (f *Filter) readCursor() (*place, error) {
	if f.Cursor == "" {
		return nil, nil
	}
	bad := cursor.Invalid()
	parts, err := cursor.Decode(f.Cursor, 3)
	if err != nil || parts[0] != string(f.Sort) {
		return nil, bad
	}
	after := &place{}
	if after.ID, err = uuid.Parse(parts[2]); err != nil {
		return nil, bad
	}
	switch {
	case f.Sort == ByResolvedAt:
		after.ResolvedAt, err = cursor.ParseTime(parts[1])
	case f.Sort == ByEdge:
		var edge int64
		edge, err = strconv.ParseInt(parts[1], 10, 64)
		after.Edge = &edge
	case parts[1] != "":
		after.Position, err = strconv.ParseInt(parts[1], 10, 64)
	}
	if err != nil {
		return nil, bad
	}
	return after, nil
}

func (f *Filter) cursorAfter(last *place) string {
	value := ""
	switch {
	case f.Sort == ByResolvedAt:
		value = cursor.Time(last.ResolvedAt)
	case f.Sort == ByEdge:
		value = strconv.FormatInt(*last.Edge, 10)
	case last.Position != 0:
		value = strconv.FormatInt(last.Position, 10)
	}
	return cursor.Encode(string(f.Sort), value, last.ID.String())
}
