package prediction

import (
	"bytes"
	"context"
	"encoding/hex"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/pulsecast/pulsecast/app/database"
)

// The search index of Postgres has no order: to find the newest matches it would have to read all of them. So
// the index also holds the spans of time that a prediction was published in. A span is named by the first nine
// to four hexadecimal digits of an id, and lasts from 4 seconds to 50 days. A search starts where the previous
// page ended and looks back into ever longer spans until they hold enough matches. It therefore reads only a
// few times as many matches as it needs, even on the last page.

const (
	// longDigits and shortDigits are the number of hexadecimal digits in the names of the shortest and of the
	// longest spans. prediction_spans in the migration has the same numbers.
	longDigits, shortDigits = 9, 4
	// spanFan is how many spans make up one span of the next length.
	spanFan = 16
	// growth limits the time that one look adds, as a multiple of the time covered so far.
	growth = 7
)

// withinSpan limits w to the spans that hold its next matches, as many as limit says.
func (f *Filter) withinSpan(ctx context.Context, db bun.IDB, w walk, after *place, limit int) error {
	var from, oldest uuid.UUID
	err := database.NewPlanned(db).Scan(ctx, db.NewSelect().ColumnExpr("(SELECT id FROM predictions ORDER BY id DESC LIMIT 1)").
		ColumnExpr("(SELECT id FROM predictions ORDER BY id LIMIT 1)"), &from, &oldest)
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
		if found > 0 { // extrapolate from the matches found so far
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

// countWithin counts the matches in the given spans, up to limit.
func (f *Filter) countWithin(ctx context.Context, db bun.IDB, within []string, after *place, limit int) (int, error) {
	p := database.NewPlanned(db)
	some := db.NewSelect().TableExpr("prediction_words AS w").ColumnExpr("1").
		Where("w.words && ?::text[]", p.Value(pgdialect.Array(within))).
		Where(holdsWords, p.Value(pgdialect.Array(cutWords(f.Words))))
	if after != nil {
		some.Where("w.id < ?", p.Value(after.ID))
	}
	var n int
	err := p.Scan(ctx, db.NewSelect().TableExpr("(? LIMIT ?) AS matches", some, p.Value(limit)).ColumnExpr("COUNT(*)"), &n)
	return n, err
}

// span is a period in which predictions were published.
type span struct {
	name  string
	units int64 // length in shortest spans
}

// spansBack lists the spans that cover the time from one id back to an older one. It uses short spans back to
// the end of a longer one, and then the longer ones.
func spansBack(from, oldest uuid.UUID) (spans []span) {
	next, end, units := spanNumber(from), spanNumber(oldest), int64(1)
	for digits := longDigits; digits >= shortDigits && next >= end; digits-- {
		first := max(next+1-(next+1)%spanFan, end) // the rest ends with a whole longer span
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
