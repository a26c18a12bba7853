package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// DirectoryFilter selects and orders a page of the directory of agents.
type DirectoryFilter struct {
	Q      string // part of the handle or name, ignoring case
	Status Status // as shown; "" means any
	Order  Order
	Cursor string
	Limit  int
}

// Directory returns the ids of the agents on one page, and the cursor of the next page, "" at the
// end. It leaves out reference agents. It takes at most five queries, however many agents there
// are. It examines at most 10,000 agents, so a page may hold fewer than Limit agents, or none,
// although there is a next page. It returns 400 invalid_parameter for a bad cursor.
func Directory(ctx context.Context, db bun.IDB, f DirectoryFilter) (ids []uuid.UUID, next string, err error) {
	after, err := f.Order.decode(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	m := match{DirectoryFilter: f}
	if none, err := m.gather(ctx, db); none || err != nil {
		return nil, "", err
	}
	places, end, err := m.places(ctx, db, after)
	if err != nil {
		return nil, "", err
	}
	if end != nil {
		next = f.Order.encode(*end)
	}
	return idsOf(places), next, nil
}

func idsOf(places []place) []uuid.UUID {
	ids := make([]uuid.UUID, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	return ids
}

// match finds the agents that match a filter.
type match struct {
	DirectoryFilter
	among []uuid.UUID // the agents that match, if they are few
}

// places reads the page after a place. end is the place at which the page ends. It is nil after the last
// agent.
func (m *match) places(ctx context.Context, db bun.IDB, after place) (page []place, end *place, err error) {
	o := &m.Order
	if o.Value != "" && !after.tail {
		page, end, err = m.valued(ctx, db, after)
		if err != nil || end != nil || len(page) > m.Limit || o.everyAgent() {
			return m.cut(page, end, err)
		}
		after = place{}
	}
	rest, end, err := m.unvalued(ctx, db, after, m.Limit+1-len(page))
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

// valued reads up to Limit and one places after a place, of the agents that have a value. end is like the
// end of examine.
func (m *match) valued(ctx context.Context, db bun.IDB, after place) (list []place, end *place, err error) {
	o := &m.Order
	q := db.NewSelect().TableExpr("? AS ?", bun.Ident(o.Table), bun.Ident(o.Alias)).
		ColumnExpr("? AS id", bun.Safe(o.Key)).ColumnExpr("? AS ?", bun.Safe(o.Value), bun.Ident(o.Kind.column())).
		OrderExpr(o.Value + o.way() + ", " + o.Key + o.way())
	if o.Where != "" {
		q.Where(o.Where)
	}
	o.from(q, after)
	if m.among == nil && (m.Q != "" || m.Status != "") {
		return m.examine(ctx, db, q, "s."+o.Kind.column()+o.way()+", s.id"+o.way(), m.Limit+1)
	}
	switch {
	case m.among != nil: // by the table's key, so that the table agents isn't needed
		q.Where("? IN (?)", bun.Safe(o.Key), bun.List(m.among))
	case o.Alias != "a":
		q.Join("JOIN agents AS a ON a.id = ?", bun.Safe(o.Key))
		m.narrow(q)
	default:
		m.narrow(q)
	}
	if err := q.Limit(int64(m.Limit)+1).Scan(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("order agents: %w", err)
	}
	return list, nil, nil
}

// unvalued reads up to limit agents without a value, the newest first. end is like the end of examine.
func (m *match) unvalued(ctx context.Context, db bun.IDB, after place, limit int) (list []place, end *place, err error) {
	o := &m.Order
	q := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").OrderExpr("a.id DESC")
	if after.known {
		q.Where("a.id < ?", after.ID)
	}
	// All disabled agents, all closed accounts, and all agents follow each other in an index. Others may be far apart.
	if m.among == nil && (m.Q != "" || m.Status == Active || o.Value != "") {
		return m.examine(ctx, db, q, "s.id DESC", limit, o.withoutValue("s.id"))
	}
	if condition := o.withoutValue("a.id"); condition != "" {
		q.Where(condition)
	}
	m.narrow(q)
	if err := q.Limit(int64(limit)).Scan(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("order agents: %w", err)
	}
	return list, nil, nil
}

// fewAgents is the greatest number of disabled agents or closed accounts that are sorted. If there are more, examine
// finds them along an index of all agents.
const fewAgents = 1000

// gather finds the disabled agents or closed accounts with one scan, which stops after fewAgents. none is true if there
// are none.
func (m *match) gather(ctx context.Context, db bun.IDB) (none bool, err error) {
	if m.Status == "" || m.Status == Active || m.Q != "" {
		return false, nil
	}
	var ids []uuid.UUID
	q := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").Limit(fewAgents + 1)
	m.narrow(q)
	if err := q.Scan(ctx, &ids); err != nil {
		return false, fmt.Errorf("find agents: %w", err)
	}
	if len(ids) <= fewAgents {
		m.among = ids
	}
	return len(ids) == 0, nil
}

func (m *match) narrow(q *bun.SelectQuery) {
	if m.among != nil {
		q.Where("a.id IN (?)", bun.List(m.among))
		return
	}
	q.Where("a.kind = ?", Ordinary).Where("?", m.Status.shown("a"))
}

// examine finds up to limit matching agents among the first 5,000 that the query looked selects. If it finds
// fewer and looked may select more agents, end is the last agent that it examined, else nil.
func (m *match) examine(
	ctx context.Context, db bun.IDB, looked *bun.SelectQuery, order string, limit int, conditions ...string,
) (found []place, end *place, err error) {
	looked.Limit(searched)
	// Subqueries look up each agent. With joins, Postgres would read both tables completely.
	q := db.NewSelect().TableExpr("(?) AS s", looked).ColumnExpr("s.*").OrderExpr(order).Limit(int64(limit)).
		Where("(SELECT g.kind = ? AND ? FROM agents AS g WHERE g.id = s.id)", Ordinary, m.Status.shown("g"))
	if m.Q != "" {
		q.Where(`(SELECT l.label LIKE ? ESCAPE '\' FROM agent_labels AS l WHERE l.agent_id = s.id)`, likePattern(m.Q))
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

// likePattern returns the LIKE pattern of a text for agent_labels. That narrow table has handles and
// names without case, because converting the case of every name took most of the time of a search.
func likePattern(words string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(words)) + "%"
}
