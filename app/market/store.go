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

// chunk is how many rows one statement writes or reads.
const chunk = 200

// Store reads and writes markets and their observed prices.
type Store struct{}

// Observe stores one reading: each market, and one price row for each open market whose outcomes all have a
// price. Run it in a transaction. Storing the same reading twice has no further effect.
//
// If a reading leaves out a fact that rarely changes (description, event, slug …), the stored value stays.
// Prices, volume and state are always the newest. A reading older than the stored one only adds to the price
// history, unless the stored one is from a clock that was ahead (see database.LatestPlausible). Then it replaces the
// stored one, and the prices from that clock are deleted. Markets that moved or closed since their latest update are
// recorded as updates. A live market replaces a sample with the same id and its made-up history; a sample never
// replaces a live market.
//
// The events of the markets are stored too. An event that isn't given is derived from its markets.
//
// The present is the newest time in the reading, as in a replay. If the reading may have waited since then, use
// ObserveBatch.
func (s Store) Observe(ctx context.Context, db bun.IDB, markets []Market, events ...Event) error {
	var now time.Time
	for i := range markets {
		if at := markets[i].ObservedAt; at.After(now) {
			now = at
		}
	}
	for i := range events {
		if at := events[i].UpdatedAt; at.After(now) {
			now = at
		}
	}
	for _, b := range Batches(markets, events, max(len(markets), 1)) {
		if err := s.ObserveBatch(ctx, db, b, now); err != nil {
			return err
		}
	}
	return nil
}

// ObserveBatch stores one batch of a reading at the time now, by the rules of Observe, and doesn't change it. Run it in
// a transaction.
func (s Store) ObserveBatch(ctx context.Context, db bun.IDB, b Batch, now time.Time) error {
	plausible := database.LatestPlausible(now)
	if err := storeEvents(ctx, db, b.events, plausible); err != nil {
		return err
	}
	for part := range slices.Chunk(b.Markets, chunk) {
		part, err := s.makeWay(ctx, db, part, plausible)
		if err != nil {
			return err
		}
		if len(part) == 0 {
			continue
		}
		if err := upsert(ctx, db, part, plausible); err != nil {
			return err
		}
		if err := appendPrices(ctx, db, part); err != nil {
			return err
		}
		if err := tell(ctx, db, part, now); err != nil {
			return err
		}
	}
	return nil
}

// prepared returns a copy of the reading, ready to be stored. It keeps the first market with each id, and sorts
// by id so that concurrent writers lock rows in the same order.
func prepared(markets []Market) []Market {
	seen := make(map[string]bool, len(markets))
	out := make([]Market, 0, len(markets))
	for _, m := range markets {
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		m.ObservedAt = database.Stored(m.ObservedAt)
		if m.FirstSeenAt.IsZero() {
			m.FirstSeenAt = m.ObservedAt
		}
		if m.Outcomes == nil {
			m.Outcomes = []string{}
		}
		m.MatchKey, m.SearchText = matchKey(m.Question), m.SearchableText()
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Market) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// makeWay drops samples whose live market is known. It also deletes prices that the markets are about to replace: those
// of samples, and those later than plausible. A market with a price from a clock that was ahead was itself observed then,
// or later, so only a market that is about to be replaced for this reason can have such prices.
func (Store) makeWay(ctx context.Context, db bun.IDB, part []Market, plausible time.Time) ([]Market, error) {
	var known []Market
	if err := db.NewSelect().Model(&known).Column("id", "sample", "observed_at").
		Where("m.id IN ?", bun.Tuple(ids(part))).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read known markets: %w", err)
	}
	stored := make(map[string]*Market, len(known))
	for i := range known {
		stored[known[i].ID] = &known[i]
	}
	var replaced, ahead []string
	part = slices.DeleteFunc(slices.Clone(part), func(m Market) bool {
		switch was := stored[m.ID]; {
		case was == nil:
		case m.Sample && !was.Sample:
			return true
		case was.Sample && !m.Sample:
			replaced = append(replaced, m.ID)
		case was.ObservedAt.After(plausible):
			ahead = append(ahead, m.ID)
		}
		return false
	})
	if err := deletePrices(ctx, db, replaced, time.Time{}); err != nil {
		return nil, err
	}
	return part, deletePrices(ctx, db, ahead, plausible)
}

// KeepScalar sets Scalar of the markets whose reading leaves it out to the stored value. Call it before the reading is
// stored and archived, because neither can hold an unknown value.
func (Store) KeepScalar(ctx context.Context, db bun.IDB, reading []Market) error {
	at := map[string]*Market{}
	for i := range reading {
		if reading[i].ScalarUnknown {
			at[reading[i].ID] = &reading[i]
		}
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(at)), chunk) {
		var scalar []string
		planned := database.NewPlanned(db)
		q := db.NewSelect().Model((*Market)(nil)).Column("id").Where("m.scalar AND NOT m.sample")
		if err := planned.Scan(ctx, planned.In(q, "m.id", part), &scalar); err != nil {
			return fmt.Errorf("read scalar markets: %w", err)
		}
		for _, id := range scalar {
			at[id].Scalar = true
		}
	}
	return nil
}

