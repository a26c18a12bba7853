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
	looked := Select(db).OrderExpr("a.handle").Limit(searched)
	if f.After != "" {
		looked.Where("a.handle > ?", f.After)
	}
	page = []*Agent{}
	q := db.NewSelect().Model(&page).ModelTableExpr("(?) AS a", looked).OrderExpr("a.handle").Limit(int64(f.Limit) + 1)
	f.narrow(q)
	if err := q.Scan(ctx); err != nil {
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
	if err := looked.Column("a.handle").Offset(searched-1).Limit(1).Scan(ctx, &last); err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	if len(last) > 0 {
		next = last[0]
	}
	return page, next, nil
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
	if f.Q != "" { // a value for each agent: Postgres would read all labels to join them
		q.Where(`(SELECT l.label LIKE ? ESCAPE '\' FROM agent_labels AS l WHERE l.agent_id = a.id)`, likely(f.Q))
	}
}
