package market

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Sort is an order of a list of markets. Ties are ordered by id.
type Sort string

// The three orders.
const (
	ByVolume  Sort = "volume"   // highest volume first, unknown last; the default
	ByClosing Sort = "closesAt" // open markets: next to close first; closed ones: last closed first; unknown last
	ByNewest  Sort = "newest"   // most recently first seen first
)

// Filter narrows a list of markets. A zero field doesn't filter.
type Filter struct {
	Category     string    // exact match, in lower case
	Tag          string    // a slug as TagSlug writes it, exact match
	Q            string    // at most plaintext.MaxWords words that must all begin a word of the question or title
	ClosesBefore time.Time // scheduled to close before this time
	Closed       bool      // closed markets instead of open ones
	Sort         Sort
	Cursor       string // the next that List returned for the previous page
	Limit        int    // at least 1
}

// hasTag returns the condition that a market m has a tag.
func hasTag(db bun.IDB, p *database.Planned, slug string) schema.QueryWithArgs {
	if database.IsPostgres(db) {
		list, _ := json.Marshal([]string{slug}) // strings always marshal
		return bun.SafeQuery("m.tags @> ?::jsonb", p.Value(string(list)))
	}
	return bun.SafeQuery("EXISTS (SELECT 1 FROM json_each(m.tags) AS t WHERE t.value = ?)", p.Value(slug))
}

// List returns one page of markets and the cursor of the next page, which is empty on the last. It refuses a
// cursor of another order and too many words. If f has filters, a page looks at no more than 1,000 markets. It
// may then hold fewer than Limit, or none, although there is a next page.
func (Store) List(ctx context.Context, db bun.IDB, f Filter) (page []Market, next string, err error) {
	f.Sort = cmp.Or(f.Sort, ByVolume)
	if err := checkWords(f.Q); err != nil || plaintext.Wordless(f.Q) {
		return nil, "", err
	}
	if f.narrows() {
		return f.search(ctx, db)
	}
	p := database.NewPlanned(db)
	looked, err := f.window(db, p, "m.*", f.Limit+1)
	if err != nil {
		return nil, "", err
	}
	q := db.NewSelect().Model(&page).ModelTableExpr("(?) AS m", looked).OrderExpr("?", f.order())
	if err := p.Scan(ctx, q); err != nil {
		return nil, "", fmt.Errorf("list markets: %w", err)
	}
	if page = inUTC(page); len(page) > f.Limit {
		page = page[:f.Limit]
		next = f.cursorAfter(&page[f.Limit-1])
	}
	return page, next, nil
}

// search is List with filters. It looks at the short columns of many markets and reads the ones it found. The same
// statement finds the matches and the end of the window, because a tick between two statements would move the end.
func (f Filter) search(ctx context.Context, db bun.IDB) (page []Market, next string, err error) {
	n := max(f.Limit+1, searched)
	p := database.NewPlanned(db)
	looked, err := f.window(db, p, shortColumns, n)
	if err != nil {
		return nil, "", err
	}
	placed := db.NewSelect().TableExpr("(?) AS m", looked).
		ColumnExpr("m.id, m.volume, m.closes_at, m.closed_at, m.first_seen_at").
		ColumnExpr("ROW_NUMBER() OVER (ORDER BY ?) AS place", f.order()).ColumnExpr("? AS found", f.matches(db, p))
	q := db.NewSelect().TableExpr("(?) AS m", placed).ColumnExpr("m.*").
		Where("m.found OR m.place = ?", n).OrderExpr("m.place").Limit(int64(f.Limit) + 1)
	var rows []struct {
		Market `bun:",extend"`
		Place  int
		Found  bool
	}
	if err := p.Scan(ctx, q, &rows); err != nil {
		return nil, "", fmt.Errorf("search markets: %w", err)
	}
	var found []string
	for i := range rows {
		rows[i].UTC()
		if rows[i].Found {
			found = append(found, rows[i].ID)
		}
	}
	switch last := len(rows) - 1; {
	case len(found) > f.Limit:
		found = found[:f.Limit]
		next = f.cursorAfter(&rows[f.Limit-1].Market)
	case last >= 0 && rows[last].Place == n: // the next page begins after the last market that this page looked at
		next = f.cursorAfter(&rows[last].Market)
	}
	page, err = Store{}.InOrder(ctx, db, found)
	return page, next, err
}

// checkWords refuses a search with too many words.
func checkWords(q string) error {
	if _, wrong := plaintext.Words(q); wrong != "" {
		return problem.InvalidParameter("q", wrong)
	}
	return nil
}

// narrows reports whether markets must be checked one by one.
func (f Filter) narrows() bool {
	return f.Category != "" || f.Tag != "" || !f.ClosesBefore.IsZero() || f.Q != ""
}

// matches is the condition that a market m matches.
func (f Filter) matches(db bun.IDB, p *database.Planned) schema.QueryWithArgs {
	all, args := []string{"TRUE"}, []any{}
	and := func(condition string, arg any) { all, args = append(all, condition), append(args, arg) }
	if f.Category != "" {
		and("m.category = ?", p.Value(f.Category))
	}
	if f.Tag != "" {
		and("?", hasTag(db, p, f.Tag))
	}
	if !f.ClosesBefore.IsZero() {
		and("m.closes_at < ?", p.Value(since1970(f.ClosesBefore)))
	}
	words, _ := plaintext.Words(f.Q)
	for _, word := range words {
		and("?", database.HasWord(db, "m.search_text", p.Value(plaintext.Beginning(word))))
	}
	return bun.SafeQuery("("+strings.Join(all, " AND ")+")", args...)
}

// since1970 returns at, but never a time before 1970. No market closed earlier, and Postgres has no year 0.
func since1970(at time.Time) time.Time {
	if at = database.Stored(at); at.Before(once) {
		return once
	}
	return at
}

// The times that replace an unknown close in the order by closing: never for an open market, once for a closed
// one. The indexes in the migration use the same times.
var (
	never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	once  = time.Unix(0, 0).UTC()
)

// closing returns the SQL expression for the order by closing.
func (f Filter) closing() schema.QueryWithArgs {
	if f.Closed {
		return bun.SafeQuery("COALESCE(m.closed_at, m.closes_at, ?)", once)
	}
	return bun.SafeQuery("COALESCE(m.closes_at, ?)", never)
}

// closingOf returns the value of closing for m.
func (f Filter) closingOf(m *Market) time.Time {
	switch {
	case f.Closed && !m.ClosedAt.IsZero():
		return m.ClosedAt
	case !m.ClosesAt.IsZero():
		return m.ClosesAt
	case f.Closed:
		return once
	default:
		return never
	}
}

// CursorAfter returns the cursor of the page that follows m in the list of open markets by volume.
func CursorAfter(m *Market) string { return Filter{Sort: ByVolume}.cursorAfter(m) }

func (f Filter) cursorAfter(last *Market) string {
	var value string
	switch f.Sort {
	case ByClosing:
		value = cursor.Time(f.closingOf(last))
	case ByNewest:
		value = cursor.Time(last.FirstSeenAt)
	default:
		volume := -1.0
		if last.Volume != nil {
			volume = *last.Volume
		}
		value = formatNumber(volume)
	}
	return cursor.Encode(string(f.Sort), value, last.ID)
}
