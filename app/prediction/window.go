package prediction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// A list walks along one index, from where the previous page ended. The index begins with the columns that a
// filter fixes, and continues in the order of the list. The other filters are checked on each prediction, for
// at most window of them.

// window is how many predictions a page looks at if it must check filters or sort them. windowApart is the
// number for a list by edge or resolution and for a search, whose rows lie far apart and cost more.
// moreForHidden is how many more a page looks at if some texts were hidden, and mostForHidden if these didn't
// suffice.
const (
	window        = 300
	windowApart   = 100
	moreForHidden = 8
	mostForHidden = 1000
)

// walk is a query on agent_id and id of predictions AS w in the order of a list.
type walk struct {
	*bun.SelectQuery
	list    *Filter
	planned *database.Planned
	rest    Filter // the filters still to check
	texts   bool   // leave out hidden texts
	whole   bool   // read whole records by the same statement, because the list shows almost all
	search  bool   // the index is Postgres's word index, which has no order; see inSpans
	// fits are the conditions for rest. shown are those under which the viewer sees the texts that matched; see check.
	fits, shown []condition
}

// narrows reports whether f has any filter.
func (f *Filter) narrows() bool {
	return f.AgentID != uuid.Nil || f.MarketID != "" || f.EventID != "" || f.Category != "" || f.Status != "" || f.Words != ""
}

// Searches reports whether a page may look at many more predictions than it lists.
func (f *Filter) Searches() bool {
	filters := 0
	for _, set := range []bool{
		f.AgentID != uuid.Nil, f.MarketID != "", f.EventID != "", f.Category != "", f.Status != "", f.Sort != "" && f.Sort != ByCreatedAt,
	} {
		if set {
			filters++
		}
	}
	return f.Words != "" || filters > 1
}

// lists reports whether the list can hold any prediction.
func (f *Filter) lists() bool {
	decided := f.Status == Resolved || (f.Status == Void && f.Sort == ByResolvedAt)
	return (f.Sort == ByCreatedAt || f.Status == "" || decided) && (f.Words == "" || len(cutWords(f.Words)) > 0)
}

// walk chooses the index. Conditions of partial indexes are literals, so that a plan for any value can use the
// index.
func (f *Filter) walk(db bun.IDB) *walk {
	w := &walk{
		SelectQuery: db.NewSelect().Column("w.agent_id", "w.id"), list: f, planned: f.plan(db), rest: *f,
		texts: f.Words != "" || f.Category != "",
	}
	predictions, results := func() { w.TableExpr("predictions AS w") }, func() { w.TableExpr("results AS w") }
	byAgent := func() { w.Where("w.agent_id = ?", f.AgentID); w.rest.AgentID = uuid.Nil }
	byMarket := func() { w.Where("w.market_id = ?", f.MarketID); w.rest.MarketID = "" }
	byStatus := func() { w.Where("w.status = ?", f.Status); w.rest.Status = "" }
	switch column := f.column(); {
	case f.inIndexOfWords(db):
		w.rest.Words, w.search = "", database.IsPostgres(db)
		if !w.search {
			w.TableExpr("prediction_words AS w").Where("prediction_words MATCH ?", w.planned.Value(`"`+strings.Join(cutWords(f.Words), `" "`)+`"`))
		}
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
	case f.walksOpen():
		results()
		w.Where(onMarket(db, "w"), f.MarketID).Where("w.status = 'open'")
		w.rest.MarketID, w.rest.Status = "", ""
	case f.MarketID != "":
		predictions()
		byMarket()
	case f.EventID != "":
		predictions()
		w.Where("w.event_key = ?", market.EventKey(f.EventID))
		w.rest.EventID = ""
	case f.Status != "" && (f.Status == Void || f.Category == ""):
		results()
		byStatus()
	case f.Category != "":
		predictions()
		w.Where("w.category = ?", f.Category).Where(strings.Replace(revealed, "p.", "w.", 1))
		w.rest.Category = ""
	default:
		if predictions(); f.Established {
			w.Where("NOT w.newcomer")
		}
	}
	return w
}

// onMarket returns the condition that a row of results AS alias is on a market. It is for queries on open
// predictions in the order of market and id. With an equality, Postgres might choose the index over status and
// read all open predictions. So the market is a range there, and only one index has that order.
func onMarket(db bun.IDB, alias string) string {
	if database.IsPostgres(db) {
		return alias + ".market_id BETWEEN ?0 AND ?0"
	}
	return alias + ".market_id = ?0"
}

// inIndexOfWords reports whether the list walks the search index. On Postgres an agent or a market has few enough
// predictions to look at each.
func (f *Filter) inIndexOfWords(db bun.IDB) bool {
	return f.Words != "" && (!database.IsPostgres(db) || (f.AgentID == uuid.Nil && f.MarketID == ""))
}

