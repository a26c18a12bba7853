package ingest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/source"
)

// RecordingInterval is the time between two readings of a Recording. RecordingTimeout is the limit for one
// reading. It is long because GDELT requires five seconds between two requests.
const (
	RecordingInterval = 10 * time.Minute
	RecordingTimeout  = 3 * time.Minute
)

// Recording reads news sources only for the archive. The feed shows the first source that answers, usually
// Reddit, whose texts may not be published. Without a Recording, the other sources would never be read, and a
// data release would contain no news.
type Recording struct {
	Sources []source.Member
	// Shown returns the name of the source that the feed shows, which is archived anyway. It returns "" before
	// the feed's first reading and while the feed shows samples. In that case nothing is recorded.
	Shown   func() string
	DB      *database.DB
	Archive *archive.Recorder
	Now     func() time.Time
	Log     *slog.Logger
}

// Tick reads each source that the feed doesn't show and archives the reading. If one fails, the others are
// still read. Tick is a worker.Job.
func (r *Recording) Tick(ctx context.Context) (next time.Duration, err error) {
	shown := r.Shown()
	for _, m := range r.Sources {
		if shown == "" || m.Name == shown {
			continue
		}
		if failure := r.record(ctx, m); failure != nil {
			r.Log.Warn("news not recorded", "source", m.Name, "error", failure)
			err = errors.Join(err, failure)
		}
	}
	return 0, err
}

func (r *Recording) record(ctx context.Context, m source.Member) error {
	got, err := m.Source.Read(ctx)
	if err != nil {
		return err
	}
	items, _ := soundNews(got, dated(got.ObservedAt, r.Now()))
	return storeNews(ctx, r.DB, r.Archive, slices.Clip(capped(items)))
}
