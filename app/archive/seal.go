package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Exporter writes tables of a day that are not observations. It writes what changed from
// from until before to; from is zero for the first day of an archive, which holds all that is
// older too.
type Exporter interface {
	Export(ctx context.Context, w *DayWriter, from, to time.Time) error
}

// Sealer seals days. Two may work on the same archive: one of them seals a day.
type Sealer struct {
	DB        *database.DB
	Storage   Writable
	Exporters []Exporter
	// Posts ask the sources of news, by their names, whether posts still exist.
	Posts map[string]FindPosts
	Now   func() time.Time
	Log   *slog.Logger
}

// Seal seals one day with the segments that are in the database, reads it back, notes it in
// archive_days and deletes the segments. Segments of days that were sealed before are sealed
// with it. A day that the storage holds already is read back and taken over instead: it is
// never overwritten.
func (s *Sealer) Seal(ctx context.Context, day string) error {
	last, found, err := Last(ctx, s.DB)
	if err != nil {
		return err
	}
	if found && day <= last.Day {
		return fmt.Errorf("seal %s: %s is sealed already", day, last.Day)
	}
	manifest, err := s.Storage.Open(ctx, Path(day, ManifestName))
	switch {
	case err == nil:
		err = manifest.Close()
	case errors.Is(err, fs.ErrNotExist):
		if err = s.write(ctx, day, last.Hash); errors.Is(err, fs.ErrExist) { // another node was faster
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("seal %s: %w", day, err)
	}
	return s.adopt(ctx, day, last.Hash)
}

// write writes the files of a day, the manifest last.
func (s *Sealer) write(ctx context.Context, day, previous string) error {
	from, to, err := bounds(day)
	if err != nil {
		return err
	}
	if previous == "" {
		from = time.Time{}
	}
	w := NewDayWriter(s.Storage, day, previous)
	w.now, w.erased = s.Now, requested(s.DB)
	if err := s.writeObserved(ctx, w, day); err != nil {
		return err
	}
	for _, e := range s.Exporters {
		if err := e.Export(ctx, w, from, to); err != nil {
			return err
		}
	}
	if err := s.stillOpen(ctx, day); err != nil {
		return err
	}
	_, err = w.Finish(ctx)
	return err
}

// stillOpen returns ErrExist if another node has sealed the day. Segments that were listed before
// are complete then: they are deleted when the day is recorded.
func (s *Sealer) stillOpen(ctx context.Context, day string) error {
	last, found, err := Last(ctx, s.DB)
	if err == nil && found && last.Day >= day {
		return fmt.Errorf("another node sealed %s: %w", last.Day, ErrExist)
	}
	return err
}

// adopt reads a day back, notes that it is sealed, and deletes the segments that it holds.
func (s *Sealer) adopt(ctx context.Context, day, previous string) error {
	d, err := OpenDay(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	if d.Manifest.Previous != previous {
		return fmt.Errorf("%s: it follows the day with hash %q, but the day before has %q", Path(day, ManifestName), d.Manifest.Previous, previous)
	}
	found, err := d.Check(ctx)
	if err != nil {
		return err
	}
	if len(found.Withheld) > 0 {
		return fmt.Errorf("%s: it is missing", Path(day, found.Withheld[0]))
	}
	if len(found.Problems) > 0 {
		return found.Problems[0]
	}
	ids, err := readSegmentList(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := Record(ctx, tx, d, s.Now()); err != nil {
			return err
		}
		if err := addPosts(ctx, tx, d, s.Now()); err != nil {
			return err
		}
		return errors.Join(deleteSegments(ctx, tx, ids), s.forgetSalt(ctx, tx, day))
	})
}
