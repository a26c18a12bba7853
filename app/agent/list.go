package agent

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
)

// Filter selects agents. A zero field selects all.
type Filter struct {
	Listed bool // only agents that the public can find; see Listed
	Kind   Kind
	Q      string // part of the handle or name, ignoring case
	Cursor string // the next that List returned for the previous page, with the same filter
	Limit  int    // the most agents on a page, at least 1
}

// searched is the most agents that List examines for a page.
const searched = 5000

// byHandle marks the cursor of a list in the order of handles.
const byHandle = "agents"

// List returns a page of agents, and the cursor of the next page, "" at the end. Without Q, they are
// in the order of their handles, and it examines at most 5,000 agents for a page. With Q, they are in
// the order of what follows Q in the handle or name, and it examines at most 500 places that contain
// Q. So a page may have fewer than Limit agents, or none, although there is a next
// page. A cursor of another list is 400 invalid_parameter.
func (s Store) List(ctx context.Context, db bun.IDB, f Filter) (page []*Agent, next string, err error) {
	if f.Q != "" {
		return s.containing(ctx, db, f)
	}
	after := ""
	if f.Cursor != "" {
		parts, err := cursor.Decode(f.Cursor, 2)
		if err != nil || parts[0] != byHandle || !ValidHandle(parts[1]) {
			return nil, "", cursor.Invalid()
		}
		after = parts[1]
	}
	page = []*Agent{}
	q := Select(db).Join("JOIN (?) AS l ON l.agent_id = a.id", walk(db, after).Column("l.handle", "l.agent_id")).
		OrderExpr("l.handle").Limit(int64(f.Limit) + 1)
	f.narrow(q)
	if err := q.Scan(ctx, &page); err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	for _, a := range page {
		a.utc()
	}
	if len(page) > f.Limit {
		return page[:f.Limit], cursor.Encode(byHandle, page[f.Limit-1].Handle), nil
	}
	// The next page begins after the last agent that this page examined.
	var last []string
	if err := walk(db, after).Column("l.handle").Offset(searched-1).Limit(1).Scan(ctx, &last); err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	if len(last) > 0 {
		next = cursor.Encode(byHandle, last[0])
	}
	return page, next, nil
}

// walk reads the next agents after a handle from one narrow index. The agents themselves are looked
// up only for what the filter finds.
func walk(db bun.IDB, after string) *bun.SelectQuery {
	q := db.NewSelect().TableExpr("agent_labels AS l").OrderExpr("l.handle").Limit(searched)
	if after != "" {
		q.Where("l.handle > ?", after)
	}
	return q
}

// narrow limits a query on agents AS a to those with the properties of f.
func (f *Filter) narrow(q *bun.SelectQuery) {
	if f.Listed {
		q.Where("?", Listed("a"))
	}
	if f.Kind != "" {
		q.Where("a.kind = ?", f.Kind)
	}
}
