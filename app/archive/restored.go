package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// Abandoned returns those of the days, oldest first, whose decisions don't count, because a later day that counts
// abandons them; see Manifest.AbandonedFrom.
func Abandoned(days []*Manifest) map[string]bool {
	abandoned, from := map[string]bool{}, ""
	for _, m := range slices.Backward(days) {
		if from != "" && m.Day >= from {
			abandoned[m.Day] = true
			continue
		}
		from = m.AbandonedFrom
	}
	return abandoned
}

// AbandonedAmong returns those of the given days, newest first, whose decisions don't count; see Abandoned. It reads only
// those later days that abandon others, because the rest have no effect.
func AbandonedAmong(ctx context.Context, db bun.IDB, days []SealedDay) (map[string]bool, error) {
	if len(days) == 0 {
		return nil, nil
	}
	later, err := listDays(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("day > ?", days[0].Day).Where("abandoned_from IS NOT NULL").Order("day")
	})
	if err != nil {
		return nil, err
	}
	var manifests []*Manifest
	for _, d := range slices.Backward(days) {
		manifests = append(manifests, d.Manifest)
	}
	for _, d := range later {
		manifests = append(manifests, d.Manifest)
	}
	return Abandoned(manifests), nil
}

// ownDays returns the last sealed day that isn't abandoned, and the first abandoned day after it. Both are "" if there
// is none.
func ownDays(ctx context.Context, db bun.IDB) (last, abandoned string, err error) {
	one := func(into *string, column, condition string, args ...any) error {
		return db.NewSelect().Model((*dayRow)(nil)).ColumnExpr(column).Where(condition, args...).Scan(ctx, into)
	}
	if err = one(&last, "COALESCE(MAX(day), '')", "NOT abandoned"); err == nil {
		err = one(&abandoned, "COALESCE(MIN(day), '')", "day > ?", last)
	}
	if err != nil {
		return "", "", fmt.Errorf("look for abandoned days of the archive: %w", err)
	}
	return last, abandoned, nil
}

// recallErasures requests the erasures that sealed days list and the database doesn't know, because they were
// requested after the backup that it was restored from. Otherwise the next days would bring the texts back. Nothing else
// may show that the database was restored: perhaps no day was sealed since the backup. Texts that an admin hid are left out: the restore has undone that act, and the admin may repeat it.
func (s *Sealer) recallErasures(ctx context.Context) error {
	days, err := StoredDays(ctx, s.Storage)
	if err != nil {
		return err
	}
	seen := map[record]bool{}
	for _, day := range days {
		var list []Redaction
		if err := readJSON(ctx, s.Storage, Path(day, RedactionsName), &list); err != nil {
			return err
		}
		var requests []Request
		for _, r := range list {
			if key := (record{r.Table, r.Record}); r.Reason != Hidden && !seen[key] {
				seen[key] = true
				requests = append(requests, Request{Table: r.Table, Record: r.Record, Reason: r.Reason})
			}
		}
		if err := RequestRedaction(ctx, s.DB, s.Now(), false, requests...); err != nil {
			return err
		}
	}
	return nil
}
