package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Row is an agent in the table, with everything the table shows. Pointers are nil
// where there is nothing yet.
type Row struct {
	ID         uuid.UUID `bun:",type:uuid"`
	Handle     string
	Name       string
	Model      string
	Owner      string
	Status     agent.Status
	Sample     bool
	CreatedAt  time.Time
	LastSeenAt time.Time `bun:",nullzero"`

	Total, Open, Settled, Void int64

	Skill, SkillLow, SkillHigh *float64
	Rank                       *int64
	Events                     int64
	Brier, CalibrationError    *float64

	PredictionsDay, PredictionsMonth int64
	Requests, Errors, Limited        int64

	// KeyCreatedAt is when the newest key that works was made; zero without one.
	KeyCreatedAt time.Time `bun:",nullzero"`
}

// ErrorRate is the part of the requests of 24 hours that failed, 429 included.
func (r *Row) ErrorRate() float64 {
	if r.Requests == 0 {
		return 0
	}
	return float64(r.Errors+r.Limited) / float64(r.Requests)
}

// Rising sorts put the smallest first.
var rising = map[string]bool{"handle": true, "brier": true, "calibration": true}

// real sorts go by a number that is not whole.
var real = map[string]bool{"skill": true, "brier": true, "calibration": true}

// order is how a sort finds its agents: by an index over value of a table. Agents
// without a value come after those with one, the newest first.
type order struct{ table, alias, key, value, where string }

var orders = map[string]order{
	"created":     {"agents", "a", "a.id", "", ""},
	"handle":      {"agents", "a", "a.id", "a.handle", ""},
	"seen":        {"agents", "a", "a.id", "a.last_seen_at", "a.last_seen_at IS NOT NULL"},
	"total":       {"agent_activity", "v", "v.agent_id", "v.predictions", ""},
	"settled":     {"agent_activity", "v", "v.agent_id", "v.settled", ""},
	"skill":       {"board_rows", "r", "r.agent_id", "r.skill", "r.span = 'all' AND r.category = ''"},
	"brier":       {"board_rows", "r", "r.agent_id", "r.brier", "r.span = 'all' AND r.category = '' AND r.brier IS NOT NULL"},
	"calibration": {"board_rows", "r", "r.agent_id", "r.calibration_error", "r.span = 'all' AND r.category = '' AND r.calibration_error IS NOT NULL"},
	"day":         {"agent_activity", "v", "v.agent_id", "v.predictions_day", ""},
	"month":       {"agent_activity", "v", "v.agent_id", "v.predictions_month", ""},
	"requests":    {"agent_activity", "v", "v.agent_id", "v.requests", ""},
	"errors":      {"agent_activity", "v", "v.agent_id", "v.errors", ""},
	"limited":     {"agent_activity", "v", "v.agent_id", "v.limited", ""},
}

// AgentFilter narrows and orders the table.
type AgentFilter struct {
	Q      string // part of the handle or name, ignoring case
	Status agent.Status
	Sort   string // a word of Sorts; "" is "created", the newest first
	Cursor string
	Limit  int

	among []uuid.UUID // the agents that fit, when they are few
	many  bool        // they turned out to be many
}

// Sorts are the words that AgentFilter.Sort knows.
func Sorts() []string {
	return []string{"created", "handle", "seen", "total", "settled", "day", "month", "skill", "brier", "calibration", "requests", "errors", "limited"}
}

// Agents reads one page of the table and the cursor of the next, in at most four
// queries however many agents there are. Reference agents are not in it.
func (s Store) Agents(ctx context.Context, db bun.IDB, f AgentFilter) (rows []Row, next string, err error) {
	if f.Sort == "" {
		f.Sort = "created"
	}
	o, ok := orders[f.Sort]
	if !ok {
		return nil, "", problem.InvalidParameter("sort", "must be one of "+strings.Join(Sorts(), ", "))
	}
	after, err := f.decode()
	if err != nil {
		return nil, "", err
	}
	if none, err := f.gather(ctx, db); none || err != nil {
		return nil, "", err
	}
	var places []place
	if o.value != "" && !after.tail {
		if places, err = f.valued(ctx, db, o, after); err != nil {
			return nil, "", err
		}
	}
	if len(places) <= f.Limit && f.Sort != "handle" {
		from := after
		if !after.tail {
			from = place{}
		}
		rest, err := f.unvalued(ctx, db, o, from, f.Limit+1-len(places))
		if err != nil {
			return nil, "", err
		}
		places = append(places, rest...)
	}
	if len(places) > f.Limit {
		places = places[:f.Limit]
		next = f.encode(places[f.Limit-1])
	}
	rows, err = s.rows(ctx, db, places)
	return rows, next, err
}

