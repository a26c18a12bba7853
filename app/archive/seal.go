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
	"github.com/pulsecast/pulsecast/app/generation"
)

// Exporter writes the tables of a day that are not observations. Export writes what changed at from
// or later and before to. For the first day of an archive, from is zero, and Export writes
// everything before to. For the first day after abandoned days, from is the start of the first of
// them.
type Exporter interface {
	Export(ctx context.Context, w *DayWriter, from, to time.Time) error
}

// Sealer seals days. Two sealers may work on the same archive. Only one of them seals a given day.
type Sealer struct {
	DB        *database.DB
	Storage   Writable
	Exporters []Exporter
	// Posts ask each news source, by its name, whether posts still exist.
	Posts map[string]FindPosts
	Now   func() time.Time
	Log   *slog.Logger
}

// Seal seals one day with the segments in the database, reads it back, records it in archive_days
// and deletes the segments. Segments of days that were sealed earlier are included. If the storage
// holds the day already, Seal never overwrites it, but reads it back and records it.
func (s *Sealer) Seal(ctx context.Context, day string) error {
	last, found, err := lastDay(ctx, s.DB.Reader)
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
		if err = s.write(ctx, day, last.Hash); errors.Is(err, fs.ErrExist) { // another node sealed it first
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
	from, to, err := Bounds(day)
	if err != nil {
		return err
	}
	own, abandoned, err := ownDays(ctx, s.DB.Reader)
	if err != nil {
		return err
	}
	w := NewDayWriter(s.Storage, day, previous)
	w.now, w.erased, w.manifest.AbandonedFrom = s.Now, requested(s.DB.Reader), abandoned
	if abandoned != "" {
		s.Log.Warn("the database is older than sealed days, so decisions in these days don't count", "from", abandoned, "before", day)
		if from, _, err = Bounds(abandoned); err != nil {
			return err
		}
	}
	if err := s.recallErasures(ctx); err != nil {
		return err
	}
	if own == "" {
		from = time.Time{}
	}
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
	return w.Finish(ctx)
}

// stillOpen returns ErrExist if another node has sealed the day. If it returns nil, segments listed
// before the call were complete, because they are deleted only when the day is recorded.
func (s *Sealer) stillOpen(ctx context.Context, day string) error {
	last, found, err := lastDay(ctx, s.DB.Reader)
	if err == nil && found && last.Day >= day {
		return fmt.Errorf("another node sealed %s: %w", last.Day, ErrExist)
	}
	return err
}

// adopt reads a day back, records that it is sealed, and then deletes the segments in it.
//
// A sealer stores the key of a day's salts in the database before it writes the day. So a database without the key
// is older than the day: it was restored from a backup, or is new. It may lack decisions in the day, or hold others.
// The day is then recorded as abandoned. With the key, the database holds all decisions of the day, because a day is
// written only after it has ended.
func (s *Sealer) adopt(ctx context.Context, day, previous string) error {
	d, err := OpenDay(ctx, s.Storage, day)
	if err != nil {
		return err
	}
	if d.Manifest.Previous != previous {
		return fmt.Errorf("%s: its manifest names %q as the hash of the day before, but that is %q", Path(day, ManifestName), d.Manifest.Previous, previous)
	}
	found, err := d.Check(ctx)
	if err != nil {
		return err
	}
	if len(found.Missing) > 0 {
		return found.Missing[0]
	}
	if len(found.Problems) > 0 {
		return found.Problems[0]
	}
	posts, err := postsOf(ctx, d, s.Now())
	if err != nil {
		return err
	}
	var erased []Redaction
	if err := readJSON(ctx, s.Storage, Path(day, RedactionsName), &erased); err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, began, err := database.Setting(ctx, tx, saltSetting(day))
		if err != nil {
			return err
		}
		if err := StoreDay(ctx, tx, d, !began, s.Now()); err != nil {
			return err
		}
		if began { // otherwise recallErasures must find what the database doesn't know
			if err := recordRedactions(ctx, tx, day, erased); err != nil {
				return err
			}
		}
		if err := addPosts(ctx, tx, posts); err != nil {
			return err
		}
		if err := s.forgetSalt(ctx, tx, day); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Archive)
	})
	if err != nil {
		return err
	}
	return s.deleteSealed(ctx, day)
}
