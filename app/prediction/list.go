package prediction

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Sort is an order of the list. Ties are ordered by id.
type Sort string

// The three orders, all descending. ByResolvedAt and ByEdge list only predictions that have the value.
const (
	ByCreatedAt  Sort = "createdAt"
	ByResolvedAt Sort = "resolvedAt"
	ByEdge       Sort = "edge"
)

// Filter narrows the list. A zero field doesn't filter.
type Filter struct {
	AgentID  uuid.UUID
	Category string
	MarketID string
	EventID  string // of an upstream event; matches predictions that count for it, see findEarlier
	Status   Status
	Words    string // at most plaintext.MaxWords words that must all be whole words of title or thesis
	// Established leaves out predictions that an agent published before its first settlement. It works only
	// with ByCreatedAt and no other filters.
	Established bool
	Sort        Sort // "" means ByCreatedAt
	Limit       int  // at least 1
	// MaxText ends a page before its titles, theses and evidence become longer, in bytes. A page has at least one
	// prediction.
	MaxText int
	Cursor  string
}

// MaxPageText is the MaxText of a public page. It is room for 24 theses of 10,000 ASCII characters. A longer page wouldn't
// be kept in memory, so every request would make it again.
const MaxPageText = 256 << 10

// List returns one page and the cursor of the next page, which is empty at the end. It refuses a cursor of
// another list and too many words as invalid_parameter.
//
// A page looks at no more than 300 predictions, so its cost doesn't grow with their number. It may hold fewer
// than Limit, or none, although there is a next page: with several filters, few of the predictions that match
// the first may match the others. Ranked also tells whether the list leaves out older ones.
func (s Store) List(ctx context.Context, db bun.IDB, f Filter) ([]Record, string, error) {
	records, next, _, err := s.Ranked(ctx, db, f)
	return records, next, err
}

// Ranked is List. If the list ranks only the newest predictions and leaves out older ones, newest is how many it
// ranks, otherwise 0. The ranked predictions are those of the market or event, or those that match Words. On Postgres,
// with Words and an agent or a market, they are the matches among that many of its newest predictions.
func (s Store) Ranked(ctx context.Context, db bun.IDB, f Filter) (records []Record, next string, newest int, err error) {
	if f.Sort == "" {
		f.Sort = ByCreatedAt
	}
	if err := f.compactWords(); err != nil {
		return nil, "", 0, err
	}
	after, err := f.readCursor()
	if err != nil {
		return nil, "", 0, err
	}
	if f.byPosition(db) && f.Sort == ByCreatedAt && after != nil && after.Position == 0 {
		return nil, "", 0, cursor.Invalid() // of a list without Words
	}
	looked, more, err := s.look(ctx, db, f, after, true)
	if err != nil {
		return nil, "", 0, err
	}
	if f.ranked() && more {
		newest, more = window, false
	}
	page, next := f.cut(looked, more, after)
	records, err = s.inOrder(ctx, db, page)
	if fit := f.fitting(records); fit < len(records) {
		last := slices.IndexFunc(page, func(p place) bool { return p.ID == records[fit-1].ID })
		records, next = records[:fit], f.cursorAfter(&page[last])
	}
	return records, next, newest, err
}

// fitting returns how many of the records fit on a page of MaxText.
func (f *Filter) fitting(records []Record) int {
	size := 0
	for i := range records {
		if size += textBytes(records[i].Title, records[i].Thesis, records[i].Evidence); size > f.MaxText && f.MaxText > 0 && i > 0 {
			return i
		}
	}
	return len(records)
}

// compactWords leaves each word of a search once, because the database looks up every one. It refuses too many.
func (f *Filter) compactWords() error {
	words, wrong := plaintext.Words(f.Words)
	if wrong != "" {
		return problem.InvalidParameter("q", wrong)
	}
	if len(words) > 0 { // otherwise a text without words, which finds nothing, would become no search at all
		f.Words = strings.Join(words, " ")
	}
	return nil
}

// CursorPast skips n of an agent's predictions from a cursor on, newest first. It returns the last one skipped and the
// cursor of the page after it, or uuid.Nil and "" if there are no more than n.
func (s Store) CursorPast(ctx context.Context, db bun.IDB, agentID uuid.UUID, from string, n int) (last uuid.UUID, next string, err error) {
	f := Filter{AgentID: agentID, Cursor: from, Sort: ByCreatedAt}
	q, err := f.selectIDs(db)
	if err != nil {
		return uuid.Nil, "", err
	}
	var ids []uuid.UUID
	if err := q.OrderExpr("id DESC").Offset(int64(n-1)).Limit(2).Scan(ctx, &ids); err != nil {
		return uuid.Nil, "", fmt.Errorf("look past a page of predictions: %w", err)
	}
	if len(ids) < 2 {
		return uuid.Nil, "", nil
	}
	return ids[0], f.cursorAfter(&place{ID: ids[0]}), nil
}

