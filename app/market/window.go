package market

import (
	"math"
	"strconv"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// searched is how many markets a page looks at if it has filters or groups.
const searched = 1000

// position is the value that orders a market before its id.
type position struct {
	column  schema.QueryWithArgs // expression on markets AS m, the same as in an index
	falling bool
}

func (f Filter) position() position {
	switch f.Sort {
	case ByClosing:
		return position{f.closing(), f.Closed}
	case ByNewest:
		return position{bun.SafeQuery("m.first_seen_at"), true}
	}
	return position{bun.SafeQuery("COALESCE(m.volume, -1)"), true}
}

// order is the order of the list, on markets AS m.
func (f Filter) order() schema.QueryWithArgs {
	p := f.position()
	if p.falling {
		return bun.SafeQuery("? DESC, m.id", p.column)
	}
	return bun.SafeQuery("?, m.id", p.column)
}

// shortColumns are the columns that order markets, filter them and group them. The others can be long.
const shortColumns = "m.id, m.search_text, m.event_search_text, m.category, m.tags, m.volume, m.closes_at, m.closed_at, m.first_seen_at, m.event_id"

// window selects the next markets AS m in the order of the list, at most limit, without the other filters. It
// reads at most twice as many along an index.
func (f Filter) window(db bun.IDB, p *database.Planned, columns string, limit int) (*bun.SelectQuery, error) {
	next := func() *bun.SelectQuery {
		q := db.NewSelect().TableExpr("markets AS m").ColumnExpr(columns).Limit(int64(limit))
		if f.Closed {
			q.Where("m.closed")
		} else {
			q.Where("NOT m.closed").Where("m.active")
		}
		return q
	}
	rest := next().OrderExpr("?", f.order())
	if f.Cursor == "" {
		return rest, nil
	}
	value, id, err := f.readCursor()
	if err != nil {
		return nil, err
	}
	// Two queries that can each use an index. One condition with OR would be checked row by row.
	by := f.position()
	behind := bun.Safe(">")
	if by.falling {
		behind = "<"
	}
	tied := next().Where("? = ?", by.column, p.Value(value)).Where("m.id > ?", p.Value(id)).OrderExpr("m.id")
	rest.Where("? ? ?", by.column, behind, p.Value(value))
	both := db.NewSelect().TableExpr("(SELECT * FROM (?) AS tied UNION ALL SELECT * FROM (?) AS rest) AS m", tied, rest).Limit(int64(limit))
	return both.OrderExpr("?", f.order()), nil
}

// readCursor returns the order value and the id of the previous page's last market.
func (f Filter) readCursor() (value any, id string, err error) {
	parts, err := cursor.Decode(f.Cursor, 3)
	if err != nil || parts[0] != string(f.Sort) || plaintext.Check(parts[2], false) != "" {
		return nil, "", cursor.Invalid()
	}
	if f.Sort == ByVolume {
		value, err = readNumber(parts[1])
	} else {
		value, err = cursor.ParseTime(parts[1])
	}
	return value, parts[2], err
}

// formatNumber writes a number as a part of a cursor, and readNumber reads it.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func readNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, cursor.Invalid()
	}
	return v, nil
}
