package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// Interval is the time between two runs of the job.
	Interval = 5 * time.Minute
	// Timeout is the maximum duration of one run.
	Timeout = time.Hour
	// settled is how long after its end a day is sealed. Readings that began before midnight are
	// stored by then.
	settled = 15 * time.Minute
	// daysPerRun is the maximum number of days that one run seals. A backlog takes several runs.
	daysPerRun = 40
)

// Unsealed is the error of a run that could not seal or erase everything. Another node may reach files that this one
// doesn't.
type Unsealed struct{ error }

// Unwrap returns the cause.
func (u *Unsealed) Unwrap() error { return u.error }

// Tick seals the days that have ended, erases requested texts, and asks the sources whether
// archived posts still exist. A failed step doesn't stop the others, because an erasure must not
// wait until an unrelated fault is repaired. It fits worker.Job. It stores for ReadStatus whether
// sealing and erasing succeeded. If not, the error contains an *Unsealed.
func (s *Sealer) Tick(ctx context.Context) (next time.Duration, err error) {
	more, err := s.sealAndErase(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return 0, err // the node stops
	}
	// A run that took too long is also stored, although its ctx has ended.
	err = errors.Join(err, noteJob(context.WithoutCancel(ctx), s.DB, err))
	if err != nil {
		err = &Unsealed{err}
	} else if more {
		next = time.Second
	}
	return next, errors.Join(err, s.lookForPosts(ctx))
}

// sealAndErase does the work in the storage. more reports whether days are left for the next run.
func (s *Sealer) sealAndErase(ctx context.Context) (more bool, err error) {
	if err := Probe(ctx, s.Storage); err != nil {
		return false, err // every write would fail
	}
	unremoved := s.removeUnfinished(ctx)
	more, err = s.sealDue(ctx)
	sealed := err == nil && !more
	return more, errors.Join(err, s.requestErasures(ctx), s.Redact(ctx, sealed), unremoved)
}

// sweeper is a storage that writes temporary files.
type sweeper interface {
	RemoveUnfinished(ctx context.Context, prefix string) error
}

// removeUnfinished removes the temporary files of other runs before this run writes. Those of killed processes may hold
// texts that were erased since. A node that lost the lease while its disk hung can't give such a file its name later.
func (s *Sealer) removeUnfinished(ctx context.Context) error {
	f, ok := s.Storage.(sweeper)
	if !ok {
		return nil // only a folder has temporary files
	}
	if err := f.RemoveUnfinished(ctx, "days/"); err != nil {
		return fmt.Errorf("remove unfinished files: %w", err)
	}
	return nil
}

// sealDue seals the days that have ended. more reports whether days are left for the next run.
func (s *Sealer) sealDue(ctx context.Context) (more bool, err error) {
	latest := DayOf(s.Now().UTC().Add(-settled).AddDate(0, 0, -1)) // in UTC, because a local day may have 23 hours
	for range daysPerRun {
		if err := s.finishLast(ctx); err != nil {
			return false, err
		}
		day, err := s.nextDay(ctx)
		if err != nil || day == "" || day > latest {
			return false, err
		}
		if err := s.Seal(ctx, day); err != nil {
			return false, err
		}
		s.Log.Info("day sealed", "day", day)
	}
	return true, nil
}

// finishLast deletes the segments of the last sealed day that an interrupted run has left. The next day must not
// include them.
func (s *Sealer) finishLast(ctx context.Context) error {
	last, found, err := lastDay(ctx, s.DB.Reader)
	if err != nil || !found {
		return err
	}
	return s.deleteSealed(ctx, last.Day)
}

// nextDay returns the day to seal next, which is the day after the last sealed one, so that no day
// is skipped. An archive begins with the first day in the storage, or else with the day of the
// first segment.
func (s *Sealer) nextDay(ctx context.Context) (string, error) {
	last, found, err := lastDay(ctx, s.DB.Reader)
	if err != nil {
		return "", err
	}
	if found {
		if err := s.holds(ctx, &last); err != nil {
			return "", err
		}
		_, end, err := Bounds(last.Day)
		return DayOf(end), err
	}
	stored, err := FirstDay(ctx, s.Storage)
	if err != nil || stored != "" {
		return stored, err
	}
	var first sql.NullString
	if err := s.DB.Reader.NewSelect().Model((*segment)(nil)).ColumnExpr("min(day)").Scan(ctx, &first); err != nil {
		return "", fmt.Errorf("find the first segment: %w", err)
	}
	return first.String, nil
}

