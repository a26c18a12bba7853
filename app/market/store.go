package market

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// chunk is how many rows one statement writes or looks up.
const chunk = 200

// Store reads and writes markets and the prices observed of them.
type Store struct{}

// Observe records one reading: each market as it now stands, and one price row for
// each open one whose every outcome's price is known. Run it in a transaction.
//
// What a reading leaves out of the slow facts (description, event, slug …) keeps
// the value known before; prices, volume and state are always the newest. A reading
// older than the row changes nothing but the history. Markets that moved or closed since the
// latest update about them are recorded as updates. A live market replaces a
// sample of the same id together with its made-up history; a sample never replaces
// a live one. Observing the same reading twice is the same as once.
//
// The events of the markets are stored beside them, those that aren't given with what their
// markets say.
func (s Store) Observe(ctx context.Context, db bun.IDB, markets []Market, events ...Event) error {
	list := prepared(markets)
	if err := storeEvents(ctx, db, eventsOf(list, events)); err != nil {
		return err
	}
	for part := range slices.Chunk(list, chunk) {
		part, err := s.settleSamples(ctx, db, part)
		if err != nil {
			return err
		}
		if len(part) == 0 {
			continue
		}
		if err := upsert(ctx, db, part); err != nil {
			return err
		}
		if err := appendPrices(ctx, db, part); err != nil {
			return err
		}
		if err := tell(ctx, db, part); err != nil {
			return err
		}
	}
	return nil
}

// prepared is a copy of the reading ready to store: the first of each id, sorted by
// id so that concurrent writers lock rows in one order.
func prepared(markets []Market) []Market {
	seen := make(map[string]bool, len(markets))
	out := make([]Market, 0, len(markets))
	for _, m := range markets {
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		m.ObservedAt = database.Now(m.ObservedAt)
		if m.FirstSeenAt.IsZero() {
			m.FirstSeenAt = m.ObservedAt
		}
		if m.Outcomes == nil {
			m.Outcomes = []string{}
		}
		m.MatchKey = QuestionKey(m.Question)
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Market) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// settleSamples drops readings of samples whose live market is known, and clears
// the history of samples that a live market is about to replace.
func (Store) settleSamples(ctx context.Context, db bun.IDB, part []Market) ([]Market, error) {
	var known []Market
	if err := db.NewSelect().Model(&known).Column("id", "sample").
		Where("m.id IN ?", bun.Tuple(ids(part))).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read known markets: %w", err)
	}
	sample := make(map[string]bool, len(known))
	for _, m := range known {
		sample[m.ID] = m.Sample
	}
	var replaced []string
	part = slices.DeleteFunc(part, func(m Market) bool {
		was, exists := sample[m.ID]
		if exists && was && !m.Sample {
			replaced = append(replaced, m.ID)
		}
		return exists && !was && m.Sample
	})
	if len(replaced) == 0 {
		return part, nil
	}
	if _, err := db.NewDelete().Model((*Price)(nil)).Where("market_id IN ?", bun.Tuple(replaced)).Exec(ctx); err != nil {
		return nil, fmt.Errorf("drop sample prices: %w", err)
	}
	return part, nil
}

// kept are the columns a reading that leaves them out does not clear.
var kept = []string{"slug", "category", "closes_at", "url", "image_url", "description",
	"resolution_source", "tags", "event_id", "event_title", "event_slug", "event_position", "label", "condition_id", "token_ids"}

// taken are the columns that always show the newest reading.
var taken = []string{"source", "question", "title", "outcomes", "prices", "probability", "price",
	"volume", "liquidity", "best_bid", "best_ask", "volume_24h", "price_change_24h", "active", "closed", "scalar", "resolution", "match_key", "observed_at", "sample"}

func upsert(ctx context.Context, db bun.IDB, part []Market) error {
	q := db.NewInsert().Model(&part).On("CONFLICT (id) DO UPDATE")
	for _, column := range taken {
		q = q.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	for _, column := range kept {
		c := bun.Ident(column)
		q = q.Set("? = CASE WHEN m.sample THEN EXCLUDED.? ELSE COALESCE(EXCLUDED.?, m.?) END", c, c, c, c)
	}
	// A market that closed keeps the moment; one that reopened loses it.
	q = q.Set("closed_at = CASE WHEN m.sample OR NOT EXCLUDED.closed THEN EXCLUDED.closed_at ELSE COALESCE(EXCLUDED.closed_at, m.closed_at) END").
		Set("first_seen_at = CASE WHEN m.sample AND NOT EXCLUDED.sample THEN EXCLUDED.first_seen_at ELSE m.first_seen_at END").
		Set("told_price = CASE WHEN m.sample AND NOT EXCLUDED.sample THEN NULL ELSE m.told_price END").
		Where("m.sample OR EXCLUDED.observed_at >= m.observed_at")
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("store markets: %w", err)
	}
	return nil
}

// ByID finds one market; found is false when the id is unknown. The id may be any
// bytes: paths hold what a client likes.
func (Store) ByID(ctx context.Context, db bun.IDB, id string) (m *Market, found bool, err error) {
	if plaintext.Check(id, false) != "" {
		return nil, false, nil // NUL breaks the SQL, and Postgres refuses invalid UTF-8
	}
	m = new(Market)
	err = db.NewSelect().Model(m).Where("m.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read market: %w", err)
	}
	m.utc()
	return m, true, nil
}