// walksOpen reports whether the list walks the index of open predictions on a market.
func (f *Filter) walksOpen() bool {
	return f.MarketID != "" && f.Status == Open && f.AgentID == uuid.Nil && f.Words == "" && f.Sort == ByCreatedAt
}

// column returns the column that the list is ordered by before the id, or "" if there is none.
func (f *Filter) column() string {
	return map[Sort]string{ByResolvedAt: "resolved_at", ByEdge: "edge"}[f.Sort]
}

// plan begins a query on the walk.
func (f *Filter) plan(db bun.IDB) *database.Planned {
	if f.plansOnce(db) {
		return database.NewPlanned(db)
	}
	return &database.Planned{}
}

// plansOnce reports whether one plan of the walk suits every value: that of a search, and of the newest predictions.
// Other lists may need another index for a frequent value than for a rare one.
func (f *Filter) plansOnce(db bun.IDB) bool {
	return f.inIndexOfWords(db) || (!f.narrows() && f.Sort == ByCreatedAt)
}

// readsWhole reports whether one statement that walks and reads the records costs less than two. On SQLite, where a
// second statement needs no message to a server, it costs more; see docs/decisions/0011-speed.md.
func (f *Filter) readsWhole(db bun.IDB) bool {
	return database.IsPostgres(db) && f.plansOnce(db) && !f.ranked()
}

