package archive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
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

// recalledSetting holds when the newest list of erasures that recallErasures has read was written.
const recalledSetting = "archive_erasures_recalled"

// recallErasures requests the erasures that sealed days list and the database doesn't know, because they were
// requested after the backup that it was restored from. Otherwise the next days would bring the texts back. Texts that
// an admin hid are left out: the restore has undone that act, and the admin may repeat it.
//
// It runs before a day is sealed, because perhaps no other sign tells of a restore. It reads only the lists that were
// written since the newest one that it has read. After a restore, these are all since the backup.
func (s *Sealer) recallErasures(ctx context.Context) error {
	text, _, err := database.Setting(ctx, s.DB.Reader, recalledSetting)
	if err != nil {
		return err
	}
	since, _ := time.Parse(time.RFC3339Nano, text) // zero at first
	stored, err := s.Storage.List(ctx, "days/")
	if err != nil {
		return fmt.Errorf("list the archive: %w", err)
	}
	sealed, written := map[string]bool{}, map[string]time.Time{}
	newest := since
	for _, o := range stored {
		switch day, name, _ := strings.Cut(strings.TrimPrefix(o.Name, "days/"), "/"); {
		case name == ManifestName:
			sealed[day] = true
		case name == RedactionsName && !o.Modified.Before(since):
			written[day] = o.Modified
		}
	}
	for _, day := range slices.Sorted(maps.Keys(written)) {
		if !sealed[day] { // an earlier attempt at a day wrote it
			continue
		}
		if err := s.recallFrom(ctx, day); err != nil {
			return err
		}
		if written[day].After(newest) {
			newest = written[day]
		}
	}
	if newest.Equal(since) {
		return nil
	}
	return database.SetSetting(ctx, s.DB, recalledSetting, newest.UTC().Format(time.RFC3339Nano))
}

// recallFrom requests those erasures of a day that the database doesn't know.
func (s *Sealer) recallFrom(ctx context.Context, day string) error {
	var list []Redaction
	if err := readJSON(ctx, s.Storage, Path(day, RedactionsName), &list); err != nil {
		return err
	}
	var rows []redaction
	if err := s.DB.Reader.NewSelect().Model(&rows).Column("kind", "record", "reason").Where("day = ?", day).Scan(ctx); err != nil {
		return fmt.Errorf("read redactions: %w", err)
	}
	known := make(map[record]bool, len(rows))
	for _, r := range rows {
		known[record{r.Kind, r.Record}] = r.Reason != Hidden // another reason may have replaced it
	}
	var requests []Request
	for _, r := range list {
		if r.Reason != Hidden && !known[record{r.Table, r.Record}] {
			requests = append(requests, Request{Table: r.Table, Record: r.Record, Reason: r.Reason})
		}
	}
	return RequestRedaction(ctx, s.DB, s.Now(), false, requests...)
}
