package prediction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// A list walks along one index, from where the page before ended. The index begins with
// columns that a filter fixes and goes on in the order of the list. Whatever other filters
// there are is checked prediction by prediction, for at most window of them.

// window is how many predictions a page looks at if there are filters to check.
const window = 300

// walk is a query on agent_id and id of predictions AS w in the order of a list, and the
// filters that are left to check.
type walk struct {
	*bun.SelectQuery
	rest  Filter
	texts bool // hidden texts must not be found
}

// lists reports whether any prediction can be in the list.
func (f *Filter) lists() bool {
	decided := f.Status == Resolved || (f.Status == Void && f.Sort == ByResolvedAt)
	return (f.Sort == ByCreatedAt || f.Status == "" || decided) && (f.Words == "" || len(wordsOf(f.Words)) > 0)
}

// walk chooses the index. Conditions that partial indexes have are not values, so that a plan
// for any value can use the index.
func (f *Filter) walk(db bun.IDB) walk {
	w := walk{SelectQuery: db.NewSelect().Column("w.agent_id", "w.id"), rest: *f, texts: f.Words != "" || f.Category != ""}
	predictions, results := func() { w.TableExpr("predictions AS w") }, func() { w.TableExpr("results AS w") }
	byAgent := func() { w.Where("w.agent_id = ?", f.AgentID); w.rest.AgentID = uuid.Nil }
	byMarket := func() { w.Where("w.market_id = ?", f.MarketID); w.rest.MarketID = "" }
	byStatus := func() { w.Where("w.status = ?", f.Status); w.rest.Status = "" }
	switch column := f.column(); {
	case f.Words != "" && (!database.IsPostgres(db) || (f.AgentID == uuid.Nil && f.MarketID == "")):
		w.TableExpr("prediction_words AS w")
		whereWords(w.SelectQuery, f.Words)
		w.rest.Words = ""
	case column != "" && !f.ranked():
		results()
		w.Column("w." + column).Where("w." + column + " IS NOT NULL")
		if f.AgentID != uuid.Nil {
			byAgent()
		}
	case f.AgentID != uuid.Nil:
		predictions()
		if byAgent(); f.MarketID != "" {
			byMarket()
		}
	case f.MarketID != "" && f.Status == Open:
		results()
		byMarket()
		w.Where("w.status = 'open'")
		w.rest.Status = ""
	case f.MarketID != "":
		predictions()
		byMarket()
	case f.Status != "" && (f.Status == Void || f.Category == ""):
		results()
		byStatus()
	case f.Category != "":
		predictions()
		w.Where("w.category = ?", f.Category)
		w.rest.Category = ""
	default:
		predictions()
	}
	return w
}

// column is what the list is ordered by before the id, "" for nothing.
func (f *Filter) column() string {
	return map[Sort]string{ByResolvedAt: "resolved_at", ByEdge: "edge"}[f.Sort]
}

// begin orders the walk and lets it go on after a place.
func (f *Filter) begin(w walk, db bun.IDB, after *place) {
	column := f.column()
	switch {
	case f.byPosition(db):
		w.ColumnExpr("w.rowid AS position").OrderExpr("w.rowid DESC")
		if after != nil && !f.ranked() {
			w.Where("w.rowid < ?", after.Position)
		}
	case column == "" || f.ranked():
		w.OrderExpr("w.id DESC")
		if after != nil && !f.ranked() {
			w.Where("w.id < ?", after.ID)
		}
	default:
		w.OrderExpr("w." + column + " DESC, w.id DESC")
		if after != nil {
			value := any(after.ResolvedAt)
			if f.Sort == ByEdge {
				value = *after.Edge
			}
			w.Where("(w."+column+", w.id) < (?, ?)", value, after.ID)
		}
	}
}

// byPosition reports whether the search index of SQLite is walked, which knows no order but
// that of its rows.
func (f *Filter) byPosition(db bun.IDB) bool { return f.Words != "" && !database.IsPostgres(db) }

// look walks along the index for f. It returns the places it looked at in the order of the
// list, and whether there may be more after them.
func (s Store) look(ctx context.Context, db bun.IDB, f Filter, after *place) (looked []place, more bool, err error) {
	if !f.lists() {
		return nil, false, nil
	}
	w := f.walk(db)
	f.begin(w, db, after)
	joins, fits := s.checks(w, f)
	limit := f.Limit + 1
	if len(fits) > 0 || f.ranked() {
		limit = max(window, limit)
	}
	q := w.Limit(int64(limit))
	if len(fits) == 0 && !f.ranked() {
		q = q.ColumnExpr("TRUE AS fits")
	} else {
		q = db.NewSelect().TableExpr("(?) AS w", q).ColumnExpr("w.*")
		if f.ranked() {
			joins["results AS s"] = true
			q = q.Column("s." + f.column())
		}
		for _, table := range []string{"predictions AS p", "results AS s", "prediction_words AS x"} {
			if joins[table] {
				alias := table[len(table)-1:]
				q = q.Join("LEFT JOIN " + table + " ON " + alias + ".agent_id = w.agent_id AND " + alias + ".id = w.id")
			}
		}
		texts, args := make([]string, len(fits)), make([]any, 0, len(fits))
		for i, c := range fits {
			texts[i] = c.text
			args = append(args, c.args...)
		}
		q = q.ColumnExpr("COALESCE("+strings.Join(append(texts, "TRUE"), " AND ")+", FALSE) AS fits", args...)
	}
	if err := q.Scan(ctx, &looked); err != nil {
		return nil, false, fmt.Errorf("list predictions: %w", err)
	}
	slices.SortFunc(looked, func(a, b place) int { return a.compare(&b, f.Sort) })
	return looked, len(looked) == limit && !f.ranked(), nil
}

// condition is a piece of SQL and its values.
type condition struct {
	text string
	args []any
}

// checks are the conditions for what the walk leaves, and the tables they need.
func (s Store) checks(w walk, f Filter) (joins map[string]bool, fits []condition) {
	joins = map[string]bool{}
	check := func(table, text string, args ...any) {
		joins[table] = true
		fits = append(fits, condition{text, args})
	}
	if w.rest.AgentID != uuid.Nil {
		fits = append(fits, condition{"w.agent_id = ?", []any{w.rest.AgentID}})
	}
	if w.rest.MarketID != "" {
		check("predictions AS p", "p.market_id = ?", w.rest.MarketID)
	}
	if w.rest.Category != "" {
		check("predictions AS p", "p.category = ?", w.rest.Category)
	}
	if w.rest.Status != "" {
		check("results AS s", "s.status = ?", w.rest.Status)
	}
	if w.rest.Words != "" {
		check("prediction_words AS x", "x.words @@ plainto_tsquery('simple', ?)", strings.Join(wordsOf(f.Words), " "))
	}
	if w.texts && !s.viewer.Admin {
		check("predictions AS p", "NOT p.hidden")
		fits = append(fits, condition{agent.ShowsTexts("w.agent_id"), nil})
	}
	return joins, fits
}
