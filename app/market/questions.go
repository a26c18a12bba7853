package market

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// questionWindow is how many open markets, and how many closed ones, a list of yes-or-no questions looks at.
// They are the first in the list's order.
const questionWindow = 5000

// QuestionFilter narrows a list of markets with the outcomes Yes and No. A zero field doesn't filter, but if
// neither Open nor Closed is set, the list is empty.
type QuestionFilter struct {
	Open, Closed bool
	// AnyOf keeps markets in one of Categories or with one of IDs. If both are empty, it doesn't filter.
	Categories, IDs []string
	// Only keeps the markets with these ids, unless it is nil.
	Only []string
	// Bounds of the times first seen and scheduled to close. The bounds themselves are excluded.
	SeenAfter, SeenBefore, ClosesAfter, ClosesBefore time.Time

	Sort     Sort
	Reversed bool // reverses the order of the markets looked at
	Offset   int
	Limit    int // at least 1
}

// IsQuestion reports whether a market has the outcomes Yes and No, in either order.
func (m *Market) IsQuestion() bool {
	return len(m.Outcomes) == 2 && m.OutcomeIndex("yes") >= 0 && m.OutcomeIndex("no") >= 0
}

// questionSQL approximates IsQuestion for markets AS m. It allows for spaces, because the two databases write
// lists differently.
const questionSQL = `replace(lower(CAST(m.outcomes AS TEXT)), ' ', '') IN ('["yes","no"]', '["no","yes"]')`

// ListQuestions returns Limit yes-or-no markets from Offset on. more reports whether there are others after
// them.
func (s Store) ListQuestions(ctx context.Context, db bun.IDB, f QuestionFilter) (page []Market, more bool, err error) {
	if f.Offset >= 2*questionWindow || !(f.Open || f.Closed) || (f.Only != nil && len(f.Only) == 0) {
		return nil, false, nil
	}
	q := db.NewSelect().ColumnExpr("m.id").TableExpr("(?) AS m", f.window(db)).Where(questionSQL)
	f.narrow(q)
	f.order(q)
	var ids []string
	if err := q.Offset(int64(f.Offset)).Limit(int64(f.Limit)+1).Scan(ctx, &ids); err != nil {
		return nil, false, fmt.Errorf("list questions: %w", err)
	}
	if more = len(ids) > f.Limit; more {
		ids = ids[:f.Limit]
	}
	page, err = s.InOrder(ctx, db, ids)
	return page, more, err
}

// window selects the markets that the list looks at, along the indexes of the list of markets.
func (f *QuestionFilter) window(db bun.IDB) *bun.SelectQuery {
	part := func(closed bool) *bun.SelectQuery {
		q := db.NewSelect().TableExpr("markets AS m").Limit(questionWindow).
			ColumnExpr("m.id, m.outcomes, m.category, m.closes_at, m.closed_at, m.first_seen_at, m.volume")
		if closed {
			q.Where("m.closed")
		} else {
			q.Where("NOT m.closed").Where("m.active")
		}
		return q.OrderExpr("?", Filter{Sort: f.Sort, Closed: closed}.order())
	}
	switch {
	case f.Open && f.Closed:
		return db.NewSelect().TableExpr("(SELECT * FROM (?) AS a UNION ALL SELECT * FROM (?) AS b) AS m", part(false), part(true))
	default:
		return part(f.Closed)
	}
}

func (f *QuestionFilter) narrow(q *bun.SelectQuery) {
	if len(f.Categories)+len(f.IDs) > 0 {
		q.Where("m.category IN (?) OR m.id IN (?)", bun.List(append(f.Categories, "")), bun.List(append(f.IDs, "")))
	}
	if f.Only != nil {
		q.Where("m.id IN (?)", bun.List(f.Only))
	}
	for _, bound := range []struct {
		condition string
		at        time.Time
	}{
		{"m.first_seen_at > ?", f.SeenAfter}, {"m.first_seen_at < ?", f.SeenBefore},
		{"m.closes_at > ?", f.ClosesAfter}, {"m.closes_at < ?", f.ClosesBefore},
	} {
		if !bound.at.IsZero() {
			q.Where(bound.condition, since1970(bound.at))
		}
	}
}

// order ignores whether markets are closed, because a list may contain both.
func (f *QuestionFilter) order(q *bun.SelectQuery) {
	direction := bun.Safe("")
	p := Filter{Sort: f.Sort}.position()
	if p.falling != f.Reversed {
		direction = "DESC"
	}
	q.OrderExpr("? ?, m.id", p.column, direction)
}