// Shown returns the markets of a reading as the service shows them: as they are stored, so with facts that an earlier
// reading had and this one leaves out. A market that isn't stored yet, or only as an older reading had it, is returned
// as given. With an error, Shown returns the reading itself.
func (s Store) Shown(ctx context.Context, db bun.IDB, reading []Market) ([]Market, error) {
	stored, err := s.ByIDs(ctx, db, ids(reading))
	if err != nil {
		return reading, err
	}
	at := make(map[string]*Market, len(stored))
	for i := range stored {
		at[stored[i].ID] = &stored[i]
	}
	out := slices.Clone(reading)
	for i := range out {
		if was := at[out[i].ID]; was != nil && !was.ObservedAt.Before(out[i].ObservedAt) {
			out[i] = *was
		}
	}
	return out, nil
}

// kept are the columns that keep their value if a reading leaves them out.
var kept = []string{"slug", "category", "closes_at", "url", "image_url", "description",
	"resolution_source", "tags", "event_id", "event_title", "event_search_text", "event_slug", "event_position", "label", "condition_id", "token_ids"}

// taken are the columns that always take the newest reading's value.
var taken = []string{"source", "question", "title", "outcomes", "prices", "probability", "price",
	"volume", "liquidity", "best_bid", "best_ask", "volume_24h", "price_change_24h", "active", "closed", "scalar", "resolution", "match_key", "search_text", "observed_at", "missed_at", "sample"}

func upsert(ctx context.Context, db bun.IDB, part []Market, plausible time.Time) error {
	q := db.NewInsert().Model(&part).On("CONFLICT (id) DO UPDATE")
	for _, column := range taken {
		q = q.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	for _, column := range kept {
		c := bun.Ident(column)
		q = q.Set("? = CASE WHEN m.sample THEN EXCLUDED.? ELSE COALESCE(EXCLUDED.?, m.?) END", c, c, c, c)
	}
	// A closed market keeps the time of its close. A reopened one loses it.
	q = q.Set("closed_at = CASE WHEN m.sample OR NOT EXCLUDED.closed THEN EXCLUDED.closed_at ELSE COALESCE(EXCLUDED.closed_at, m.closed_at) END").
		Set("first_seen_at = CASE WHEN m.sample AND NOT EXCLUDED.sample OR m.first_seen_at > ? THEN EXCLUDED.first_seen_at ELSE m.first_seen_at END", plausible).
		Set("told_price = CASE WHEN m.sample AND NOT EXCLUDED.sample THEN NULL ELSE m.told_price END").
		Where("m.sample OR EXCLUDED.observed_at >= m.observed_at OR m.observed_at > ?", plausible).
		Returning("NULL") // otherwise Bun overwrites the reading with the stored values
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("store markets: %w", err)
	}
	return nil
}

// ByID returns one market. found is false if the id is unknown. The id may contain any bytes, because clients
// can put anything in a path.
func (Store) ByID(ctx context.Context, db bun.IDB, id string) (m *Market, found bool, err error) {
	if plaintext.Check(id, false) != "" {
		return nil, false, nil // a NUL breaks the SQL, and Postgres refuses invalid UTF-8
	}
	m = new(Market)
	planned := database.NewPlanned(db)
	err = planned.Scan(ctx, Select(db).Where("m.id = ?", planned.Value(id)), m)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read market: %w", err)
	}
	return m.UTC(), true, nil
}

// ByIDs returns markets by id, ordered by id. It leaves out unknown ids.
func (Store) ByIDs(ctx context.Context, db bun.IDB, want []string) ([]Market, error) {
	var out []Market
	for part := range slices.Chunk(want, chunk) {
		found := make([]Market, 0, len(part))
		planned := database.NewPlanned(db)
		if err := planned.Scan(ctx, planned.In(Select(db), "m.id", part), &found); err != nil {
			return nil, fmt.Errorf("read markets: %w", err)
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b Market) int { return strings.Compare(a.ID, b.ID) })
	return inUTC(out), nil
}

// wanted is a key that markets are looked up by: an id, a question or an address.
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

// Linkable reads the markets with these ids and adds them to found, with the columns that publishing needs. Long texts are
// left out, and so are unknown ids.
func (Store) Linkable(ids map[string]bool, found *[]Market) database.Read {
	return database.NewRead("read markets", `SELECT m.id, m.question, m.category, m.outcomes, m.prices, m.liquidity, m.best_bid, m.best_ask, m.closes_at,
		m.closed, m.event_id, m.event_title, m.observed_at, m.sample FROM markets AS m WHERE m.id IN (SELECT text FROM v)`,
		want(maps.Keys(ids)), func(list []Market) { *found = append(*found, inUTC(list)...) })
}

