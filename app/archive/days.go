package archive

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// SealedDay is a day that was sealed and read back.
type SealedDay struct {
	Day      string
	Manifest *Manifest
	Hash     string // of the manifest, in hex
	SealedAt time.Time
}

// dayRow is a sealed day in the database.
type dayRow struct {
	bun.BaseModel `bun:"table:archive_days,alias:d"`

	Day       string          `bun:",pk"`
	Manifest  json.RawMessage `bun:"type:json"`
	Hash      []byte
	SealedAt  time.Time
	Abandoned bool
	// AbandonedFrom is that of the manifest, so that the few days with one are found without reading all manifests.
	AbandonedFrom string `bun:",nullzero"`
}

// StoreDay stores that a day is sealed and was read back, and whether it is abandoned; see Manifest.AbandonedFrom. A day
// that is stored already stays as it is.
func StoreDay(ctx context.Context, db bun.IDB, d *Day, abandoned bool, now time.Time) error {
	content, err := d.Manifest.Encode()
	if err != nil {
		return err
	}
	hash, err := hex.DecodeString(d.Hash)
	if err != nil {
		return fmt.Errorf("store %s: %w", d.Manifest.Day, err)
	}
	row := dayRow{
		Day: d.Manifest.Day, Manifest: content, Hash: hash, SealedAt: database.Stored(now), Abandoned: abandoned,
		AbandonedFrom: d.Manifest.AbandonedFrom,
	}
	if _, err := db.NewInsert().Model(&row).On("CONFLICT (day) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("store %s: %w", d.Manifest.Day, err)
	}
	return nil
}

// listDays lists the sealed days that narrow selects, in its order.
func listDays(ctx context.Context, db bun.IDB, narrow func(*bun.SelectQuery) *bun.SelectQuery) ([]SealedDay, error) {
	var rows []dayRow
	if err := narrow(db.NewSelect().Model(&rows)).Scan(ctx); err != nil {
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

// DaysBefore lists up to limit sealed days before the given one, newest first. With "" it starts
// with the newest.
func DaysBefore(ctx context.Context, db bun.IDB, before string, limit int) ([]SealedDay, error) {
	return listDays(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery {
		if before != "" {
			q = q.Where("day < ?", before)
		}
		return q.OrderExpr("day DESC").Limit(int64(limit))
	})
}

// DaysBetween lists the sealed days between two days, both included, oldest first.
func DaysBetween(ctx context.Context, db bun.IDB, from, to string) ([]SealedDay, error) {
	return listDays(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("day >= ?", from).Where("day <= ?", to).Order("day")
	})
}

// dayNames lists up to limit sealed days between two days, both included, oldest first. It reads no manifests.
func dayNames(ctx context.Context, db bun.IDB, from, to string, limit int) (days []string, err error) {
	err = db.NewSelect().Model((*dayRow)(nil)).Column("day").Where("day >= ?", from).Where("day <= ?", to).
		OrderExpr("day").Limit(int64(limit)).Scan(ctx, &days)
	if err != nil {
		return nil, fmt.Errorf("list the days of the archive: %w", err)
	}
	return days, nil
}

// lastDay returns the last sealed day. found is false if no day is sealed.
func lastDay(ctx context.Context, db bun.IDB) (last SealedDay, found bool, err error) {
	days, err := DaysBefore(ctx, db, "", 1)
	if err != nil || len(days) == 0 {
		return last, false, err
	}
	return days[0], true, nil
}

func (r *dayRow) day() (SealedDay, error) {
	m, err := ReadManifest(r.Day, r.Manifest)
	if err != nil {
		return SealedDay{}, fmt.Errorf("archive_days: %w", err)
	}
	return SealedDay{Day: r.Day, Manifest: m, Hash: hex.EncodeToString(r.Hash), SealedAt: r.SealedAt.UTC()}, nil
}

// SealedUntil returns the end of the last sealed day, or the zero time if none is sealed. The
// archive holds everything observed before it.
func SealedUntil(ctx context.Context, db bun.IDB) (time.Time, error) {
	last, found, err := lastDay(ctx, db)
	if err != nil || !found {
		return time.Time{}, err
	}
	_, end, err := Bounds(last.Day)
	return end, err
}

// Bounds returns the start of a day and the start of the next day.
func Bounds(day string) (from, to time.Time, err error) {
	from, err = time.Parse(time.DateOnly, day)
	if err != nil {
		return from, to, fmt.Errorf("%q is not a day in the form 2026-11-21", day)
	}
	return from, from.AddDate(0, 0, 1), nil
}
