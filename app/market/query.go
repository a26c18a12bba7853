package market

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Select begins a query on markets AS m, with the columns of Market. Other packages can join it as a subquery
// to their own rows.
func Select(db bun.IDB) *bun.SelectQuery { return db.NewSelect().Model((*Market)(nil)) }

// JoinShown joins to q the market whose id is in column, if there is one. It selects what a list shows of the market as
// columns whose names begin with prefix: the id, the names, the outcomes with their prices, and whether and when it is open.
func JoinShown(q *bun.SelectQuery, column, prefix string) *bun.SelectQuery {
	q = q.Join("LEFT JOIN markets AS m ON m.id = ?", bun.Ident(column))
	return database.Prefixed(q, "m", prefix,
		"id", "question", "title", "label", "event_title", "category", "outcomes", "prices", "closes_at", "closed_at", "active", "closed")
}

// JoinPrices joins to q the market whose id is in column, if there is one, and selects its latest prices as "prices".
func JoinPrices(q *bun.SelectQuery, column string) *bun.SelectQuery {
	return q.Join("LEFT JOIN markets AS m ON m.id = ?", bun.Ident(column)).Column("m.prices")
}

// SelectClosed selects the market in column, a column of an outer query, if it is closed.
func SelectClosed(db bun.IDB, column string) *bun.SelectQuery {
	return Select(db).ColumnExpr("1").Where("m.id = ?", bun.Ident(column)).Where("m.closed")
}

// HasTwoOutcomes is the condition that a market of Select has exactly two outcomes.
func HasTwoOutcomes(db bun.IDB) string {
	if database.IsPostgres(db) {
		return "jsonb_array_length(m.outcomes) = 2"
	}
	return "json_array_length(m.outcomes) = 2"
}

// HasLive reports whether any live market is stored, that is, one that isn't a sample.
func (Store) HasLive(ctx context.Context, db bun.IDB) (bool, error) {
	exists, err := Select(db).Where("NOT m.sample").Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for live markets: %w", err)
	}
	return exists, nil
}

// RetireSamples makes the open samples inactive, which takes them out of the lists. Use it once no source updates them.
func (Store) RetireSamples(ctx context.Context, db bun.IDB) error {
	_, err := db.NewUpdate().Model((*Market)(nil)).Set("active = FALSE").
		Where("sample").Where("NOT closed").Where("active").Exec(ctx)
	if err != nil {
		return fmt.Errorf("retire sample markets: %w", err)
	}
	return nil
}

// EventTitles returns the title of each market's event, or the market's own title if it has no event.
func (Store) EventTitles(ctx context.Context, db bun.IDB, marketIDs []string) (map[string]string, error) {
	titles := make(map[string]string, len(marketIDs))
	if len(marketIDs) == 0 {
		return titles, nil
	}
	var markets []Market
	p := database.NewPlanned(db)
	q := db.NewSelect().Model(&markets).Column("id", "title", "event_title")
	if err := p.Scan(ctx, p.In(q, "m.id", marketIDs)); err != nil {
		return nil, fmt.Errorf("read the titles of events: %w", err)
	}
	for i := range markets {
		titles[markets[i].ID] = markets[i].eventTitle()
	}
	return titles, nil
}

// titlesAtOnce is how many events one query of TitlesByEventKey names.
const titlesAtOnce = 50

// TitlesByEventKey returns the titles of events by their keys; see Market.EventKey. It reads one
// market of each event.
func (Store) TitlesByEventKey(ctx context.Context, db bun.IDB, keys []string) (map[string]string, error) {
	titles := make(map[string]string, len(keys))
	for part := range slices.Chunk(keys, titlesAtOnce) {
		var markets []Market
		if err := firstOfEvents(db, part).Scan(ctx, &markets); err != nil {
			return nil, fmt.Errorf("read the titles of events: %w", err)
		}
		for i := range markets {
			titles[markets[i].EventKey()] = markets[i].eventTitle()
		}
	}
	return titles, nil
}

// firstOfEvents selects the first market of each event, with what its title is made of.
func firstOfEvents(db bun.IDB, keys []string) *bun.RawQuery {
	const first = "SELECT m.id, m.title, m.event_id, m.event_title FROM markets AS m"
	var events, alone []string
	for _, key := range keys {
		if id := EventID(key); id != "" {
			events = append(events, id)
		} else {
			alone = append(alone, strings.TrimPrefix(key, alonePrefix))
		}
	}
	if database.IsPostgres(db) { // Postgres takes longer to plan a UNION with more parts.
		return db.NewRaw("SELECT f.* FROM unnest((SELECT ARRAY[?]::text[])) AS v (event_id) CROSS JOIN LATERAL ("+
			first+" WHERE m.event_id = v.event_id ORDER BY m.id LIMIT 1) AS f UNION ALL "+first+" WHERE m.id IN (?)", bun.List(events), bun.List(alone))
	}
	var parts []string
	var args []any
	for _, id := range events {
		parts, args = append(parts, "SELECT * FROM ("+first+" WHERE m.event_id = ? ORDER BY m.id LIMIT 1) AS f"), append(args, id)
	}
	parts, args = append(parts, first+" WHERE m.id IN (?)"), append(args, bun.List(alone))
	return db.NewRaw(strings.Join(parts, " UNION ALL "), args...)
}

func (m *Market) eventTitle() string {
	if m.EventTitle != "" {
		return m.EventTitle
	}
	return m.Title
}

// InOrder returns markets in the order of ids. It leaves out unknown ids.
func (s Store) InOrder(ctx context.Context, db bun.IDB, ids []string) ([]Market, error) {
	found, err := s.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortFunc(found, func(a, b Market) int { return at[a.ID] - at[b.ID] })
	return found, nil
}