// begin sets the order of the walk and continues it after a place.
func (w *walk) begin(db bun.IDB, after *place) {
	f, column := w.list, w.list.column()
	switch {
	case f.byPosition(db):
		w.ColumnExpr("w.rowid AS position").OrderExpr("w.rowid DESC")
		if after != nil && !f.ranked() {
			w.Where("w.rowid < ?", w.planned.Value(after.Position))
		}
	case column == "" || f.ranked():
		if f.walksOpen() {
			w.OrderExpr("w.market_id DESC")
		}
		w.OrderExpr("w.id DESC")
		if after != nil && !f.ranked() {
			w.Where(w.before(db), w.planned.Value(after.ID))
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

// before returns the condition that a row comes before an id. On Postgres, the id of a planned walk is a subquery: if
// Postgres knew the id, it might plan the walk anew for each one.
func (w *walk) before(db bun.IDB) string {
	if database.IsPostgres(db) && !w.list.narrows() {
		return "w.id < (SELECT ?::uuid)"
	}
	return "w.id < ?"
}

// byPosition reports whether the list walks SQLite's search index, whose only order is that of its rows.
func (f *Filter) byPosition(db bun.IDB) bool { return f.Words != "" && !database.IsPostgres(db) }

// look walks along the index for f. It returns the places it looked at, in the order of the list, and whether
// there may be more.
//
// With whole, it may read the records by the same statement.
//
// It doesn't count or return predictions whose hidden texts matched, so that neither the page nor its cursor depends
// on such a match. Only if there are more than mostForHidden of them, the last place is one of them.
func (s Store) look(ctx context.Context, db bun.IDB, f Filter, after *place, whole bool) (looked []place, more bool, err error) {
	if !f.lists() {
		return nil, false, nil
	}
	var all []place
	limit, full := 0, false
	for _, spare := range []int{0, moreForHidden, mostForHidden} {
		w := f.walk(db)
		s.check(w)
		limit = w.looksAt()
		w.whole = whole && spare < mostForHidden && f.readsWhole(db) && !w.rest.narrows()
		if all, err = s.places(ctx, db, w, after, limit+spare); err != nil {
			return nil, false, fmt.Errorf("list predictions: %w", err)
		}
		looked = slices.DeleteFunc(slices.Clone(all), func(at place) bool { return !at.Shown })
		if full = len(all) == limit+spare; !full || len(looked) >= limit {
			break
		}
	}
	switch {
	case len(looked) >= limit:
		if more = true; f.ranked() {
			limit = window // one more than it ranks tells whether older ones are left out
		}
		looked = looked[:limit]
	case full:
		if more = true; !f.ranked() {
			last := all[len(all)-1]
			last.Fits = last.Fits && last.Shown
			looked = append(looked, last)
		}
	}
	slices.SortFunc(looked, func(a, b place) int { return a.compare(&b, f.Sort) })
	return looked, more, nil
}

// looksAt returns how many predictions a page looks at, apart from hidden ones.
func (w *walk) looksAt() int {
	f := w.list
	limit := f.Limit + 1
	switch {
	case f.ranked():
		return window + 1
	case w.rest.narrows() && (f.Sort != ByCreatedAt || f.Words != ""):
		return max(windowApart, limit)
	case w.rest.narrows():
		return max(window, limit)
	}
	return limit
}

// places returns the next places along the index, at most limit, in the order of the walk.
func (s Store) places(ctx context.Context, db bun.IDB, w *walk, after *place, limit int) (list []place, err error) {
	f, q := w.list, w.SelectQuery
	if w.search {
		if q, err = f.inSpans(ctx, db, w.planned, after, limit); err != nil {
			return nil, err
		}
	} else {
		w.begin(db, after)
		q.Limit(int64(limit))
	}
	if w.whole {
		list, err = s.wholePlaces(ctx, db, w, q)
	} else {
		err = w.planned.Scan(ctx, w.judged(db, q), &list)
	}
	if err != nil {
		return nil, err
	}
	order := f.Sort
	if f.ranked() {
		order = ByCreatedAt // the newest are ranked
	}
	slices.SortFunc(list, func(a, b place) int { return a.compare(&b, order) })
	return list, nil
}

// judged adds to the places of q whether they fit and are shown.
func (w *walk) judged(db bun.IDB, q *bun.SelectQuery) *bun.SelectQuery {
	if len(w.fits)+len(w.shown) == 0 && !w.list.ranked() {
		return q.ColumnExpr("TRUE AS fits, TRUE AS shown")
	}
	q = db.NewSelect().TableExpr("(?) AS w", q).ColumnExpr("w.*")
	if w.list.ranked() {
		q.ColumnExpr("("+ofResult+") AS ?", bun.Ident("s."+w.list.column()), bun.Ident(w.list.column()))
	}
	meet(q, "fits", w.fits)
	meet(q, "shown", w.shown)
	return q
}

// wholePlaces reads the places of q together with their records.
func (s Store) wholePlaces(ctx context.Context, db bun.IDB, w *walk, q *bun.SelectQuery) ([]place, error) {
	var rows []recordRow
	read := selectRecords(db.NewSelect().ModelTableExpr("(?) AS w CROSS JOIN prediction_records AS p", q)).
		Where("p.agent_id = w.agent_id").Where("p.id = w.id")
	if err := w.planned.Scan(ctx, read, &rows); err != nil {
		return nil, err
	}
	list := make([]place, len(rows))
	for i := range rows {
		r := s.record(&rows[i])
		shown := !w.texts || s.viewer.Admin || !r.Hidden
		list[i] = place{AgentID: r.AgentID, ID: r.ID, Fits: true, Shown: shown, record: &r}
	}
	return list, nil
}

// meet adds a column that says whether all conditions are met.
func meet(q *bun.SelectQuery, column string, conditions []condition) {
	all := condition{"?", []any{true}}
	for _, c := range conditions {
		all.text += " AND " + c.text
		all.args = append(all.args, c.args...)
	}
	q.ColumnExpr("COALESCE("+all.text+", FALSE) AS "+column, all.args...)
}

// condition is an SQL expression with its values.
type condition struct {
	text string
	args []any
}

// Subqueries for values of a place. As joins, Postgres would read all predictions; as scalar subqueries it
// looks up only the 300.
const (
	ofPrediction = "SELECT ? FROM predictions AS p WHERE p.agent_id = w.agent_id AND p.id = w.id"
	ofResult     = "SELECT ? FROM results AS s WHERE s.agent_id = w.agent_id AND s.id = w.id"
	ofWords      = "SELECT ? FROM prediction_words AS x WHERE x.agent_id = w.agent_id AND x.id = w.id"
)

// check sets the conditions for the filters that the walk didn't apply, and those under which the viewer sees the
// texts that the walk or a filter matched.
func (s Store) check(w *walk) {
	p := w.planned
	of := func(of, text string, args ...any) condition {
		return condition{"(" + strings.Replace(of, "?", text, 1) + ")", args}
	}
	check := func(table, text string, args ...any) { w.fits = append(w.fits, of(table, text, args...)) }
	if w.rest.AgentID != uuid.Nil {
		w.fits = append(w.fits, condition{"w.agent_id = ?", []any{p.Value(w.rest.AgentID)}})
	}
	if w.rest.MarketID != "" {
		check(ofPrediction, "p.market_id = ?", p.Value(w.rest.MarketID))
	}
	if w.rest.EventID != "" {
		check(ofPrediction, "p.event_key = ?", p.Value(market.EventKey(w.rest.EventID)))
	}
	if w.rest.Category != "" {
		check(ofPrediction, "p.category = ? AND "+revealed, p.Value(w.rest.Category))
	}
	if w.rest.Status != "" {
		check(ofResult, "s.status = ?", p.Value(w.rest.Status))
	}
	if w.rest.Words != "" {
		check(ofWords, "x.words @> ?::bigint[]", p.Value(pgdialect.Array(wordKeys(cutWords(w.rest.Words)))))
	}
	if w.texts && !s.viewer.Admin {
		w.shown = []condition{of(ofPrediction, textsShown), {agent.ShowsTexts("w.agent_id"), nil}}
	}
}
