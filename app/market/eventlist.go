package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/memo"
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

// GroupFilter narrows a list of groups. A zero field doesn't filter. If one market of a group matches all
// fields, the whole group is listed.
type GroupFilter struct {
	Category   string // exact match
	Tag        string // a slug as TagSlug writes it, exact match
	Q          string // at most plaintext.MaxWords words that must all begin a word of a market's question or title, or of the event's title
	Closed     bool   // closed markets instead of open ones
	EventsOnly bool   // leave out markets that stand alone
	// ClosesBefore keeps groups with a market that is scheduled to close before this time.
	ClosesBefore time.Time
	Sort         Sort
	Cursor       string // the next that List returned for the previous page
	Limit        int    // at least 1
}

// GroupedMarkets is how many markets are grouped: the open ones with the highest volume, or those that closed
// last.
const GroupedMarkets = searched

// Groups lists events and markets that stand alone. It keeps what filters and orders the GroupedMarkets in
// memory, about a megabyte, because a database takes longer to group them than for the rest of a page. It is safe
// for concurrent use.
type Groups struct {
	now     func() time.Time
	members *memo.Cache[memberKey, []member]
}

// memberKey identifies a list of members. The primary and its replica can have different ticks.
type memberKey struct{ closed, replica bool }

// membersFor is how long members are kept if no tick changes them.
const membersFor = time.Minute

// NewGroups returns Groups. moved returns a value that changes with each tick of the markets.
func NewGroups(moved func() uint64, now func() time.Time) *Groups {
	return &Groups{now, memo.New[memberKey](memo.Options[[]member]{Size: 4, Now: now, Epoch: moved})}
}

// List returns one page of groups in the order of the filter. next is the cursor of the next page, empty on the
// last page. Unknown volumes come last, and ties are ordered by key. A group is listed only if at least one of
// its markets is among the GroupedMarkets. List refuses too many words.
func (g *Groups) List(ctx context.Context, db bun.IDB, f GroupFilter) (page []Group, next string, err error) {
	f.Sort = cmp.Or(f.Sort, ByVolume)
	if err := checkWords(f.Q); err != nil || plaintext.Wordless(f.Q) {
		return nil, "", err
	}
	after, err := f.after()
	if err != nil {
		return nil, "", err
	}
	members, err := g.read(ctx, db, f.Closed)
	if err != nil {
		return nil, "", err
	}
	rows := f.rank(members)
	if after != nil {
		rows = slices.DeleteFunc(rows, func(row groupRow) bool { return f.compare(&row, after) <= 0 })
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = f.cursorAfter(&rows[f.Limit-1])
	}
	page, err = Store{}.groups(ctx, db, rows, f.Closed)
	return page, next, err
}

// Full reports whether the list holds GroupedMarkets markets, and so may lack others.
func (g *Groups) Full(ctx context.Context, db bun.IDB, closed bool) (bool, error) {
	members, err := g.read(ctx, db, closed)
	return len(members) >= GroupedMarkets, err
}

func (g *Groups) read(ctx context.Context, db bun.IDB, closed bool) ([]member, error) {
	return g.members.Get(ctx, memberKey{closed, database.ReadsReplica(ctx)}, func(ctx context.Context) ([]member, time.Time, error) {
		members, err := readMembers(ctx, db, closed)
		return members, g.now().Add(membersFor), err
	})
}

// member is what filters and orders a market of a group.
type member struct {
	ID              string
	EventID         string   `bun:",nullzero"`
	EventVolume     *float64 // of the whole event, nil if unknown
	Category        string   `bun:",nullzero"`
	Tags            []string `bun:"type:json,nullzero"`
	SearchText      string
	EventSearchText string `bun:",nullzero"`
	Volume          *float64
	ClosesAt        time.Time `bun:",nullzero"`
	ClosedAt        time.Time `bun:",nullzero"`
	FirstSeenAt     time.Time
	Key             string `bun:"-"` // see Market.EventKey
}

