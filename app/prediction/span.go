package prediction

import (
	"bytes"
	"context"
	"encoding/hex"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// The search index of Postgres has no order: to find the newest of what matches it reads all
// that ever did. So it also holds the spans of time that a prediction was published in: the
// first nine to four hexadecimal digits of its id, from 4 seconds to 50 days. A search looks
// into ever longer spans, going back from where the page before ended, until they hold enough.
// So it reads some times as many matches as it needs, on the last page too.

const (
	// longDigits and shortDigits are the lengths of the shortest and of the longest spans' names,
	// as prediction_spans in the migration has them, in hexadecimal digits.
	longDigits, shortDigits = 9, 4
	// spanFan is how many spans make the next longer one.
	spanFan = 16
	// growth is how many times the time looked at grows with each look.
	growth = 7
)

// withinSpan narrows w to the spans of its next limit matches.
func (f *Filter) withinSpan(ctx context.Context, db bun.IDB, w walk, after *place, limit int) error {
	var from, oldest uuid.UUID
	err := db.NewRaw("SELECT (SELECT id FROM predictions ORDER BY id DESC LIMIT 1), (SELECT id FROM predictions ORDER BY id LIMIT 1)").
		Scan(ctx, &from, &oldest)
	if err != nil {
		return err
	}
	if f.ranked() {
		after = nil
	}
	if after != nil && bytes.Compare(after.ID[:], from[:]) < 0 {
		from = after.ID
	}
	spans := spansBack(from, oldest)
	var within []string
	covered, found := int64(0), 0
	for len(spans) > 0 && found < limit {
		more := growth * covered
		if found > 0 { // as much as should do, by what was found so far
			more = min(more, 2*covered*int64(limit-found)/int64(found))
		}
		var names []string
		units := int64(0)
		for len(spans) > 0 && (units == 0 || units+spans[0].units <= more) {
			names, units, spans = append(names, spans[0].name), units+spans[0].units, spans[1:]
		}
		n, err := f.countWithin(ctx, db, names, after, limit-found)
		if err != nil {
			return err
		}
		within, covered, found = append(within, names...), covered+units, found+n
	}
	w.Where("w.words && ?::text[]", pgdialect.Array(within))
	return nil
}

// countWithin counts the matches in some spans, up to limit.
func (f *Filter) countWithin(ctx context.Context, db bun.IDB, within []string, after *place, limit int) (int, error) {
	some := db.NewSelect().TableExpr("prediction_words AS w").ColumnExpr("1").
		Where("w.words && ?::text[]", pgdialect.Array(within)).Limit(int64(limit))
	whereWords(some, f.Words)
	if after != nil {
		some.Where("w.id < ?", after.ID)
	}
	n, err := db.NewSelect().TableExpr("(?) AS matches", some).Count(ctx)
	return int(n), err
}

// span is a time that predictions were published in.
type span struct {
	name  string
	units int64 // how many of the shortest spans it is as long as
}

// spansBack lists the spans that cover the time from one id back to an older one: first the
// shortest ones, back to where a longer one ends, then the longer ones.
func spansBack(from, oldest uuid.UUID) (spans []span) {
	next, end, units := spanNumber(from), spanNumber(oldest), int64(1)
	for digits := longDigits; digits >= shortDigits && next >= end; digits-- {
		first := max(next+1-(next+1)%spanFan, end) // what is left ends with a whole longer span
		if digits == shortDigits {
			first = end
		}
		for ; next >= first; next-- {
			spans = append(spans, span{spanName(uint64(next), digits), units})
		}
		next, end, units = (next+1)/spanFan-1, end/spanFan, units*spanFan
	}
	return spans
}

// spanNumber numbers the shortest span that an id is in.
func spanNumber(id uuid.UUID) int64 {
	n, _ := strconv.ParseInt(hex.EncodeToString(id[:5])[:longDigits], 16, 64) // these are hexadecimal digits
	return n
}

// spanName returns the name of a span as prediction_words has it.
func spanName(n uint64, digits int) string {
	name := strconv.FormatUint(n|1<<(4*digits), 16)[1:]
	if digits > 8 {
		name = name[:8] + "-" + name[8:]
	}
	return "@" + name
}