// place is where a row stands in the order.
type place struct {
	ID    uuid.UUID `bun:",type:uuid"`
	Num   float64   `bun:"num"`
	Whole int64     `bun:"whole"`
	Text  string    `bun:"text"`
	At    time.Time `bun:"moment,nullzero"`
	tail  bool
	known bool
}

// valued reads the places of agents that have a value, from after on.
func (f AgentFilter) valued(ctx context.Context, db bun.IDB, o order, after place) ([]place, error) {
	var list []place
	q := db.NewSelect().TableExpr("? AS ?", bun.Ident(o.table), bun.Ident(o.alias)).ColumnExpr("? AS id", bun.Safe(o.key)).Limit(int64(f.Limit) + 1)
	column, bound := "whole", any(after.Whole)
	switch {
	case f.Sort == "handle":
		column, bound = "text", after.Text
	case f.Sort == "seen":
		column, bound = "moment", after.At
	case real[f.Sort]:
		column, bound = "num", after.Num
	}
	q.ColumnExpr("? AS ?", bun.Safe(o.value), bun.Ident(column))
	if o.where != "" {
		q.Where(o.where)
	}
	switch {
	case f.among != nil: // said of the table's own key, so that no agent needs be looked up
		q.Where(o.key+" IN (?)", bun.List(f.among))
	case o.alias != "a":
		q.Join("JOIN agents AS a ON a.id = ?", bun.Safe(o.key))
		f.narrow(q)
	default:
		f.narrow(q)
	}
	sign, way := "<", "DESC"
	if rising[f.Sort] {
		sign, way = ">", "ASC"
	}
	if after.known {
		q.Where("("+o.value+", "+o.key+") "+sign+" (?, ?)", bound, after.ID)
	}
	q.OrderExpr(o.value + " " + way + ", " + o.key + " " + way)
	if err := q.Scan(ctx, &list); err != nil {
		return nil, fmt.Errorf("order agents: %w", err)
	}
	return list, nil
}

