package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
