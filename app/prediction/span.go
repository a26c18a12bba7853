package prediction

import (
	"bytes"
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
// the index also holds the spans of time that a prediction was published in. A span is named by the first nine
// to four hexadecimal digits of an id, and lasts from 4 seconds to 50 days. A search starts where the previous
// page ended and looks back, each time a few times further than before, until it has enough matches. It
// therefore reads only a few times as many matches as it needs, even on the last page.

const (
	// longDigits and shortDigits are the number of hexadecimal digits in the names of the shortest and of the
	// longest spans. prediction_spans in the migration has the same numbers.
	longDigits, shortDigits = 9, 4
	// spanFan is how many spans make up one span of the next length.
	spanFan = 16
	// growth limits the time that one look adds, as a multiple of the time that the looks before it cover.
	growth = 5
)

// inSpans selects the next matches of a search on Postgres, newest first, up to limit. One query takes the
// looks back in turn, and Postgres takes no further look once it has enough matches.
//
// Each value is a subquery, so that Postgres doesn't plan the search anew for it. If it knew the words, it would
// expect the plan for them to be better than one for all words, and planning takes longer than the search.
func (f *Filter) inSpans(ctx context.Context, db bun.IDB, p *database.Planned, after *place, limit int) (*bun.SelectQuery, error) {
	looks, err := f.looksBack(ctx, db, after)
	if err != nil {
		return nil, err
	}
	matches := db.NewSelect().TableExpr("prediction_words AS w").Column("w.agent_id", "w.id").OrderExpr("w.id DESC").
		Where("w.words && string_to_array(looks.spans, ' ')").
		Where("w.words @> (SELECT ?::text[])", p.Value(pgdialect.Array(cutWords(f.Words))))
	if after != nil && !f.ranked() {
		matches.Where("w.id < (SELECT ?::uuid)", p.Value(after.ID))
	}
	most := p.Value(limit)
	found := db.NewSelect().TableExpr("unnest((SELECT ?::text[])) AS looks (spans)", p.Value(pgdialect.Array(looks))).
		Join("CROSS JOIN LATERAL (? LIMIT (SELECT ?::bigint)) AS found", matches, most).ColumnExpr("found.*")
	return db.NewSelect().TableExpr("(? LIMIT (SELECT ?::bigint)) AS w", found, most).ColumnExpr("w.*"), nil
}

// looksBack returns the spans of each look, joined with spaces. The looks go back from where the page begins to
// the oldest prediction.
func (f *Filter) looksBack(ctx context.Context, db bun.IDB, after *place) (looks []string, err error) {
	var from, oldest uuid.UUID
	err = database.NewPlanned(db).Scan(ctx, db.NewSelect().ColumnExpr("(SELECT id FROM predictions ORDER BY id DESC LIMIT 1)").
		ColumnExpr("(SELECT id FROM predictions ORDER BY id LIMIT 1)"), &from, &oldest)
	if err != nil {
		return nil, err
	}
	if after != nil && !f.ranked() && bytes.Compare(after.ID[:], from[:]) < 0 {
		from = after.ID
	}
	for _, spans := range spansBack(spanNumber(from), spanNumber(oldest)) {
		looks = append(looks, strings.Join(spans, " "))
	}
	return looks, nil
}

// spansBack lists the spans of each look. Together they cover the time from one shortest span back to an older
// one. A look covers at most growth times what the looks before it cover.
func spansBack(from, oldest int64) (looks [][]string) {
	covered := int64(0)
	for next := from; next >= oldest; next = from - covered {
		spans, units := spansWithin(next, oldest, max(growth*covered, 1))
		looks, covered = append(looks, spans), covered+units
	}
	return looks
}

// spansWithin lists spans that go back from next and cover at most the given units of time. They grow as soon as
// a longer span ends where the next one must, and fits.
func spansWithin(next, oldest, most int64) (spans []string, units int64) {
	digits, length := longDigits, int64(1)
	for next >= oldest {
		for digits > shortDigits && length*spanFan <= most && (next+1)%(length*spanFan) == 0 {
			digits, length = digits-1, length*spanFan
		}
		if units+length > most {
			break
		}
		spans, units, next = append(spans, spanName(uint64(next/length), digits)), units+length, next-length
	}
	return spans, units
}

// spanNumber returns the number of the shortest span that contains an id.
func spanNumber(id uuid.UUID) int64 {
	n, _ := strconv.ParseInt(hex.EncodeToString(id[:5])[:longDigits], 16, 64) // hexadecimal digits always parse
	return n
}

// spanName returns the name of a span in prediction_words.
func spanName(n uint64, digits int) string {
	name := strconv.FormatUint(n|1<<(4*digits), 16)[1:]
	if digits > 8 {
		name = name[:8] + "-" + name[8:]
	}
	return "@" + name
}
