package prediction

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// The search index of Postgres has no order: to find the newest of what matches it reads all
// that ever did. So it also holds the spans of time that a prediction was published in: the
// first nine to four hexadecimal digits of its id, from 4 seconds to 50 days. A search asks for
// the newest two spans of one length after another, until they hold enough.

// spanDigits are the lengths, as prediction_spans in the migration has them.
var spanDigits = [...]int{9, 8, 7, 6, 5, 4}

// withinSpan narrows w to spans with at least limit matches, if there are any such.
func (f *Filter) withinSpan(ctx context.Context, db bun.IDB, w walk, after *place, limit int) error {
	from := uuid.Nil
	if after != nil && !f.ranked() {
		from = after.ID
	} else {
		err := db.NewSelect().TableExpr("predictions AS p").Column("p.id").Order("p.id DESC").Limit(1).Scan(ctx, &from)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	for i := 0; i < len(spanDigits); i++ {
		within := pgdialect.Array(spansOf(from, spanDigits[i]))
		some := db.NewSelect().TableExpr("prediction_words AS w").ColumnExpr("1").
			Where("prediction_spans(w.id) && ?::text[]", within).Limit(int64(limit))
		whereWords(some, f.Words)
		if after != nil && !f.ranked() {
			some.Where("w.id < ?", after.ID)
		}
		n, err := db.NewSelect().TableExpr("(?) AS matches", some).Count(ctx)
		if err != nil {
			return err
		}
		if n >= int64(limit) {
			w.Where("prediction_spans(w.id) && ?::text[]", within)
			return nil
		}
		if n < 2 {
			i++ // 256 times as long, since 16 times would not do
		}
	}
	return nil
}

// spansOf names the span that an id is in and the one before it, by their number of digits.
func spansOf(id uuid.UUID, digits int) []string {
	n, err := strconv.ParseUint(hex.EncodeToString(id[:6])[:digits], 16, 64)
	if err != nil {
		return nil // not possible: these are hexadecimal digits
	}
	return []string{spanName(n, digits), spanName(max(n, 1)-1, digits)}
}

func spanName(n uint64, digits int) string {
	name := strconv.FormatUint(n|1<<(4*digits), 16)[1:]
	if digits > 8 {
		return name[:8] + "-" + name[8:]
	}
	return name
}
