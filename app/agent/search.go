package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

// search reads a page of the agents whose handle or name contains Q. It examines up to 5,000 agents
// with a value in the order, and after the last of those up to 5,000 without one. end is the place at
// which the page ends. It is nil after the last agent.
func (m *match) search(ctx context.Context, db bun.IDB, after place) (page []place, end *place, err error) {
	o := &m.Order
	if o.Value != "" && !after.tail {
		looked := db.NewSelect().TableExpr("? AS ?", bun.Ident(o.Table), bun.Ident(o.Alias)).
			ColumnExpr("? AS id", bun.Safe(o.Key)).ColumnExpr("? AS ?", bun.Safe(o.Value), bun.Ident(o.Kind.column())).
			OrderExpr(o.Value + o.way() + ", " + o.Key + o.way()).Limit(searched)
		if o.Where != "" {
			looked.Where(o.Where)
		}
		o.from(looked, after)
		order := "s." + o.Kind.column() + o.way() + ", s.id" + o.way()
		if page, end, err = m.searchIn(ctx, db, looked, order, m.Limit+1); err != nil || end != nil || o.everyAgent() {
			return m.cut(page, end, err)
		}
		after = place{}
	}
	if len(page) > m.Limit {
		return m.cut(page, nil, nil)
	}
	looked := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").OrderExpr("a.id DESC").Limit(searched)
	if after.known {
		looked.Where("a.id < ?", after.ID)
	}
	rest, end, err := m.searchIn(ctx, db, looked, "s.id DESC", m.Limit+1-len(page), o.withoutValue("s.id"))
	for i := range rest {
		rest[i].tail = true
	}
	if end != nil {
		end.tail = true
	}
	return m.cut(append(page, rest...), end, err)
}

// cut shortens a page to Limit. If it does, it returns the last remaining place as the end.
func (m *match) cut(page []place, end *place, err error) ([]place, *place, error) {
	if err != nil {
		return nil, nil, err
	}
	if len(page) > m.Limit {
		page = page[:m.Limit]
		end = &page[m.Limit-1]
	}
	return page, end, nil
}

// searchIn finds matching agents among those that the query looked selects. end is the last agent
// that looked selects, or nil if it selects fewer than searched.
func (m *match) searchIn(
	ctx context.Context, db bun.IDB, looked *bun.SelectQuery, order string, limit int, conditions ...string,
) (found []place, end *place, err error) {
	// Subqueries look up each agent. With joins, Postgres would read both tables completely.
	q := db.NewSelect().TableExpr("(?) AS s", looked).ColumnExpr("s.*").OrderExpr(order).Limit(int64(limit)).
		Where(`(SELECT l.label LIKE ? ESCAPE '\' FROM agent_labels AS l WHERE l.agent_id = s.id)`, likely(m.Q)).
		Where("(SELECT g.kind = ? FROM agents AS g WHERE g.id = s.id)", Ordinary)
	if m.Status != "" {
		q.Where("(SELECT g.status = ? FROM agents AS g WHERE g.id = s.id)", m.Status)
	}
	for _, c := range conditions {
		if c != "" {
			q.Where(c)
		}
	}
	if err := q.Scan(ctx, &found); err != nil {
		return nil, nil, fmt.Errorf("search agents: %w", err)
	}
	var last []place
	if err := looked.Offset(searched-1).Limit(1).Scan(ctx, &last); err != nil {
		return nil, nil, fmt.Errorf("search agents: %w", err)
	}
	if len(last) > 0 {
		last[0].known = true
		end = &last[0]
	}
	return found, end, nil
}

// withoutValue returns the condition that an agent has no value in the order. It returns "" if the
// order has no values.
func (o *Order) withoutValue(agentID string) string {
	switch {
	case o.Value == "":
		return ""
	case o.Alias == "a":
		return "(SELECT " + o.Value + " IS NULL FROM agents AS a WHERE a.id = " + agentID + ")"
	}
	condition := "o.agent_id = " + agentID
	if o.Where != "" {
		condition += " AND " + strings.ReplaceAll(o.Where, o.Alias+".", "o.")
	}
	return "NOT EXISTS (SELECT 1 FROM " + o.Table + " AS o WHERE " + condition + ")"
}
