package market

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// shownPerGroup is how many markets of an event a Group holds.
const shownPerGroup = 3

// Group is an event with its likeliest markets, or a market that stands alone.
type Group struct {
	Event   *Event   // nil for a market that stands alone
	Markets []Market // highest probability first, at most three
	Total   int      // number of the event's listed markets: open ones, or closed ones
}

// GroupFilter narrows a list of groups. A zero field doesn't filter. If one market of a group matches, the
// whole group is listed.
type GroupFilter struct {
	Category   string // exact match
	Tag        string // a slug as TagSlug writes it, exact match
	Q          string // words that must all occur in a market's question or title, or in the event's title
	Closed     bool   // closed markets instead of open ones
	EventsOnly bool   // leave out markets that stand alone
	// ClosesBefore keeps groups with a market that is scheduled to close before this time.
	ClosesBefore time.Time
	Sort         Sort
	After        string // the cursor of the previous page
	Limit        int    // at least 1
}

// groupRow is a group without its markets.
type groupRow struct {
	GroupKey string
	Volume   float64   // -1 if unknown
	At       time.Time // the key of the orders by close and by age
}

// GroupedMarkets is how many markets are grouped: the open ones with the highest volume, or those that closed
// last.
const GroupedMarkets = searched

// Groups returns one page of events and of markets that stand alone, in the order of the filter. next is the
// cursor of the next page, empty on the last page. Unknown volumes come last, and ties are ordered by key. A
// group is listed only if at least one of its markets is among the GroupedMarkets.
func (s Store) Groups(ctx context.Context, db bun.IDB, f GroupFilter) (page []Group, next string, err error) {
	f.Sort = cmp.Or(f.Sort, ByVolume)
	var rows []groupRow
	p := database.NewPlanned(db)
	q, err := f.query(db, p)
	if err != nil {
		return nil, "", err
	}
	if err := f.page(q.Limit(int64(f.Limit)+1), p); err != nil {
		return nil, "", err
	}
	if err := p.Scan(ctx, q, &rows); err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = f.cursorAfter(&rows[f.Limit-1])
	}
	page, err = s.groups(ctx, db, rows, f.Closed)
	return page, next, err
}

// query selects every group with the values that order it.
func (f GroupFilter) query(db bun.IDB, p *database.Planned) (*bun.SelectQuery, error) {
	listed := Filter{Closed: f.Closed, Sort: ByVolume}
	if f.Closed {
		listed.Sort = ByClosing
	}
	looked, err := listed.window(db, p, shortColumns, GroupedMarkets)
	if err != nil {
		return nil, err
	}
	at := bun.SafeQuery("MAX(m.first_seen_at)")
	if f.Sort == ByClosing && f.Closed {
		at = bun.SafeQuery("MAX(?)", listed.closing())
	} else if f.Sort == ByClosing {
		at = bun.SafeQuery("MIN(?)", listed.closing())
	}
	grouped := db.NewSelect().TableExpr("(?) AS m", looked).
		ColumnExpr("? AS group_key", bun.Safe(EventKeySQL)).ColumnExpr("? AS at", at).
		ColumnExpr("MAX(m.event_id) AS event_id").ColumnExpr("MAX(m.volume) AS volume").
		GroupExpr("?", bun.Safe(EventKeySQL))
	if f.EventsOnly {
		grouped.Where("m.event_id IS NOT NULL")
	}
	f.narrow(grouped, p)
	// A subquery, because with a join Postgres would read all events.
	ranked := db.NewSelect().TableExpr("(?) AS g", grouped).Column("group_key", "at").
		ColumnExpr("COALESCE((SELECT e.volume FROM market_events AS e WHERE e.id = g.event_id), g.volume, -1.0) AS volume")
	return db.NewSelect().TableExpr("(?) AS g", ranked).Column("group_key", "volume", "at"), nil
}

// narrow keeps the groups that have a matching market.
func (f GroupFilter) narrow(grouped *bun.SelectQuery, p *database.Planned) {
	if f.Category != "" {
		f.having(grouped, "m.category = ?", p.Value(f.Category))
	}
	if f.Tag != "" {
		f.having(grouped, "?", hasTag(grouped.DB(), p, f.Tag))
	}
	if !f.ClosesBefore.IsZero() {
		f.having(grouped, "m.closes_at < ?", p.Value(since1970(f.ClosesBefore)))
	}
	var parts []string
	var args []any
	for word := range strings.FieldsSeq(QuestionKey(f.Q)) {
		parts = append(parts, "(? OR ?)")
		args = append(args, occurs(grouped.DB(), p, word, "m.search_text"), occurs(grouped.DB(), p, word, "m.event_search_text"))
	}
	if len(parts) > 0 {
		f.having(grouped, strings.Join(parts, " AND "), args...)
	}
}

// having keeps the groups that have a market which meets the condition.
func (f GroupFilter) having(q *bun.SelectQuery, condition string, args ...any) {
	q.Having("SUM(CASE WHEN "+condition+" THEN 1 ELSE 0 END) > 0", args...)
}

