package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	requestsAtOnce = 500
	redactedDays   = 400 // days after which progress is stored
	daysNamed      = 5   // failed days that an error names at most
)

// Redact erases requested texts. It may be stopped at any time and run again. A request stays open
// if a day that can hold its record couldn't be processed, so the next run tries again. Without
// sealed, every request stays open for later days: the storage may hold a day that the database
// doesn't list yet.
func (s *Sealer) Redact(ctx context.Context, sealed bool) error {
	var failed []error
	for last := uuid.Nil; ; {
		var open []request
		err := s.DB.Reader.NewSelect().Model(&open).Where("done_at IS NULL").Where("id > ?", last).
			OrderExpr("id").Limit(requestsAtOnce).Scan(ctx)
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("list redactions: %w", err))...)
		}
		if len(open) == 0 {
			return errors.Join(failed...)
		}
		last = open[len(open)-1].ID
		if err := s.redactAll(ctx, open, sealed); err != nil {
			failed = append(failed, err)
		}
	}
}

// redactAll processes requests day by day.
func (s *Sealer) redactAll(ctx context.Context, open []request, sealed bool) error {
	from := slices.MinFunc(open, func(a, b request) int { return strings.Compare(a.NextDay, b.NextDay) }).NextDay
	to := slices.MaxFunc(open, func(a, b request) int { return strings.Compare(a.LastDay, b.LastDay) }).LastDay
	processed := slices.Clone(open) // the requests without a failed day
	var failed []error
	for more := true; more; {
		days, err := dayNames(ctx, s.DB.Reader, from, to, redactedDays)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, day := range days {
			if err := ctx.Err(); err != nil {
				return errors.Join(append(failed, err)...)
			}
			if err := s.redactDay(ctx, day, open); err != nil {
				if len(failed) < daysNamed {
					failed = append(failed, fmt.Errorf("redact %s: %w", day, err))
				}
				processed = slices.DeleteFunc(processed, func(r request) bool { return r.covers(day) })
			}
			from = day
		}
		more = len(days) == redactedDays
		if err := s.advance(ctx, processed, from, sealed && !more); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}

// redactDay erases the texts of the requested records from one day.
func (s *Sealer) redactDay(ctx context.Context, day string, open []request) error {
	d, err := OpenDay(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	wanted, err := d.wanted(ctx, open)
	if err != nil || len(wanted) == 0 {
		return err
	}
	e := eraser{Day: d, storage: s.Storage, wanted: wanted, now: database.Stored(s.Now())}
	if err := e.erase(ctx); err != nil {
		return err
	}
	return recordRedactions(ctx, s.DB, day, e.listed)
}

// record identifies a row with texts.
type record struct{ table, id string }

// wanted returns the records of a day that the requests cover, with the reasons. Request says what each covers.
func (d *Day) wanted(ctx context.Context, open []request) (map[record]string, error) {
	found, agents := map[record]string{}, map[string]string{}
	for _, r := range open {
		if !r.covers(d.Manifest.Day) {
			continue
		}
		if r.Kind == Profiles {
			addReason(found, record{Agents, r.Record}, r.Reason)
			continue
		}
		addReason(found, record{r.Kind, r.Record}, r.Reason)
		if r.Kind == Agents {
			agents[r.Record] = r.Reason
		}
	}
	if len(agents) == 0 {
		return found, nil
	}
	for p, err := range Rows[PredictionRow](ctx, d, Predictions) {
		if err != nil {
			return nil, err
		}
		if reason, ok := agents[p.Agent]; ok {
			addReason(found, record{Predictions, p.ID}, reason)
		}
	}
	return found, nil
}

// requested does for texts that aren't written yet what Day.wanted does for a sealed day. It looks up each record, so
// the number of requests ever made doesn't matter.
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

// addReason stores why a record is erased; see replaces.
func addReason(found map[record]string, r record, reason string) {
	if known := found[r]; known == "" || replaces(reason, known) {
		found[r] = reason
	}
}
