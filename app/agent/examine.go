package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

// examine finds up to limit matching agents among the first 5,000 that the query looked selects. If it finds
// fewer and looked may select more agents, end is the last agent that it examined, else nil.
func (m *match) examine(
	ctx context.Context, db bun.IDB, looked *bun.SelectQuery, order string, limit int, conditions ...string,
) (found []place, end *place, err error) {
	looked.Limit(searched)
	// Subqueries look up each agent. With joins, Postgres would read both tables completely.
	q := db.NewSelect().TableExpr("(?) AS s", looked).ColumnExpr("s.*").OrderExpr(order).Limit(int64(limit)).
		Where("(SELECT g.kind = ? AND (? = '' OR g.status = ?) FROM agents AS g WHERE g.id = s.id)", Ordinary, m.Status, m.Status)
	if m.Q != "" {
		q.Where(`(SELECT l.label LIKE ? ESCAPE '\' FROM agent_labels AS l WHERE l.agent_id = s.id)`, likely(m.Q))
	}
	for _, c := range conditions {
		if c != "" {
			q.Where(c)
		}
	}
	if err := q.Scan(ctx, &found); err != nil {
		return nil, nil, fmt.Errorf("find agents: %w", err)
	}
	if len(found) >= limit {
		return found, nil, nil
	}
	var last []place
	if err := looked.Offset(searched-1).Limit(1).Scan(ctx, &last); err != nil {
		return nil, nil, fmt.Errorf("find agents: %w", err)
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
	// Postgres may turn NOT EXISTS into a join that reads the whole table.
	return "(SELECT COUNT(*) FROM " + o.Table + " AS o WHERE " + condition + ") = 0"
}
