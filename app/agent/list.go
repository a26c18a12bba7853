package agent

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Filter narrows a list of agents; a zero field does not narrow.
type Filter struct {
	Status Status
	Listed bool // only agents that the public finds; see Listed
	Kind   Kind
	Q      string // part of the handle or name, ignoring case
	After  string // where the page before ended, as List returned it
	Limit  int    // rows at most; at least 1
}

// searched is how many agents a page looks at.
const searched = 5000

// List returns agents in order of their handle, and the After of the next page, "" at the end.
// A page looks at no more than 5,000 agents, so it may hold fewer than Limit, or none, although
// there is a next page.
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
	// The next page begins after all that this one looked at.
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
