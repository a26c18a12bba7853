package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Check checks that backups can be made: it creates the folder, writes a file into it, and
// looks for pg_dump and a connection pooler. The error names the setting to change.
func (s *Schedule) Check(ctx context.Context) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return s.unwritable(err)
	}
	temp, err := newTemp(filepath.Join(s.Dir, s.nameAt(s.Now())))
	if err != nil {
		return s.unwritable(err)
	}
	if err := remove(temp); err != nil {
		return fmt.Errorf("BACKUP_DIR: %w", err)
	}
	if s.DB.Pooled() {
		return fmt.Errorf("BACKUP_EVERY: %w", errPooled)
	}
	if s.DB.Kind == database.Postgres {
		if _, err := findTool(ctx, "pg_dump", 0); err != nil {
			return fmt.Errorf("BACKUP_EVERY: %w", err)
		}
	}
	return nil
}

func (s *Schedule) unwritable(err error) error {
	return fmt.Errorf(
		"BACKUP_DIR: cannot write to %s: %w; name a folder that the service may write to, with the systemd unit one below /var/lib/pulsecast",
		s.Dir, cmp.Or(errors.Unwrap(err), err),
	)
}

// Tick makes a backup if one is due. It returns the time until the next check, and stores the
// result for ReadState.
func (s *Schedule) Tick(ctx context.Context) (next time.Duration, err error) {
	state, err := ReadState(ctx, s.DB.Reader)
	if err != nil {
		return 0, err
	}
	now := database.Stored(s.Now())
	if state.Since.IsZero() {
		state.Since = now
	}
	if wait := state.At.Add(s.Every).Sub(now); !state.At.IsZero() && wait > 0 && !state.ahead(now) {
		return min(wait, Interval), nil
	}
	if err := s.removeUnfinished(now); err != nil {
		s.Log.Warn("incomplete backups not removed", "error", err)
	}
	r, err := s.make(ctx, now)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return 0, err // the node stops, and another one goes on
		}
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
	return min(s.Every, Interval), s.prune(state.Name, now)
}

// prefix starts the names of the schedule's backups. The time and the suffix of the kind follow.
const (
	prefix     = "pulsecast-"
	nameFormat = "20060102T150405Z"
)

func suffixOf(kind database.Kind) string {
	return map[database.Kind]string{database.SQLite: ".db", database.Postgres: ".dump"}[kind]
}

// nameAt returns the name of a backup made at a time.
func (s *Schedule) nameAt(at time.Time) string {
	return prefix + at.UTC().Format(nameFormat) + suffixOf(s.DB.Kind)
}

func (s *Schedule) make(ctx context.Context, now time.Time) (*Report, error) {
	return Make(ctx, Options{Database: s.Database, File: filepath.Join(s.Dir, s.nameAt(now))})
}

// removeUnfinished deletes the files of attempts that were killed, so that they don't take the space of the next one.
// On SQLite no other node makes backups, so each such file is left over. On Postgres, another node that shares the folder
// may still be stopping after it lost the lease. There a file is left over if it wasn't written for longer than an
// attempt takes.
func (s *Schedule) removeUnfinished(now time.Time) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		if !s.unfinished(e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && (s.DB.Kind == database.SQLite || now.Sub(info.ModTime()).Abs() > 2*Timeout) {
			err = os.Remove(filepath.Join(s.Dir, e.Name()))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// prune deletes the oldest backups beyond Keep, but never the one just written. Call it after that one was verified.
func (s *Schedule) prune(written string, now time.Time) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("look for old backups: %w", err)
	}
	var others []string
	for _, e := range entries {
		if e.Name() != written && s.named(e.Name()) {
			others = append(others, e.Name())
		}
	}
	s.sortByAge(others, now)
	var failed []error
	for _, name := range others[:max(0, len(others)-(s.Keep-1))] {
		failed = append(failed, os.Remove(filepath.Join(s.Dir, name)))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove old backups: %w", err)
	}
	return nil
}

// sortByAge sorts names of backups, the oldest first. Names of the future come before all others, because a clock was
// ahead when they were made. They would otherwise outlive every backup that is made until then.
func (s *Schedule) sortByAge(names []string, now time.Time) {
	latest := s.nameAt(now.Add(clockTolerance))
	slices.SortFunc(names, func(a, b string) int {
		if (a > latest) != (b > latest) {
			return strings.Compare(b, a) // the greater name is of the future
		}
		return strings.Compare(a, b)
	})
}

// unfinished reports whether a file belongs to an incomplete backup of this schedule.
func (s *Schedule) unfinished(file string) bool {
	whole, ok := wholeOf(file)
	return ok && s.named(whole)
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
