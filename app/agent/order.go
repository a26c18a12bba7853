package agent

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
)

// ValueKind is the type of the value that an Order sorts by.
type ValueKind int

// The types of values.
const (
	Whole ValueKind = iota
	Real
	Text
	Moment
)

// column returns the column of place that holds a value of this kind.
func (k ValueKind) column() string {
	return [...]string{Whole: "whole", Real: "num", Text: "text", Moment: "moment"}[k]
}

// Order sorts agents by a column of a table with at most one row for each agent. It needs an index
// over Value and Key. Agents without a value follow at the end, the newest first. Each package
// exports the Orders over its tables.
type Order struct {
	Sort   string // the name of the order, also in cursors
	Table  string
	Alias  string // "a" is for the table agents
	Key    string // the column of the agent's id, as "v.agent_id"
	Value  string // the column of the value; "" sorts by age alone
	Where  string // condition for the rows with a value
	Kind   ValueKind
	Rising bool // smallest first
}

// Orders returns the orders over the tables of this package. The first is the default.
func Orders() []Order {
	activity := func(sort, column string) Order {
		return Order{Sort: sort, Table: "agent_activity", Alias: "v", Key: "v.agent_id", Value: "v." + column}
	}
	return []Order{
		{Sort: "created", Table: "agents", Alias: "a", Key: "a.id"},
		{Sort: "handle", Table: "agents", Alias: "a", Key: "a.id", Value: "a.handle", Kind: Text, Rising: true},
		{Sort: "seen", Table: "agents", Alias: "a", Key: "a.id", Value: "a.last_seen_at", Where: "a.last_seen_at IS NOT NULL", Kind: Moment},
		activity("total", "predictions"),
		activity("settled", "settled"),
		activity("day", "predictions_day"),
		activity("month", "predictions_month"),
		activity("requests", "requests"),
		activity("errors", "errors"),
		activity("limited", "limited"),
	}
}

// everyAgent reports whether each agent has a value, so that no agents follow at the end.
func (o *Order) everyAgent() bool { return o.Value == "a.handle" }

// withoutValue returns the condition that an agent has no value in the order. It returns "" if the
// order has no values.
func (o *Order) withoutValue(agentID string) string {
	switch {
	case o.Value == "":
		return ""
	case o.Alias == "a":
		return "(SELECT " + strings.ReplaceAll(o.Value, o.Alias+".", "o.") + " IS NULL FROM agents AS o WHERE o.id = " + agentID + ")"
	}
	condition := "o.agent_id = " + agentID
	if o.Where != "" {
		condition += " AND " + strings.ReplaceAll(o.Where, o.Alias+".", "o.")
	}
	// Postgres may turn NOT EXISTS into a join that reads the whole table.
	return "(SELECT COUNT(*) FROM " + o.Table + " AS o WHERE " + condition + ") = 0"
}

// place is the place of an agent in an order.
type place struct {
	ID    uuid.UUID `bun:",type:uuid"`
	Num   float64   `bun:"num"`
	Whole int64     `bun:"whole"`
	Text  string    `bun:"text"`
	At    time.Time `bun:"moment,nullzero"`
	tail  bool      // among the agents without a value
	known bool      // false for the start
}

func (o *Order) value(p place) any {
	switch o.Kind {
	case Real:
		return p.Num
	case Text:
		return p.Text
	case Moment:
		return p.At
	}
	return p.Whole
}

// way returns the direction in which the order lists agents, as SQL.
func (o *Order) way() string {
	if o.Rising {
		return " ASC"
	}
	return " DESC"
}

// from narrows a query to the places after p.
func (o *Order) from(q *bun.SelectQuery, p place) {
	sign := "<"
	if o.Rising {
		sign = ">"
	}
	if p.known {
		q.Where("(?, ?) ? (?, ?)", bun.Safe(o.Value), bun.Safe(o.Key), bun.Safe(sign), o.value(p), p.ID)
	}
}

func (o *Order) encode(p place) string {
	var value string
	switch {
	case p.tail:
	case o.Kind == Text:
		value = p.Text
	case o.Kind == Moment:
		value = cursor.Time(p.At)
	case o.Kind == Real:
		value = strconv.FormatFloat(p.Num, 'g', -1, 64)
	default:
		value = strconv.FormatInt(p.Whole, 10)
	}
	return cursor.Encode(o.Sort, strconv.FormatBool(p.tail), value, p.ID.String())
}

// decode returns the place of a cursor; "" is the start. It returns 400 invalid_parameter for a
// cursor that encode didn't make for this order.
func (o *Order) decode(text string) (p place, err error) {
	if text == "" {
		return place{}, nil
	}
	parts, err := cursor.Decode(text, 4)
	if err != nil {
		return p, err
	}
	p.known, p.tail = true, parts[1] == "true"
	if p.ID, err = uuid.Parse(parts[3]); err == nil && !p.tail {
		err = o.parse(&p, parts[2])
	}
	if err != nil || parts[0] != o.Sort {
		return p, cursor.Invalid()
	}
	return p, nil
}

func (o *Order) parse(p *place, text string) (err error) {
	switch o.Kind {
	case Text:
		p.Text = text
	case Moment:
		p.At, err = cursor.ParseTime(text)
	case Real:
		p.Num, err = strconv.ParseFloat(text, 64)
		if math.IsNaN(p.Num) || math.IsInf(p.Num, 0) {
			err = errors.New("not a number")
		}
	default:
		p.Whole, err = strconv.ParseInt(text, 10, 64)
	}
	return err
}