// ByIDs finds the named markets, ordered by id; unknown ids are left out.
func (Store) ByIDs(ctx context.Context, db bun.IDB, want []string) ([]Market, error) {
	var out []Market
	for part := range slices.Chunk(want, chunk) {
		var found []Market
		if err := db.NewSelect().Model(&found).Where("m.id IN ?", bun.Tuple(part)).Scan(ctx); err != nil {
			return nil, fmt.Errorf("read markets: %w", err)
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b Market) int { return strings.Compare(a.ID, b.ID) })
	return inUTC(out), nil
}

// wanted is what markets are looked up by: an id, a question or an address.
type wanted struct {
	Text string `bun:",type:text"`
}

func want(texts iter.Seq[string]) []wanted {
	var list []wanted
	seen := map[string]bool{"": true}
	for text := range texts {
		if !seen[text] {
			seen[text] = true
			list = append(list, wanted{text})
		}
	}
	return list
}

// Linkable finds the named markets with what publishing needs of them: the texts that
// explain them are missing. Unknown ids are left out.
func (Store) Linkable(ctx context.Context, db bun.IDB, ids map[string]bool) ([]Market, error) {
	list := want(maps.Keys(ids))
	if len(list) == 0 {
		return nil, nil
	}
	var found []Market
	err := database.ScanRows(ctx, db, `SELECT m.id, m.question, m.category, m.outcomes, m.prices, m.liquidity, m.best_bid, m.best_ask, m.closes_at,
		m.closed, m.event_id, m.event_title, m.observed_at, m.sample FROM markets AS m WHERE m.id IN (SELECT text FROM v)`, list, &found)
	if err != nil {
		return nil, fmt.Errorf("read markets: %w", err)
	}
	return inUTC(found), nil
}

// ByQuestions maps questions as QuestionKey folds them to the ids of the open markets that
// ask them: at most twenty each, the highest volume first.
func (Store) ByQuestions(ctx context.Context, db bun.IDB, keys []string) (map[string][]string, error) {
	list := want(slices.Values(keys))
	if len(list) == 0 {
		return nil, nil
	}
	var rows []struct{ Key, ID string }
	err := database.ScanRows(ctx, db, `SELECT key, id FROM (
		SELECT m.match_key AS key, m.id,
			row_number() OVER (PARTITION BY m.match_key ORDER BY m.sample, COALESCE(m.volume, -1) DESC, m.id) AS place
		FROM markets AS m WHERE m.match_key IN (SELECT text FROM v) AND m.active AND NOT m.closed) AS found
		WHERE place <= 20 ORDER BY key, place`, list, &rows)
	if err != nil {
		return nil, fmt.Errorf("match questions: %w", err)
	}
	found := make(map[string][]string, len(rows))
	for _, r := range rows {
		found[r.Key] = append(found[r.Key], r.ID)
	}
	return found, nil
}

// ByURLs maps each address that is a known market's public page to that market's
// id; a slash at the end does not matter. Sibling markets share a page: the one of
// highest volume stands for them. Addresses that are no market's are left out.
func (Store) ByURLs(ctx context.Context, db bun.IDB, urls []string) (map[string]string, error) {
	list := want(func(yield func(string) bool) {
		for _, u := range urls {
			if !yield(strings.TrimRight(u, "/")) {
				return
			}
		}
	})
	if len(list) == 0 {
		return nil, nil
	}
	var rows []struct{ Text, ID string }
	err := database.ScanRows(ctx, db, `SELECT text, id FROM (SELECT v.text, (SELECT m.id FROM markets AS m
			WHERE m.url IN (v.text, v.text || '/') ORDER BY m.sample, COALESCE(m.volume, -1) DESC, m.id LIMIT 1) AS id FROM v) AS found
		WHERE id IS NOT NULL`, list, &rows)
	if err != nil {
		return nil, fmt.Errorf("match addresses: %w", err)
	}
	best := make(map[string]string, len(rows))
	for _, r := range rows {
		best[r.Text] = r.ID
	}
	out := make(map[string]string, len(best))
	for _, u := range urls {
		if id := best[strings.TrimRight(u, "/")]; id != "" {
			out[u] = id
		}
	}
	return out, nil
}

// Forgotten lists up to limit live markets that are open as far as we know, but
// were last observed before a moment: the longest unobserved first. They fell out
// of the readings and must be asked for by id to learn that they closed.
func (Store) Forgotten(ctx context.Context, db bun.IDB, before time.Time, limit int) ([]string, error) {
	var out []string
	err := db.NewSelect().Model((*Market)(nil)).Column("id").
		Where("m.closed = FALSE").Where("m.observed_at < ?", database.Now(before)).
		Where("m.active AND NOT m.sample").
		OrderExpr("m.observed_at").Limit(int64(limit)).Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("list forgotten markets: %w", err)
	}
	return out, nil
}

// Retire marks markets that the upstream no longer knows as not active, so that
// they leave the lists. A later reading that has them brings them back.
func (Store) Retire(ctx context.Context, db bun.IDB, gone []string) error {
	for part := range slices.Chunk(gone, chunk) {
		if _, err := db.NewUpdate().Model((*Market)(nil)).Set("active = FALSE").
			Where("id IN ?", bun.Tuple(part)).Exec(ctx); err != nil {
			return fmt.Errorf("retire markets: %w", err)
		}
	}
	return nil
}

func ids(markets []Market) []string {
	out := make([]string, len(markets))
	for i := range markets {
		out[i] = markets[i].ID
	}
	return out
}

func inUTC(markets []Market) []Market {
	for i := range markets {
		markets[i].utc()
	}
	return markets
}

// utc undoes the local zone that a driver reads times in.
func (m *Market) utc() {
	for _, t := range []*time.Time{&m.ClosesAt, &m.ClosedAt, &m.FirstSeenAt, &m.ObservedAt} {
		*t = t.UTC()
	}
}
