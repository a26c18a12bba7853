package archive

import (
	"context"
	"iter"

	"github.com/pulsecast/pulsecast/app/database"
)

// lookedUp is how many texts are compared with the requests at once.
const lookedUp = 500

// findErased returns which of the given texts of a table must not be written, with the reasons.
type findErased func(ctx context.Context, table string, rows []TextRow) (map[record]string, error)

// withoutErased yields the texts of a table that may be written, and records the others as erased.
func (w *DayWriter) withoutErased(ctx context.Context, table string, rows iter.Seq2[TextRow, error]) iter.Seq2[TextRow, error] {
	if w.erased == nil {
		return rows
	}
	return func(yield func(TextRow, error) bool) {
		part := make([]TextRow, 0, lookedUp)
		pass := func() bool {
			reasons, err := w.erased(ctx, table, part)
			if err != nil {
				yield(TextRow{}, err)
				return false
			}
			for _, row := range part {
				if reason, erased := reasons[record{table, row.Record}]; erased {
					w.redact(table, row.Record, reason)
				} else if !yield(row, nil) {
					return false
				}
			}
			part = part[:0]
			return true
		}
		for row, err := range rows {
			if err != nil {
				yield(row, err)
				return
			}
			if part = append(part, row); len(part) == lookedUp && !pass() {
				return
			}
		}
		if len(part) > 0 {
			pass()
		}
	}
}

// redact records that the texts of a record are erased.
func (w *DayWriter) redact(table, id, reason string) {
	key := record{table, id}
	if w.noted[key] {
		return
	}
	w.noted[key] = true
	w.redactions = append(w.redactions, Redaction{Table: table, Record: id, Reason: reason, At: database.Stored(w.now())})
}
