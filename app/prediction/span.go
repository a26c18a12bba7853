package prediction

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/pulsecast/pulsecast/app/database"
)

// The search index of Postgres has no order: to find the newest matches it would have to read all of them. So
// the index also holds the spans of time that a prediction was published in. A span is known by the first nine
// to four hexadecimal digits of an id, and lasts from 4 seconds to 50 days. A search starts where the previous
// page ended and looks back, each time many times further than before, until it has enough matches. It
// therefore reads only a few times as many matches as it needs, even on the last page.
//
// Each look reads the index anew, and rare words would need all of them. So if the near looks find almost
// nothing, the search asks for all matches at once. It gives that up if there are too many, and looks further back.

const (
	// longDigits and shortDigits are the number of hexadecimal digits of the shortest and of the longest spans.
	longDigits, shortDigits = 9, 4
	// spanFan is how many spans make up one span of the next length.
	spanFan = 16
	// firstLook is about how many predictions the first look covers, as a multiple of the matches that are needed.
	firstLook = 2
	// maxGrowth limits the time that one look adds, as a multiple of the time that the looks before it cover. The
	// multiple is smaller for a page that needs many matches, so that a look finds about mostFound at most.
	maxGrowth, mostFound = 15, 1500
	// nearLooks is how many looks tell whether the words are rare. On an ordinary page they cover about 16,000
	// predictions.
	nearLooks = 3
	// rareNear is the largest number of matches in the near looks of words that are taken to be rare.
	rareNear = 3
	// fewMatches is the largest number of matches that are read at once.
	fewMatches = 1000
)

// inSpans selects the next matches of a search on Postgres, newest first, up to limit. One query takes the
// looks back in turn, and Postgres takes no further look once it has enough matches.
//
// Each value is a subquery, so that Postgres doesn't plan the search anew for it. If it knew the words, it would
// expect the plan for them to be better than one for all words, and planning takes longer than the search.
func (f *Filter) inSpans(ctx context.Context, db bun.IDB, p *database.Planned, after *place, limit int) (*bun.SelectQuery, error) {
	if f.ranked() {
		after = nil
	}
	looks, err := looksBack(ctx, db, after, limit)
	if err != nil {
		return nil, err
	}
	keys := p.Value(pgdialect.Array(wordKeys(cutWords(f.Words))))
	matches := func() *bun.SelectQuery {
		return db.NewSelect().TableExpr("prediction_words AS w").Column("w.agent_id", "w.id").Where("w.words @> (SELECT ?::bigint[])", keys)
	}
	older := func(q *bun.SelectQuery) *bun.SelectQuery {
		if after != nil {
			q.Where("w.id < (SELECT ?::uuid)", p.Value(after.ID))
		}
		return q.OrderExpr("w.id DESC")
	}
	within := func(looks []string) *bun.SelectQuery {
		look := older(matches().Where("w.words && looks.spans::bigint[]"))
		return db.NewSelect().TableExpr("unnest((SELECT ?::text[])) AS looks (spans)", p.Value(pgdialect.Array(looks))).
			Join("CROSS JOIN LATERAL (? LIMIT (SELECT ?::bigint)) AS found", look, p.Value(limit)).ColumnExpr("found.*")
	}
	most := func(q *bun.SelectQuery) *bun.SelectQuery {
		return db.NewSelect().TableExpr("(? LIMIT (SELECT ?::bigint)) AS w", q, p.Value(limit)).ColumnExpr("w.*")
	}
	if len(looks) <= nearLooks {
		return most(within(looks)), nil
	}
	near := most(within(looks[:nearLooks]))
	atOnce := matches().Where("(SELECT count(*) FROM near) <= ?", rareNear).Limit(fewMatches + 1)
	known := db.NewSelect().ColumnExpr("(SELECT count(*) FROM near) <= ? AND (SELECT count(*) FROM at_once) <= ? AS all_found", rareNear, fewMatches)
	found := older(db.NewSelect().TableExpr("at_once AS w").ColumnExpr("w.*").Where("(SELECT all_found FROM known)")).
		UnionAll(db.NewSelect().TableExpr("near AS w").ColumnExpr("w.*").Where("NOT (SELECT all_found FROM known)")).
		UnionAll(within(looks[nearLooks:]).Where("NOT (SELECT all_found FROM known)"))
	return most(found).With("near", near).With("at_once", atOnce).With("known", known), nil
}

