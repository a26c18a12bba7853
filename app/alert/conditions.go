package alert

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/queue"
)

// Thresholds at which a condition holds and at which it is over. Between the two the alert keeps
// its state, so a value near a threshold doesn't send a message every minute.
const (
	errorsWithin  = 5 * time.Minute
	manyErrors    = 20
	fewErrors     = 5
	signUpsWithin = 10 * time.Minute
	manySignUps   = 30
	fewSignUps    = 10
	stalePatience = 1  // in ticks; after a restart a feed is stale until its first reading ends
	manyPartial   = 10 // readings in a row of which a part failed
)

// reading is the current state of one condition. If neither holds nor over is true, the alert keeps
// its state.
type reading struct {
	name        string
	holds, over bool
	patience    int    // number of further ticks for which the condition must hold
	text        string // what is wrong
}

// advice says what to do about an alert, by its name.
var advice = map[string]string{
	"source_markets":   "The last good snapshot stays up. Run pulsecast doctor to see why.",
	"source_news":      "The last good snapshot stays up. Run pulsecast doctor to see why.",
	"settlement_queue": "Settle or void them.",
	"baseline_queue":   "Look in the log for messages of the job markets.",
	"errors":           "Look in the log for messages of level ERROR.",
	"sign_ups":         "If you don't expect them, set REGISTRATION=closed and disable them.",
	"database":         "Signals and copies of earlier answers are still served. Look for the cause in the log of the database, and check its disk.",
	"backup":           "Look in the log for messages of the job backup.",
	"archive":          "Check ARCHIVE_URL and its free space. Observations wait in the database, and nothing is pruned.",
	"disk":             "Free some space: on a full disk nothing can be published.",
}

// look reads every condition. Conditions that can't be read are left out and reported in the error.
func (w *Watcher) look(ctx context.Context, now time.Time) ([]reading, error) {
	var out []reading
	var errs []error
	feeds, err := w.Monitor.Feeds(ctx)
	errs = append(errs, err)
	out = append(out, sources(feeds, now)...)
	queues, err := w.Monitor.Queues(ctx)
	errs = append(errs, err)
	if err == nil {
		out = append(out, settlements(&queues, now), baselines(&queues, now))
	}
	for _, read := range []func(context.Context, time.Time) (reading, error){w.serverErrors, w.signUps} {
		r, err := read(ctx, now)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, r)
	}
	saved, scheduled, err := w.Monitor.Backups(ctx)
	errs = append(errs, err)
	if err == nil {
		out = append(out, ifOn(scheduled, "backup", func() reading { return backups(&saved, now) }))
	}
	kept, archived, err := w.Monitor.Archive(ctx)
	errs = append(errs, err)
	if err == nil {
		out = append(out, ifOn(archived, "archive", func() reading { return archives(&kept, now) }))
	}
	room, ours, err := w.Monitor.Disk()
	errs = append(errs, err)
	if err == nil {
		out = append(out, ifOn(ours, "disk", func() reading { return disk(room) }))
	}
	return out, errors.Join(errs...)
}

// ifOn reads a condition that a setting switches off. Its alert is over then: otherwise it would stay on for ever.
func ifOn(on bool, name string, read func() reading) reading {
	if on {
		return read()
	}
	return reading{name: name, over: true}
}

// sources checks the snapshots that this node serves, and whether a part of each reading fails. Snapshots arrive within
// seconds, whichever node reads the source.
func sources(feeds []monitor.Feed, now time.Time) []reading {
	var out []reading
	for _, f := range feeds {
		inPart := f.Readings.Partial() && f.Readings.Failures >= manyPartial
		text := fmt.Sprintf("the source of %s was never read", f.Name)
		switch {
		case !f.Stale && inPart:
			text = fmt.Sprintf("a part of %s can't be read: %d readings in a row failed", f.Name, f.Readings.Failures)
		case !f.AsOf.IsZero():
			text = fmt.Sprintf("the source of %s is stale: last read %s ago", f.Name, spell(now.Sub(f.AsOf)))
		}
		if f.Readings.LastError != "" {
			text += " (" + f.Readings.LastError + ")"
		}
		out = append(
			out, reading{name: "source_" + f.Name, holds: f.Stale || inPart, over: !f.Stale && !inPart, patience: stalePatience, text: text},
		)
	}
	return out
}