// ByQuestions maps questions, normalised by QuestionKey, to the ids of the open markets that ask them, in found. Each
// question has at most twenty ids, highest volume first.
func (Store) ByQuestions(keys []string, found map[string][]string) database.Read {
	type row struct{ Key, ID string }
	return database.NewRead("match questions", `SELECT key, id FROM (
		SELECT m.match_key AS key, m.id,
			row_number() OVER (PARTITION BY m.match_key ORDER BY m.sample, COALESCE(m.volume, -1) DESC, m.id) AS place
		FROM markets AS m WHERE m.match_key IN (SELECT text FROM v) AND m.active AND NOT m.closed) AS found
		WHERE place <= 20 ORDER BY key, place`, want(slices.Values(keys)), func(rows []row) {
		for _, r := range rows {
			found[r.Key] = append(found[r.Key], r.ID)
		}
	})
}

// ByURLs maps addresses to the ids of the markets whose public page they are, in found, ignoring a slash at the end. If
// sibling markets share a page, the one with the highest volume is taken. Other addresses are left out.
func (Store) ByURLs(urls []string, found map[string]string) database.Read {
	list := want(func(yield func(string) bool) {
		for _, u := range urls {
			if !yield(strings.TrimRight(u, "/")) {
				return
			}
		}
	})
	type row struct{ Text, ID string }
	// Postgres would run the subquery once for each use of its result, if the result weren't MATERIALIZED.
	return database.NewRead("match the addresses of markets", `, found AS MATERIALIZED (SELECT v.text, (SELECT m.id FROM markets AS m
			WHERE m.url IN (v.text, v.text || '/') ORDER BY m.sample, COALESCE(m.volume, -1) DESC, m.id LIMIT 1) AS id FROM v)
		SELECT text, id FROM found WHERE id IS NOT NULL`, list, func(rows []row) {
		best := make(map[string]string, len(rows))
		for _, r := range rows {
			best[r.Text] = r.ID
		}
		for _, u := range urls {
			if id := best[strings.TrimRight(u, "/")]; id != "" {
				found[u] = id
			}
		}
	})
}

const (
	// forgottenAfter is how long an open market may go unobserved before it is requested by id. It is also how
	// long after an answer without the market another one must leave it out, so that one short answer retires
	// nothing.
	forgottenAfter = time.Hour
	// inactiveAfter is the time between two requests for an inactive market, which may become active again or
	// close.
	inactiveAfter = 24 * time.Hour
)

// Forgotten lists up to limit live markets that look open but weren't observed for an hour, longest unobserved first.
// Readings no longer include them, so they must be requested by id to learn whether they closed. A market that such a
// request missed is listed again an hour later.
func (Store) Forgotten(ctx context.Context, db bun.IDB, now time.Time, limit int) ([]string, error) {
	var out []string
	err := db.NewSelect().Model((*Market)(nil)).Column("id").
		Where("m.closed = FALSE").Where("?", database.UpTo("m.observed_at", now.Add(-forgottenAfter), now)).
		Where("m.missed_at IS NULL OR ?", database.UpTo("m.missed_at", now.Add(-forgottenAfter), now)).
		Where("m.active AND NOT m.sample").
		OrderExpr("m.observed_at").Limit(int64(limit)).Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("list forgotten markets: %w", err)
	}
	return out, nil
}

// Inactive lists up to limit live markets that are neither active nor closed and weren't requested for a day, longest
// not requested first.
func (Store) Inactive(ctx context.Context, db bun.IDB, now time.Time, limit int) ([]string, error) {
	const requested = "COALESCE(m.missed_at, m.observed_at)"
	var out []string
	err := db.NewSelect().Model((*Market)(nil)).Column("id").
		Where("NOT m.closed").Where("NOT m.active").Where("NOT m.sample").Where("?", database.UpTo(requested, now.Add(-inactiveAfter), now)).
		OrderExpr(requested).Limit(int64(limit)).Scan(ctx, &out)
	if err != nil {
		return nil, fmt.Errorf("list inactive markets: %w", err)
	}
	return out, nil
}

// Missed records that the source left out markets that were requested by id. A market that it leaves out again, an hour
// or more later, becomes inactive, which removes it from lists. A later reading that includes the market reverses both.
func (Store) Missed(ctx context.Context, db bun.IDB, missing []string, now time.Time) error {
	for part := range slices.Chunk(missing, chunk) {
		_, err := db.NewUpdate().Model((*Market)(nil)).
			Set("active = (active AND (missed_at IS NULL OR missed_at > ?))", database.LatestPlausible(now)).
			Set("missed_at = ?", database.Stored(now)).
			Where("id IN ?", bun.Tuple(part)).Where("missed_at IS NULL OR ?", database.UpTo("missed_at", now.Add(-forgottenAfter), now)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record missed markets: %w", err)
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
		markets[i].UTC()
	}
	return markets
}

// UTC converts times to UTC, because drivers return them in the local zone. It returns m.
func (m *Market) UTC() *Market {
	for _, t := range []*time.Time{&m.ClosesAt, &m.ClosedAt, &m.FirstSeenAt, &m.ObservedAt, &m.MissedAt} {
		*t = t.UTC()
	}
	return m
}
