package agent

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Filter selects agents. A zero field selects all.
type Filter struct {
	Status Status
	Listed bool // only agents that the public can find; see Listed
	Kind   Kind
	Q      string // part of the handle or name, ignoring case
	After  string // the next that List returned for the previous page
	Limit  int    // the most agents on a page, at least 1
}

// searched is the most agents that List examines for a page.
const searched = 5000

// List returns a page of agents in the order of their handles, and the After of the next page, ""
// at the end. It examines at most 5,000 agents for a page. So a page may have fewer than Limit
// agents, or none, although there is a next page.
func (Store) List(ctx context.Context, db bun.IDB, f Filter) (page []*Agent, next string, err error) {
	page = []*Agent{}
	q := Select(db).Join("JOIN (?) AS l ON l.agent_id = a.id", f.walk(db).Column("l.handle", "l.label", "l.agent_id")).
		OrderExpr("l.handle").Limit(int64(f.Limit) + 1)
	f.narrow(q)
	if err := q.Scan(ctx, &page); err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	for _, a := range page {
		a.utc()
	}
	if len(page) > f.Limit {
		return page[:f.Limit], page[f.Limit-1].Handle, nil
	}
	// The next page begins after the last agent that this page examined.
	var last []string
	if err := f.walk(db).Column("l.handle").Offset(searched-1).Limit(1).Scan(ctx, &last); err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	if len(last) > 0 {
		next = last[0]
	}
	return page, next, nil
}

// walk reads the next agents from one narrow index. The agents themselves are looked up only for
// what the filter finds.
func (f *Filter) walk(db bun.IDB) *bun.SelectQuery {
	q := db.NewSelect().TableExpr("agent_labels AS l").OrderExpr("l.handle").Limit(searched)
	if f.After != "" {
		q.Where("l.handle > ?", f.After)
	}
	return q
}

func (f *Filter) narrow(q *bun.SelectQuery) {
	if f.Status != "" {
		q.Where("a.status = ?", f.Status)
	}
	if f.Listed {
		q.Where("?", Listed("a"))
	}
	if f.Kind != "" {
		q.Where("a.kind = ?", f.Kind)
	}
	if f.Q != "" {
		q.Where(`l.label LIKE ? ESCAPE '\'`, likely(f.Q))
	}
}