func settlements(q *monitor.Queues, now time.Time) reading {
	late := q.SettlementAge(now) > monitor.SettlementLate
	return reading{
		name: "settlement_queue", holds: late, over: !late,
		text: fmt.Sprintf("settlement is late: %s ended markets (oldest: %s) and %s predictions without a market past their horizon (oldest: %s)",
			q.Markets, since(q.Markets, now), q.Due, since(q.Due, now)),
	}
}

func baselines(q *monitor.Queues, now time.Time) reading {
	late := q.Baselines.Age(now) > monitor.BaselinesLate
	return reading{
		name: "baseline_queue", holds: late, over: !late,
		text: fmt.Sprintf("%s predictions wait for their baseline, the oldest for %s; it should take minutes",
			q.Baselines, since(q.Baselines, now)),
	}
}

func since(d queue.Depth, now time.Time) string {
	if d.Count == 0 {
		return "none"
	}
	return spell(d.Age(now))
}

func (w *Watcher) serverErrors(ctx context.Context, now time.Time) (reading, error) {
	n, err := countErrors(ctx, w.DB.Reader, now.Add(-errorsWithin))
	return reading{
		name: "errors", holds: n >= manyErrors, over: n < fewErrors,
		text: fmt.Sprintf("%d requests failed with a server error (5xx) within %s", n, spell(errorsWithin)),
	}, err
}

func (w *Watcher) signUps(ctx context.Context, now time.Time) (reading, error) {
	n, err := agent.Store{}.SignUps(ctx, w.DB.Reader, now.Add(-signUpsWithin))
	if err != nil {
		return reading{}, err
	}
	return reading{
		name: "sign_ups", holds: n >= manySignUps, over: n < fewSignUps,
		text: fmt.Sprintf("%d agents signed up within %s", n, spell(signUpsWithin)),
	}, nil
}

func backups(b *monitor.Backups, now time.Time) reading {
	text := "no scheduled backup was made yet"
	if !b.At.IsZero() {
		text = fmt.Sprintf("the latest scheduled backup was made %s ago", spell(now.Sub(b.At)))
	}
	if b.Failing() {
		text += fmt.Sprintf(", and %d attempts failed since", b.Failures)
	}
	return reading{name: "backup", holds: b.Troubled(), over: !b.Troubled(), text: text}
}

func archives(st *archive.Status, now time.Time) reading {
	text := "no day of the archive is sealed yet"
	if st.LastSealed != "" {
		text = "the last sealed day of the archive is " + st.LastSealed
	}
	if st.Failures > 0 {
		text += fmt.Sprintf(", and %d attempts to write to it failed since", st.Failures)
	}
	if st.Hangs != "" {
		text += fmt.Sprintf(", the latest because it doesn't answer (%s hangs)", st.Hangs)
	}
	return reading{name: "archive", holds: st.Troubled(now), over: !st.Troubled(now), text: text}
}

func disk(room monitor.Disk) reading {
	return reading{
		name: "disk", holds: room.Full(), over: room.Roomy(),
		text: fmt.Sprintf("the disk of the database is almost full: %.1f of %.1f GB are free",
			float64(room.Free)/(1<<30), float64(room.Size)/(1<<30)),
	}
}

// countErrors sums the server errors of all nodes since a time.
func countErrors(ctx context.Context, db bun.IDB, since time.Time) (n int64, err error) {
	err = db.NewSelect().TableExpr("server_errors").ColumnExpr("CAST(COALESCE(SUM(count), 0) AS BIGINT)").
		Where("minute >= ?", since.Truncate(time.Minute)).Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count server errors: %w", err)
	}
	return n, nil
}

// spell writes a duration for people, in at most two units.
func spell(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}