func readMembers(ctx context.Context, db bun.IDB, closed bool) (members []member, err error) {
	f := Filter{Closed: closed, Sort: ByVolume}
	if closed {
		f.Sort = ByClosing
	}
	// A subquery, because with a join Postgres would read all events.
	q, err := f.window(db, database.NewPlanned(db), shortColumns+", (SELECT e.volume FROM market_events AS e WHERE e.id = m.event_id) AS event_volume", GroupedMarkets)
	if err != nil {
		return nil, err
	}
	if err := q.Scan(ctx, &members); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	for i := range members {
		m := Market{ID: members[i].ID, EventID: members[i].EventID}
		members[i].Key = m.EventKey()
	}
	return members, nil
}

// groupRow is a group without its markets.
type groupRow struct {
	GroupKey string
	Volume   float64   // -1 if unknown
	At       time.Time // the key of the orders by close and by age
}

// rank groups the members and returns the groups that match the filter, in its order. A search fits few groups, so
// only these are put together.
func (f GroupFilter) rank(members []member) []groupRow {
	words, _ := plaintext.Words(f.Q)
	groups := map[string]*groupRow{}
	for i := range members {
		m := &members[i]
		if (m.EventID == "" && f.EventsOnly) || groups[m.Key] != nil || !f.fits(m, words) {
			continue
		}
		groups[m.Key] = &groupRow{GroupKey: m.Key, Volume: -1, At: f.at(m)}
	}
	for i := range members {
		m := &members[i]
		row := groups[m.Key]
		if row == nil {
			continue
		}
		switch {
		case m.EventVolume != nil:
			row.Volume = *m.EventVolume
		case m.Volume != nil:
			row.Volume = max(row.Volume, *m.Volume)
		}
		if at := f.at(m); f.earliest() && at.Before(row.At) || !f.earliest() && at.After(row.At) {
			row.At = at
		}
	}
	list := make([]groupRow, 0, len(groups))
	for _, row := range groups {
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b groupRow) int { return f.compare(&a, &b) })
	return list
}

// fits reports whether a market fits every condition. A word may stand in the title of its event instead.
func (f GroupFilter) fits(m *member, words []string) bool {
	return (f.Category == "" || m.Category == f.Category) &&
		(f.Tag == "" || slices.Contains(m.Tags, f.Tag)) &&
		(f.ClosesBefore.IsZero() || !m.ClosesAt.IsZero() && m.ClosesAt.Before(f.ClosesBefore)) &&
		!slices.ContainsFunc(words, func(word string) bool {
			return !plaintext.HasWord(m.SearchText, word) && !plaintext.HasWord(m.EventSearchText, word)
		})
}

// at returns the time that orders a market by close or by age.
func (f GroupFilter) at(m *member) time.Time {
	if f.Sort != ByClosing {
		return m.FirstSeenAt
	}
	return Filter{Closed: f.Closed}.closingOf(&Market{ClosesAt: m.ClosesAt, ClosedAt: m.ClosedAt})
}

// earliest reports whether the first market of a group decides its At, and the earliest group comes first.
func (f GroupFilter) earliest() bool { return f.Sort == ByClosing && !f.Closed }

// compare returns -1 if a comes before b in the order of the filter.
func (f GroupFilter) compare(a, b *groupRow) int {
	by := cmp.Compare(b.Volume, a.Volume)
	if f.earliest() {
		by = a.At.Compare(b.At)
	} else if f.Sort != ByVolume {
		by = b.At.Compare(a.At)
	}
	return cmp.Or(by, cmp.Compare(a.GroupKey, b.GroupKey))
}

// after returns the place that the cursor names, or nil if there is none.
func (f GroupFilter) after() (*groupRow, error) {
	if f.Cursor == "" {
		return nil, nil
	}
	parts, err := cursor.Decode(f.Cursor, 3)
	if err != nil || parts[0] != "g"+string(f.Sort) || plaintext.Check(parts[2], false) != "" {
		return nil, cursor.Invalid()
	}
	row := groupRow{GroupKey: parts[2]}
	if f.Sort == ByVolume {
		row.Volume, err = readNumber(parts[1])
	} else {
		row.At, err = cursor.ParseTime(parts[1])
	}
	return &row, err
}

func (f GroupFilter) cursorAfter(last *groupRow) string {
	value := cursor.Time(last.At.UTC())
	if f.Sort == ByVolume {
		value = formatNumber(last.Volume)
	}
	return cursor.Encode("g"+string(f.Sort), value, last.GroupKey)
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
