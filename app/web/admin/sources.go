package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const (
	// tickPatience is how long a browser waits for a reading, which goes on without it.
	tickPatience = 8 * time.Second
	// tickTimeout ends a reading.
	tickTimeout = 2 * time.Minute
)

func (d *Site) sources(v *visit) error {
	p := views.SourcesProps{Frame: d.frame(v, "Sources", "/admin/sources")}
	for _, f := range d.Feeds {
		feed, err := d.feedProps(v.UserContext(), &f)
		if err != nil {
			return err
		}
		p.Feeds = append(p.Feeds, feed)
	}
	return show(v.Ctx, views.Sources(p))
}

func (d *Site) feedProps(ctx context.Context, f *Feed) (views.Feed, error) {
	s, found, err := ingest.State(ctx, d.DB.Reader, f.Name)
	if err != nil {
		return views.Feed{}, err
	}
	bad, err := ingest.BadPayloads(ctx, d.DB.Reader, f.Name)
	if err != nil {
		return views.Feed{}, err
	}
	out := views.Feed{
		Name: f.Name, Stale: f.Stale(), Read: found, Source: s.Source, SucceededAt: s.SucceededAt, FailedAt: s.FailedAt, NextAt: s.NextAt,
		AsOf: f.AsOf(), Records: s.Count, Served: f.Count(), LastError: s.LastError, Failures: s.Failures, Dropped: s.Dropped,
	}
	for _, b := range bad {
		out.Bad = append(out.Bad, views.Payload{Source: b.Source, Reason: b.Reason, Body: b.Body, Cut: int64(b.Cut), At: b.ReceivedAt})
	}
	return out, nil
}

// tick reads a source now, whichever node holds its lease.
func (d *Site) tick(v *visit) error {
	i := slices.IndexFunc(d.Feeds, func(f Feed) bool { return f.Name == v.param("feed") })
	if i < 0 {
		return problem.NotFound("There is no such source.")
	}
	if err := d.Moderation.ReadFeed(v.UserContext(), v.by(), d.Feeds[i].Name); err != nil {
		return err
	}
	patience := time.NewTimer(tickPatience)
	defer patience.Stop()
	word := "reading"
	select {
	case err := <-d.readFeed(&d.Feeds[i]):
		word = "read"
		if err != nil {
			word = "failed"
		}
	case <-patience.C:
	}
	return redirect(v.Ctx, "/admin/sources", word)
}

// readFeed begins a reading that goes on when the browser leaves, and reports its end.
func (d *Site) readFeed(f *Feed) <-chan error {
	read := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), tickTimeout)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				read <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := f.Tick(ctx)
		if err != nil {
			d.Log.Warn("a reading that an admin asked for failed", "feed", f.Name, "error", err)
		}
		read <- err
	}()
	return read
}