// page orders the groups and begins after the last row of the previous page.
func (f GroupFilter) page(q *bun.SelectQuery, p *database.Planned) error {
	column, falling := "at", true
	switch {
	case f.Sort == ByVolume:
		column = "volume"
	case f.Sort == ByClosing && !f.Closed:
		falling = false
	}
	direction, behind := bun.Safe("DESC"), bun.Safe("<")
	if !falling {
		direction, behind = "ASC", ">"
	}
	q.OrderExpr("g.? ?, g.group_key", bun.Ident(column), direction)
	if f.After == "" {
		return nil
	}
	parts, err := cursor.Decode(f.After, 3)
	if err != nil || parts[0] != "g"+string(f.Sort) || plaintext.Check(parts[2], false) != "" {
		return cursor.Invalid()
	}
	var place any
	if f.Sort == ByVolume {
		place, err = readVolume(parts[1])
	} else {
		place, err = cursor.ParseTime(parts[1])
	}
	if err != nil {
		return err
	}
	c := bun.Ident(column)
	q.Where("(g.? ? ? OR (g.? = ? AND g.group_key > ?))", c, behind, p.Value(place), c, p.Value(place), p.Value(parts[2]))
	return nil
}

func (f GroupFilter) cursorAfter(last *groupRow) string {
	place := cursor.Time(last.At.UTC())
	if f.Sort == ByVolume {
		place = strconv.FormatFloat(last.Volume, 'g', -1, 64)
	}
	return cursor.Encode("g"+string(f.Sort), place, last.GroupKey)
}

// groups reads the events and the most probable markets of rows.
func (s Store) groups(ctx context.Context, db bun.IDB, rows []groupRow, closed bool) ([]Group, error) {
	var eventIDs, alone []string
	for _, row := range rows {
		if id := EventID(row.GroupKey); id != "" {
			eventIDs = append(eventIDs, id)
		} else {
			alone = append(alone, strings.TrimPrefix(row.GroupKey, alonePrefix))
		}
	}
	events, err := s.EventsByID(ctx, db, eventIDs)
	if err != nil {
		return nil, err
	}
	totals, err := listedOf(ctx, db, eventIDs, closed)
	if err != nil {
		return nil, err
	}
	found, err := likeliest(ctx, db, eventIDs, closed)
	if err != nil {
		return nil, err
	}
	singles, err := s.ByIDs(ctx, db, alone)
	if err != nil {
		return nil, err
	}
	markets := make(map[string][]Market, len(rows))
	for _, m := range append(found, singles...) {
		markets[m.EventKey()] = append(markets[m.EventKey()], m)
	}
	page := make([]Group, len(rows))
	for i, row := range rows {
		id := EventID(row.GroupKey)
		page[i] = Group{Event: events[id], Markets: markets[row.GroupKey], Total: cmp.Or(totals[id], 1)}
	}
	return page, nil
}

// isClosed returns TRUE or NOT TRUE, to compare m.closed with. SQLite would look up "m.closed = TRUE" in an index,
// and read all closed markets instead of the few of the events.
func isClosed(closed bool) bun.Safe {
	if closed {
		return "TRUE"
	}
	return "NOT TRUE"
}

// listedOf counts the open or closed markets of each event.
func listedOf(ctx context.Context, db bun.IDB, eventIDs []string, closed bool) (map[string]int, error) {
	totals := make(map[string]int, len(eventIDs))
	if len(eventIDs) == 0 {
		return totals, nil
	}
	var counts []struct {
		EventID string
		Total   int
	}
	err := db.NewSelect().TableExpr("markets AS m").Column("m.event_id").ColumnExpr("COUNT(*) AS total").
		Where("m.event_id IN ?", bun.Tuple(eventIDs)).Where("m.closed IS ?", isClosed(closed)).Where("m.active OR m.closed").
		GroupExpr("m.event_id").Scan(ctx, &counts)
	if err != nil {
		return nil, fmt.Errorf("count the markets of events: %w", err)
	}
	for _, c := range counts {
		totals[c.EventID] = c.Total
	}
	return totals, nil
}

// likeliest reads the most probable markets of each event, highest probability first.
func likeliest(ctx context.Context, db bun.IDB, eventIDs []string, closed bool) ([]Market, error) {
	if len(eventIDs) == 0 {
		return nil, nil
	}
	const order = "COALESCE(m.probability, -1) DESC, m.id"
	numbered := db.NewSelect().Model((*Market)(nil)).Column("m.id").
		ColumnExpr("ROW_NUMBER() OVER (PARTITION BY m.event_id ORDER BY "+order+") AS n").
		Where("m.event_id IN ?", bun.Tuple(eventIDs)).Where("m.closed IS ?", isClosed(closed)).Where("m.active OR m.closed")
	var markets []Market
	err := db.NewSelect().Model(&markets).
		Where("m.id IN (SELECT id FROM (?) AS numbered WHERE n <= ?)", numbered, shownPerGroup).OrderExpr(order).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the likeliest markets of events: %w", err)
	}
	return inUTC(markets), nil
}