// holds checks that the storage contains the last sealed day. It detects an empty folder where a
// disk isn't mounted.
func (s *Sealer) holds(ctx context.Context, last *SealedDay) error {
	d, err := OpenDay(ctx, s.Storage, last.Day)
	if errors.Is(err, ErrNotExist) {
		return fmt.Errorf("%s: the day was sealed, but the file is missing; check ARCHIVE_URL and that its disk is mounted", Path(last.Day, ManifestName))
	}
	if err != nil {
		return err
	}
	if d.Hash != last.Hash {
		return fmt.Errorf("%s: its hash is %s, but the day was sealed with hash %s", Path(last.Day, ManifestName), d.Hash, last.Hash)
	}
	return nil
}

// Status is the state of the archive. It is the same on every node.
type Status struct {
	LastSealed string // last sealed day, "" if none
	Waiting    int64  // number of segments in the database
	Oldest     string // day of the oldest segment
	jobState
}

// jobState is the state of the job.
type jobState struct {
	Failures int    // consecutive failed runs
	Error    string // error of the latest run
	Hangs    string // what hung in the latest run, as in Silence.Call; "" if nothing did
}

// late is how long after its end a day may stay unsealed.
const late = 6 * time.Hour

// Ahead reports whether a day is sealed that isn't over, because a clock was ahead.
func (s *Status) Ahead(now time.Time) bool { return s.LastSealed >= DayOf(now) }

// Troubled reports whether an operator should check the archive: the job fails, a day that ended more
// than late ago isn't sealed, or a day is sealed that isn't over.
func (s *Status) Troubled(now time.Time) bool {
	return s.Failures > 0 || s.Ahead(now) ||
		s.Oldest != "" && s.Oldest < DayOf(now.Add(-late)) && s.Oldest > s.LastSealed
}

// Warning says what is wrong if the archive is Troubled, and what an operator can do. Otherwise it returns "". It doesn't
// contain Error, which only operators may see.
func (s *Status) Warning(now time.Time) string {
	const waiting = "so observations wait in the database and nothing is pruned"
	switch {
	case s.Failures > 0 && s.Hangs != "":
		return "the archive doesn't answer (" + s.Hangs + " hangs), " + waiting + ": check the disk or the network of ARCHIVE_URL"
	case s.Failures > 0:
		return "the archive can't be written, " + waiting + ": the log says why"
	case s.Ahead(now):
		return s.LastSealed + " is sealed in the archive but isn't over, because a clock was ahead: what happens until its end will be missing in the archive"
	case s.Troubled(now):
		return s.Oldest + " has ended and isn't in the archive yet, so its observations wait in the database: check that a worker is running"
	}
	return ""
}

// DaysWaiting returns how many days have ended by now but aren't sealed. Until the first day is
// sealed, it counts from the day of the oldest segment.
func (s *Status) DaysWaiting(now time.Time) int {
	day := s.Oldest
	if s.LastSealed != "" {
		day = s.LastSealed
	}
	first, next, err := Bounds(day)
	if err != nil {
		return 0 // nothing was observed yet
	}
	if s.LastSealed != "" {
		first = next
	}
	return max(0, int(now.UTC().Truncate(24*time.Hour).Sub(first)/(24*time.Hour)))
}

// ReadStatus reads the state of the archive.
func ReadStatus(ctx context.Context, db bun.IDB) (st Status, err error) {
	if st.jobState, err = readJobState(ctx, db); err != nil {
		return st, err
	}
	var last dayRow
	err = db.NewSelect().Model(&last).Column("day").OrderExpr("day DESC").Limit(1).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return st, fmt.Errorf("read the state of the archive: %w", err)
	}
	st.LastSealed = last.Day
	var waiting struct {
		N      int64
		Oldest sql.NullString
	}
	if err := db.NewSelect().Model((*segment)(nil)).ColumnExpr("count(*) AS n, min(day) AS oldest").Scan(ctx, &waiting); err != nil {
		return st, fmt.Errorf("count segments: %w", err)
	}
	st.Waiting, st.Oldest = waiting.N, waiting.Oldest.String
	return st, nil
}

// jobSetting is the setting that holds the state of the job.
const jobSetting = "archive"

func readJobState(ctx context.Context, db bun.IDB) (r jobState, err error) {
	text, found, err := database.Setting(ctx, db, jobSetting)
	if err != nil || !found {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("read the state of the archive: %w", err)
	}
	return r, nil
}

func noteJob(ctx context.Context, db bun.IDB, cause error) error {
	r, err := readJobState(ctx, db)
	if err != nil {
		return err
	}
	if cause == nil {
		r = jobState{}
	} else {
		r.Failures, r.Error, r.Hangs = r.Failures+1, cause.Error(), ""
		if silence, ok := errors.AsType[*Silence](cause); ok {
			r.Hangs = silence.Call
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return database.SetSetting(ctx, db, jobSetting, string(text))
}
