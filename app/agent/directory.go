package agent

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// DirectoryFilter selects and orders a page of the directory of agents.
type DirectoryFilter struct {
	Q      string // part of the handle or name, ignoring case
	Status Status // "" means any
	Order  Order
	Cursor string
	Limit  int
}

// Directory returns the ids of the agents on one page, and the cursor of the next page, "" at the
// end. It leaves out reference agents. It takes at most four queries, however many agents there
// are. With Q it examines at most 10,000 agents, so a page may hold fewer than Limit agents, or
// none, although there is a next page. It returns 400 invalid_parameter for a bad cursor.
func Directory(ctx context.Context, db bun.IDB, f DirectoryFilter) (ids []uuid.UUID, next string, err error) {
	after, err := f.Order.decode(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	m := match{DirectoryFilter: f}
	if f.Q != "" {
		places, end, err := m.search(ctx, db, after)
		if end != nil {
			next = f.Order.encode(*end)
		}
		return idsOf(places), next, err
	}
	if none, err := m.gather(ctx, db); none || err != nil {
		return nil, "", err
	}
	places, err := m.places(ctx, db, after)
	if err != nil {
		return nil, "", err
	}
	if len(places) > f.Limit {
		places = places[:f.Limit]
		next = f.Order.encode(places[f.Limit-1])
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

// places reads the page after a place, and one more place if there is a next page.
func (m *match) places(ctx context.Context, db bun.IDB, after place) (list []place, err error) {
	if m.Order.Value != "" && !after.tail {
		if list, err = m.valued(ctx, db, after); err != nil {
			return nil, err
		}
	}
	if len(list) > m.Limit || m.Order.everyAgent() {
		return list, nil
	}
	if !after.tail {
		after = place{}
	}
	rest, err := m.unvalued(ctx, db, after, m.Limit+1-len(list))
	return append(list, rest...), err
}

// valued reads the places after a place, of the agents that have a value.
func (m *match) valued(ctx context.Context, db bun.IDB, after place) ([]place, error) {
	var list []place
	o := &m.Order
	q := db.NewSelect().TableExpr("? AS ?", bun.Ident(o.Table), bun.Ident(o.Alias)).
		ColumnExpr("? AS id", bun.Safe(o.Key)).ColumnExpr("? AS ?", bun.Safe(o.Value), bun.Ident(o.Kind.column())).
		Limit(int64(m.Limit) + 1)
	if o.Where != "" {
		q.Where(o.Where)
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
	o.from(q, after)
	q.OrderExpr(o.Value + o.way() + ", " + o.Key + o.way())
	if err := q.Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("order agents: %w", err)
	}
	return list, nil
}

// unvalued reads the agents without a value, the newest first.
func (m *match) unvalued(ctx context.Context, db bun.IDB, after place, limit int) ([]place, error) {
	var list []place
	o := &m.Order
	q := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").OrderExpr("a.id DESC").Limit(int64(limit))
	if o.Value != "" && o.Alias == "a" {
		q.Where(o.Value + " IS NULL")
	} else if condition := o.withoutValue("a.id"); condition != "" {
		q.Where(condition)
	}
	m.narrow(q)
	if after.known {
		q.Where("a.id < ?", after.ID)
	}
	if err := q.Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("order agents: %w", err)
	}
	for i := range list {
		list[i].tail = true
	}
	return list, nil
}

// fewAgents is the greatest number of disabled agents that are sorted. If there are more, they are
// read along an index.
const fewAgents = 1000

// gather finds the disabled agents with one scan, which stops after fewAgents. none is true if no
// agent is disabled.
func (m *match) gather(ctx context.Context, db bun.IDB) (none bool, err error) {
	if m.Status != Disabled {
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
	q.Where("a.kind = ?", Ordinary)
	if m.Status != "" {
		q.Where("a.status = ?", m.Status)
	}
}