// unvalued reads the agents that have no value, the newest first.
func (f AgentFilter) unvalued(ctx context.Context, db bun.IDB, o order, after place, limit int) ([]place, error) {
	var list []place
	q := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").OrderExpr("a.id DESC").Limit(int64(limit))
	switch {
	case o.value == "":
	case o.alias == "a":
		q.Where(o.value + " IS NULL")
	default:
		condition := "o.agent_id = a.id"
		if o.where != "" {
			condition += " AND " + strings.ReplaceAll(o.where, o.alias+".", "o.")
		}
		q.Where("NOT EXISTS (SELECT 1 FROM ? AS o WHERE "+condition+")", bun.Ident(o.table))
	}
	f.narrow(q)
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

// fewAgents is how many agents are better ordered by themselves than found along an
// index.
const fewAgents = 1000

// gather finds the agents that fit a narrow filter, in one scan that stops when they
// turn out to be many; none tells that there are none.
func (f *AgentFilter) gather(ctx context.Context, db bun.IDB) (none bool, err error) {
	if f.Q == "" && f.Status != agent.Disabled {
		return false, nil
	}
	var ids []uuid.UUID
	q := db.NewSelect().TableExpr("agents AS a").ColumnExpr("a.id").Limit(fewAgents + 1)
	f.narrow(q)
	if err := q.Scan(ctx, &ids); err != nil {
		return false, fmt.Errorf("find agents: %w", err)
	}
	if len(ids) <= fewAgents {
		f.among = ids
	}
	f.many = f.among == nil
	return len(ids) == 0, nil
}

func (f AgentFilter) narrow(q *bun.SelectQuery) {
	if f.among != nil {
		q.Where("a.id IN (?)", bun.List(f.among))
		return
	}
	q.Where("a.kind = ?", agent.Ordinary)
	if f.Status != "" {
		q.Where("a.status = ?", f.Status)
	}
	if f.Q != "" {
		if f.many {
			agent.NamedOften(q, f.Q)
		} else {
			agent.Named(q, f.Q)
		}
	}
}

func (f AgentFilter) encode(p place) string {
	value := strconv.FormatInt(p.Whole, 10)
	switch {
	case p.tail:
		value = ""
	case f.Sort == "handle":
		value = p.Text
	case f.Sort == "seen":
		value = strconv.FormatInt(p.At.UnixMicro(), 10)
	case real[f.Sort]:
		value = strconv.FormatFloat(p.Num, 'g', -1, 64)
	}
	return cursor.Encode(f.Sort, strconv.FormatBool(p.tail), value, p.ID.String())
}

func (f AgentFilter) decode() (p place, err error) {
	if f.Cursor == "" {
		return place{}, nil
	}
	parts, err := cursor.Decode(f.Cursor, 4)
	if err != nil {
		return p, err
	}
	p.known = true
	p.tail = parts[1] == "true"
	var wrong error
	if p.ID, wrong = uuid.Parse(parts[3]); wrong != nil || parts[0] != f.Sort {
		return p, cursor.Invalid()
	}
	switch {
	case p.tail:
	case f.Sort == "handle":
		p.Text = parts[2]
	case f.Sort == "seen":
		var micro int64
		micro, wrong = strconv.ParseInt(parts[2], 10, 64)
		p.At = time.UnixMicro(micro).UTC()
	case real[f.Sort]:
		p.Num, wrong = strconv.ParseFloat(parts[2], 64)
		if math.IsNaN(p.Num) || math.IsInf(p.Num, 0) {
			wrong = errors.New("not a number")
		}
	default:
		p.Whole, wrong = strconv.ParseInt(parts[2], 10, 64)
	}
	if wrong != nil {
		return p, cursor.Invalid()
	}
	return p, nil
}

// rows reads what the table shows of the agents at places, in their order.
func (Store) rows(ctx context.Context, db bun.IDB, places []place) ([]Row, error) {
	if len(places) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(places))
	at := make(map[uuid.UUID]int, len(places))
	for i, p := range places {
		ids[i], at[p.ID] = p.ID, i
	}
	var found []Row
	err := db.NewRaw(`SELECT a.id, a.handle, a.name, a.model, COALESCE(a.owner, '') AS owner, a.status, a.sample, a.created_at, a.last_seen_at,
			COALESCE(t.total, 0) AS total, COALESCE(t.open, 0) AS open, COALESCE(t.resolved, 0) AS settled, COALESCE(t.void, 0) AS void,
			r.skill, r.skill_low, r.skill_high, r.rank, COALESCE(r.events, 0) AS events, r.brier, r.calibration_error,
			COALESCE(v.predictions_day, 0) AS predictions_day, COALESCE(v.predictions_month, 0) AS predictions_month,
			COALESCE(v.requests, 0) AS requests, COALESCE(v.errors, 0) AS errors, COALESCE(v.limited, 0) AS limited,
			(SELECT k.created_at FROM agent_keys AS k WHERE k.agent_id = a.id AND k.revoked_at IS NULL ORDER BY k.created_at DESC LIMIT 1) AS key_created_at
		FROM agents AS a
		LEFT JOIN agent_tallies AS t ON t.agent_id = a.id
		LEFT JOIN board_rows AS r ON r.agent_id = a.id AND r.span = 'all' AND r.category = ''
		LEFT JOIN agent_activity AS v ON v.agent_id = a.id
		WHERE a.id IN (?)`, bun.List(ids)).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read the table of agents: %w", err)
	}
	list := make([]Row, len(places))
	for _, r := range found {
		r.CreatedAt, r.LastSeenAt, r.KeyCreatedAt = r.CreatedAt.UTC(), r.LastSeenAt.UTC(), r.KeyCreatedAt.UTC()
		list[at[r.ID]] = r
	}
	return list, nil
}

// RowOf is the table's row of one agent.
func (s Store) RowOf(ctx context.Context, db bun.IDB, id uuid.UUID) (Row, error) {
	rows, err := s.rows(ctx, db, []place{{ID: id}})
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}
