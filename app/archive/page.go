package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// DaysBefore lists up to limit sealed days before the given one, newest first. With "" it starts
// with the newest.
func DaysBefore(ctx context.Context, db bun.IDB, before string, limit int) ([]SealedDay, error) {
	var rows []dayRow
	q := db.NewSelect().Model(&rows).OrderExpr("day DESC").Limit(int64(limit))
	if before != "" {
		q.Where("day < ?", before)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list the days of the archive: %w", err)
	}
	days := make([]SealedDay, len(rows))
	for i := range rows {
		var err error
		if days[i], err = rows[i].day(); err != nil {
			return nil, err
		}
	}
	return days, nil
}

// AbandonedAmong returns those of the given days, newest first, whose decisions don't count; see Abandoned. It reads only
// those later days that abandon others, because the rest have no effect.
func AbandonedAmong(ctx context.Context, db bun.IDB, days []SealedDay) (map[string]bool, error) {
	if len(days) == 0 {
		return nil, nil
	}
	var later []dayRow
	err := db.NewSelect().Model(&later).Where("day > ?", days[0].Day).
		Where("abandoned_from IS NOT NULL").Order("day").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for days that abandon others: %w", err)
	}
	var manifests []*Manifest
	for _, d := range slices.Backward(days) {
		manifests = append(manifests, d.Manifest)
	}
	for i := range later {
		d, err := later[i].day()
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, d.Manifest)
	}
	return Abandoned(manifests), nil
}

// FindDay returns a sealed day, or nil if the day isn't sealed.
func FindDay(ctx context.Context, db bun.IDB, day string) (*SealedDay, error) {
	var row dayRow
	err := db.NewSelect().Model(&row).Where("day = ?", day).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a day of the archive: %w", err)
	}
	found, err := row.day()
	return &found, err
}

// DaysBetween lists the sealed days between two days, both included, oldest first.
func DaysBetween(ctx context.Context, db bun.IDB, from, to string) ([]SealedDay, error) {
	var rows []dayRow
	if err := db.NewSelect().Model(&rows).Where("day >= ?", from).Where("day <= ?", to).Order("day").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list the days of the archive: %w", err)
	}
	days := make([]SealedDay, len(rows))
	for i := range rows {
		var err error
		if days[i], err = rows[i].day(); err != nil {
			return nil, err
		}
	}
	return days, nil
}