// looksBack returns the keys of the spans of each look, as literals of Postgres. The looks go back from the first
// prediction of the page to the oldest one.
func looksBack(ctx context.Context, db bun.IDB, after *place, limit int) (looks []string, err error) {
	p := database.NewPlanned(db)
	ids := func() *bun.SelectQuery {
		q := db.NewSelect().Table("predictions").Column("id").OrderExpr("id DESC")
		if after != nil {
			q.Where("id < (SELECT ?::uuid)", p.Value(after.ID)) // a subquery, as in inSpans
		}
		return q
	}
	var from, first, oldest uuid.UUID
	err = p.Scan(ctx, db.NewSelect().
		ColumnExpr("(? LIMIT 1), (? LIMIT 1 OFFSET (SELECT ?::bigint))", ids(), ids(), p.Value(firstLook*limit-1)).
		ColumnExpr("(SELECT id FROM predictions ORDER BY id LIMIT 1)"), &from, &first, &oldest)
	if err != nil || from == uuid.Nil {
		return nil, err
	}
	if first == uuid.Nil {
		first = oldest
	}
	growth := int64(max(min(maxGrowth, mostFound/limit), 1))
	for _, spans := range spansBack(spanNumber(from), spanNumber(first), spanNumber(oldest), growth) {
		texts := make([]string, len(spans))
		for i, key := range spans {
			texts[i] = strconv.FormatInt(key, 10)
		}
		looks = append(looks, "{"+strings.Join(texts, ",")+"}")
	}
	return looks, nil
}

// spansBack lists the keys of the spans of each look. Together they cover the time from one shortest span back to an
// older one. The first look ends at first. Each further one covers at most growth times what the looks before it cover.
func spansBack(from, first, oldest, growth int64) (looks [][]int64) {
	covered := int64(0)
	for next := from; next >= oldest; next = from - covered {
		spans, units := spansWithin(next, oldest, max(growth*covered, from-first+1))
		looks, covered = append(looks, spans), covered+units
	}
	return looks
}

// spansWithin lists the keys of spans that go back from next and cover at most the given units of time. They grow
// as soon as a longer span ends where the next one must, and fits.
func spansWithin(next, oldest, most int64) (spans []int64, units int64) {
	digits, length := longDigits, int64(1)
	for next >= oldest {
		for digits > shortDigits && length*spanFan <= most && (next+1)%(length*spanFan) == 0 {
			digits, length = digits-1, length*spanFan
		}
		if units+length > most {
			break
		}
		spans, units, next = append(spans, spanKey(next/length, digits)), units+length, next-length
	}
	return spans, units
}

// spanNumber returns the number of the shortest span that contains an id.
func spanNumber(id uuid.UUID) int64 {
	n, _ := strconv.ParseInt(hex.EncodeToString(id[:5])[:longDigits], 16, 64) // hexadecimal digits always parse
	return n
}

// spansOf lists the keys of all spans that an id is in, the longest one first.
func spansOf(id uuid.UUID) []int64 {
	keys := make([]int64, 0, longDigits-shortDigits+1)
	n := spanNumber(id)
	for digits := shortDigits; digits <= longDigits; digits++ {
		keys = append(keys, spanKey(n>>(4*(longDigits-digits)), digits))
	}
	return keys
}

// spanKey returns the key of a span in the index: the number of its digits, and below it the digits. It isn't negative,
// unlike the key of a word.
func spanKey(n int64, digits int) int64 { return int64(digits)<<(4*longDigits) | n }
