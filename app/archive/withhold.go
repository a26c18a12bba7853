package archive

import (
	"context"
	"fmt"
	"iter"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// lookedUp is how many texts are compared with the requests at once.
const lookedUp = 500

// findErased returns which of the given texts of a table must not be written, with the reasons.
type findErased func(ctx context.Context, table string, rows []TextRow) (map[record]string, error)

// requested finds the texts that the requests in a database cover. It looks up each record, so the
// number of requests ever made doesn't matter.
func requested(db bun.IDB) findErased {
	return func(ctx context.Context, table string, rows []TextRow) (map[record]string, error) {
		found := map[record]string{}
		records := make([]string, len(rows))
		agents := map[string]string{} // the reasons by agent, "" for none
		for i := range rows {
			records[i] = rows[i].Record
			if rows[i].Agent != "" {
				agents[rows[i].Agent] = ""
			}
		}
		kinds := []string{table}
		if table == Agents {
			kinds = append(kinds, Profiles)
		}
		err := eachRequest(ctx, db, kinds, records, func(r *request) {
			addReason(found, record{table, r.Record}, r.Reason)
		})
		if err != nil || len(agents) == 0 {
			return found, err
		}
		authors := make([]string, 0, len(agents))
		for id := range agents {
			authors = append(authors, id)
		}
		err = eachRequest(ctx, db, []string{Agents}, authors, func(r *request) { agents[r.Record] = r.Reason })
		for i := range rows {
			if reason := agents[rows[i].Agent]; reason != "" {
				addReason(found, record{table, rows[i].Record}, reason)
			}
		}
		return found, err
	}
}

// eachRequest calls use with each request for one of the given records.
func eachRequest(ctx context.Context, db bun.IDB, kinds, records []string, use func(*request)) error {
	var list []request
	err := db.NewSelect().Model(&list).Column("kind", "record", "reason").
		Where("q.kind IN (?)", bun.List(kinds)).Where("q.record IN (?)", bun.List(records)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("look up redactions: %w", err)
	}
	for i := range list {
		use(&list[i])
	}
	return nil
}

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
	w.redactions = append(w.redactions, Redaction{Table: table, Record: id, Reason: reason, At: database.Now(w.now())})
}
