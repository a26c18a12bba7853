package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const (
	// tickPatience is how long the browser waits for a reading. A slower one continues in the
	// background.
	tickPatience = 8 * time.Second
	// tickTimeout is the greatest duration of a reading.
	tickTimeout = 2 * time.Minute
	// unknownTags is how many unknown tags the page shows.
	unknownTags = 20
)

func (d *Site) sources(v *visit) error {
	p := views.SourcesProps{Frame: d.frame(v, "Sources", "/admin/sources")}
	feeds, err := d.Monitor.Feeds(v.UserContext())
	if err != nil {
		return err
	}
	for _, f := range feeds {
		feed, err := d.feedProps(v.UserContext(), &f)
		if err != nil {
			return err
		}
		p.Feeds = append(p.Feeds, feed)
	}
	unknown, err := market.Store{}.UnknownTags(v.UserContext(), d.DB.Reader, unknownTags)
	if err != nil {
		return err
	}
	for _, tag := range unknown {
		p.Tags = append(p.Tags, views.TagCount{Tag: tag.Tag, Markets: tag.Count})
	}
	return show(v.Ctx, views.Sources(p))
}

func (d *Site) feedProps(ctx context.Context, f *monitor.Feed) (views.Feed, error) {
	s := &f.Readings
	bad, err := ingest.BadPayloads(ctx, d.DB.Reader, f.Name)
	if err != nil {
		return views.Feed{}, err
	}
	out := views.Feed{
		Name: f.Name, Stale: f.Stale, Read: s.Feed != "", Source: s.Source, SucceededAt: s.SucceededAt, FailedAt: s.FailedAt, NextAt: s.NextAt,
		AsOf: f.AsOf, Records: s.Count, Served: f.Records, LastError: s.LastError, Failures: s.Failures, Dropped: s.Dropped,
	}
	for _, b := range bad {
		out.Bad = append(out.Bad, views.Payload{
			Source: b.Source, Reason: b.Reason, Body: b.Body, Cut: int64(b.Cut), At: b.ReceivedAt,
		})
	}
	return out, nil
}

// tick reads a source now, whichever node holds its lease.
func (d *Site) tick(v *visit) error {
	feed := v.param("feed")
	read, found := d.Tick[feed]
	if !found {
		return problem.NotFound("There is no such source.")
	}
	if err := d.Moderation.ReadFeed(v.UserContext(), v.by(), feed); err != nil {
		return err
	}
	patience := time.NewTimer(tickPatience)
	defer patience.Stop()
	word := "reading"
	select {
	case err := <-d.readFeed(feed, read):
		word = "read"
		if err != nil {
			word = "failed"
		}
	case <-patience.C:
	}
	return redirect(v.Ctx, "/admin/sources", word)
}

// readFeed starts a reading that continues if the browser leaves. The channel receives its error or
// nil.
func (d *Site) readFeed(feed string, read func(context.Context) (time.Duration, error)) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), tickTimeout)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := read(ctx)
		if err != nil {
			d.Log.Warn("a reading that an admin asked for failed", "feed", feed, "error", err)
		}
		ended <- err
	}()
	return ended
}
