package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// Schedule makes backups at intervals. Its Tick is a job of the worker, so only one node runs it at
// a time.
type Schedule struct {
	DB       *database.DB
	Database string // address, as in DATABASE_URL
	Dir      string // folder for the backups
	Every    time.Duration
	Keep     int // how many backups to keep
	Now      func() time.Time
	Log      *slog.Logger
}

// Interval is how often the schedule checks whether a backup is due.
const Interval = time.Minute

// Timeout is the maximum duration of one backup.
const Timeout = 6 * time.Hour

// Check checks that backups can be made: it creates the folder, writes a file into it and looks for
// pg_dump. The error names the setting to change.
func (s *Schedule) Check(ctx context.Context) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("BACKUP_DIR: %w", err)
	}
	f, err := os.CreateTemp(s.Dir, prefix+"*"+partSuffix)
	if err != nil {
		return fmt.Errorf("BACKUP_DIR: cannot write to %s: %w", s.Dir, errors.Unwrap(err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("BACKUP_DIR: %w", err)
	}
	if s.DB.Kind == database.Postgres {
		if _, err := findTool(ctx, "pg_dump", 0); err != nil {
			return fmt.Errorf("BACKUP_EVERY: %w", err)
		}
	}
	return nil
}

// Tick makes a backup if one is due. It returns the time until the next check, and stores the
// result for ReadState.
func (s *Schedule) Tick(ctx context.Context) (next time.Duration, err error) {
	state, err := ReadState(ctx, s.DB.Reader)
	if err != nil {
		return 0, err
	}
	now := database.Now(s.Now())
	if state.Since.IsZero() {
		state.Since = now
	}
	if wait := state.At.Add(s.Every).Sub(now); !state.At.IsZero() && wait > 0 && !state.ahead(now) {
		return min(wait, Interval), nil
	}
	r, err := s.make(ctx, now)
	if err != nil {
		state.FailedAt, state.Failures = now, state.Failures+1
		return 0, errors.Join(err, state.save(context.WithoutCancel(ctx), s.DB))
	}
	s.Log.Info("backup written", "file", r.File, "bytes", r.Bytes, "predictions", r.Predictions, "took", r.Took)
	state = State{
		Since: state.Since, At: now, Name: filepath.Base(r.File), Bytes: r.Bytes, Predictions: r.Predictions, Took: r.Took,
	}
	if err := state.save(ctx, s.DB); err != nil {
		return 0, err
	}
	return min(s.Every, Interval), s.prune(now)
}

// prefix starts the names of the schedule's backups. The time and the suffix of the kind follow.
const (
	prefix     = "pulsecast-"
	nameFormat = "20060102T150405Z"
)

func suffixOf(kind database.Kind) string {
	return map[database.Kind]string{database.SQLite: ".db", database.Postgres: ".dump"}[kind]
}

func (s *Schedule) make(ctx context.Context, now time.Time) (*Report, error) {
	name := prefix + now.UTC().Format(nameFormat) + suffixOf(s.DB.Kind)
	return Make(ctx, Options{Database: s.Database, File: filepath.Join(s.Dir, name)})
}

// prune deletes the oldest backups beyond Keep, and incomplete files left by crashes. Call it after
// a backup was verified.
func (s *Schedule) prune(now time.Time) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("look for old backups: %w", err)
	}
	var whole, old []string
	for _, e := range entries {
		switch name := e.Name(); {
		case s.named(name):
			whole = append(whole, name)
		case strings.HasPrefix(name, prefix) && strings.HasSuffix(name, partSuffix):
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > 2*Timeout {
				old = append(old, name)
			}
		}
	}
	slices.Sort(whole)
	old = append(old, whole[:max(0, len(whole)-s.Keep)]...)
	var failed []error
	for _, name := range old {
		failed = append(failed, remove(filepath.Join(s.Dir, name)))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	return nil
}

// named reports whether a file has the name of a backup of this schedule.
func (s *Schedule) named(file string) bool {
	moment, ok := strings.CutPrefix(file, prefix)
	if !ok {
		return false
	}
	moment, ok = strings.CutSuffix(moment, suffixOf(s.DB.Kind))
	_, err := time.Parse(nameFormat, moment)
	return ok && err == nil
}