// CountUpTo returns how many of an agent's predictions follow from a cursor on, but n at most.
func (s Store) CountUpTo(ctx context.Context, db bun.IDB, agentID uuid.UUID, from string, n int) (int, error) {
	f := Filter{AgentID: agentID, Cursor: from, Sort: ByCreatedAt}
	q, err := f.selectIDs(db)
	if err != nil {
		return 0, err
	}
	var count int
	if err := db.NewSelect().TableExpr("(?) AS counted", q.Limit(int64(n))).ColumnExpr("count(*)").Scan(ctx, &count); err != nil {
		return 0, fmt.Errorf("count an agent's predictions: %w", err)
	}
	return count, nil
}

// selectIDs selects the ids of an agent's predictions after the cursor.
func (f *Filter) selectIDs(db bun.IDB) (*bun.SelectQuery, error) {
	after, err := f.readCursor()
	if err != nil {
		return nil, err
	}
	q := db.NewSelect().Table("predictions").Column("id").Where("agent_id = ?", f.AgentID)
	if after != nil {
		q.Where("id < ?", after.ID)
	}
	return q, nil
}

// place is the position of a prediction in a list.
type place struct {
	AgentID    uuid.UUID `bun:",type:uuid"`
	ID         uuid.UUID `bun:",type:uuid"`
	ResolvedAt time.Time `bun:",nullzero"` // set by ByResolvedAt
	Edge       *int64    // set by ByEdge
	// Position is the row of SQLite's search index, which determines the order there; see rowOf.
	Position int64
	Fits     bool    // whether it matches the filters that the walk didn't apply
	Shown    bool    // whether the viewer sees the texts by which it was found
	record   *Record // nil if the walk didn't read it
}

// compare orders places as the list does.
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

// ranked reports whether the newest predictions that match f are sorted here, because no index has their order.
func (f *Filter) ranked() bool {
	return f.Sort != ByCreatedAt && (f.Words != "" || (f.AgentID == uuid.Nil && (f.MarketID != "" || f.EventID != "")))
}

// cut makes a page from the places that were looked at. It returns the page and the cursor of the next. more
// says that there may be further places.
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

// valued reports whether p has the value that the list is ordered by.
func (f *Filter) valued(p *place) bool {
	return (f.Sort == ByEdge && p.Edge != nil) || (f.Sort == ByResolvedAt && !p.ResolvedAt.IsZero())
}

// inOrder returns the records of a page, in its order. It reads those that the walk didn't read.
func (s Store) inOrder(ctx context.Context, db bun.IDB, page []place) ([]Record, error) {
	var ids []uuid.UUID
	for i := range page {
		if page[i].record == nil {
			ids = append(ids, page[i].ID)
		}
	}
	found, err := s.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	records := make([]Record, 0, len(page))
	for i := range page {
		if r := cmp.Or(page[i].record, found[page[i].ID]); r != nil {
			records = append(records, *r)
		}
	}
	return records, nil
}

// Reference names a prediction without its content.
type Reference struct {
	ID        uuid.UUID `bun:",type:uuid"`
	AgentID   uuid.UUID `bun:",type:uuid"`
	Handle    string    `bun:"-"` // of the agent
	CreatedAt time.Time
}

// EstablishedReferences returns the newest predictions of established agents, newest first; see Filter.Established. It
// reads no texts.
func (s Store) EstablishedReferences(ctx context.Context, db bun.IDB, limit int) ([]Reference, error) {
	f := Filter{Established: true, Sort: ByCreatedAt, Limit: limit}
	looked, more, err := s.look(ctx, db, f, nil, false)
	if err != nil {
		return nil, err
	}
	page, _ := f.cut(looked, more, nil)
	ids := make([]uuid.UUID, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	list := make([]Reference, 0, len(ids))
	if len(ids) == 0 {
		return list, nil
	}
	planned := database.NewPlanned(db)
	q := db.NewSelect().TableExpr("predictions AS p").Column("p.id", "p.agent_id", "p.created_at").OrderExpr("p.id DESC")
	if err := planned.Scan(ctx, planned.In(q, "p.id", ids), &list); err != nil {
		return nil, fmt.Errorf("read references to predictions: %w", err)
	}
	agentIDs := make([]uuid.UUID, len(list))
	for i := range list {
		agentIDs[i] = list[i].AgentID
	}
	agents, err := s.agents.ByIDs(ctx, db, agentIDs)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if a := agents[list[i].AgentID]; a != nil {
			list[i].Handle = a.Handle
		}
	}
	return list, nil
}

// readCursor returns the place where the previous page ended, or nil for the first page.
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
