package reddit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

const (
	// atomPause is the shortest time between two calls that Reddit allows.
	atomPause = 60 * time.Second
	// atomMemory is how long the last items of a community are used while newer ones can't be read.
	atomMemory = 6 * time.Hour
)

// AtomConfig configures an Atom.
type AtomConfig struct {
	URL       string // base without a path
	UserAgent string // see the function UserAgent
	Fetch     *fetch.Client
	Logger    *slog.Logger
	Now       func() time.Time
}

// Atom is a source.NewsSource that reads the public feeds. Reddit allows one call a minute, so each Read asks
// for the community that was asked for longest ago. It returns the latest items of all communities. After six
// reads, a minute apart, all six have items.
type Atom struct {
	shared
	url string

	mu      sync.Mutex // held during a call, because calls must not overlap
	feeds   []feedState
	nextAt  time.Time // no call before this time
	lastErr error     // of the last call; nil if it succeeded
	paused  bool      // Reddit asked for a longer pause than usual
	failed  int       // failed calls in a row
}

// feedState is the state of one community.
type feedState struct {
	community string
	askedAt   time.Time
	readAt    time.Time
	items     []news.Item
}

var _ source.NewsSource = (*Atom)(nil)

// NewAtom returns a client. A nil Fetch, Logger or Now has a default.
func NewAtom(cfg AtomConfig) *Atom {
	s := shared{fetch: cfg.Fetch, log: cfg.Logger, now: cfg.Now, agent: cfg.UserAgent}
	s.fillDefaults()
	c := &Atom{shared: s, url: strings.TrimRight(cfg.URL, "/")}
	for _, community := range news.Communities {
		c.feeds = append(c.feeds, feedState{community: community})
	}
	return c
}

// Interval is the minute that Reddit requires between calls.
func (c *Atom) Interval() time.Duration { return atomPause }

// Read makes at most one call, and none before a minute has passed since the last one. If a community can't be
// read, its last items are used for six hours, and the error of a failed last call is in Fallback. Read fails if
// there are no items, if as many calls in a row have failed as there are communities, or if Reddit asked for a
// longer pause and no community was read for the time of twice as many calls. RetryAfter is then the time until the
// next call.
func (c *Atom) Read(ctx context.Context) (source.News, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dropped := source.Dropped{}
	if !c.now().Before(c.nextAt) {
		c.call(source.As(ctx, NameAtom), dropped)
	}
	out := source.News{Source: NameAtom, Dropped: dropped}
	for _, f := range c.feeds {
		if f.readAt.IsZero() || c.now().Sub(f.readAt) > atomMemory {
			continue
		}
		out.Items = append(out.Items, f.items...)
		if f.readAt.After(out.ObservedAt) {
			out.ObservedAt = f.readAt
		}
	}
	patience := time.Duration(2*len(c.feeds)) * atomPause
	overdue := c.paused && c.now().Sub(out.ObservedAt) > patience
	if len(out.Items) == 0 || c.failed >= len(c.feeds) || overdue {
		return source.News{}, c.failure()
	}
	out.Items, out.Fallback = source.Arrange(out.Items), c.lastErr
	return out, nil
}

func (c *Atom) failure() error {
	wait := max(c.nextAt.Sub(c.now()), 0)
	if c.lastErr == nil {
		return &source.Error{Reason: "empty", RetryAfter: wait, Err: errors.New("reddit: the feeds are empty")}
	}
	return &source.Error{Reason: source.Reason(c.lastErr), RetryAfter: wait, Err: c.lastErr}
}

// call reads the feed that was asked for longest ago. A failed call counts too, so that one broken community
// doesn't delay the others.
func (c *Atom) call(ctx context.Context, dropped source.Dropped) {
	feed := c.due()
	feed.askedAt = c.now()
	// A call that times out may still have reached Reddit, so the minute starts at its end.
	defer func() {
		pause := max(atomPause, source.RetryAfter(c.lastErr))
		c.nextAt, c.paused = c.now().Add(pause), pause > atomPause
	}()
	c.lastErr = c.read(ctx, feed, dropped)
	if c.lastErr == nil {
		c.failed = 0
		return
	}
	if ctx.Err() == nil {
		c.failed++
	}
	c.log.Warn("reddit: feed not read", "community", feed.community, "error", c.lastErr)
}

func (c *Atom) due() *feedState {
	oldest := &c.feeds[0]
	for i := range c.feeds {
		if c.feeds[i].askedAt.Before(oldest.askedAt) {
			oldest = &c.feeds[i]
		}
	}
	return oldest
}

func (c *Atom) read(ctx context.Context, feed *feedState, dropped source.Dropped) error {
	header := http.Header{}
	header.Set("User-Agent", c.agent)
	resp, err := c.fetch.Do(ctx, fetch.Request{
		URL: c.url + "/r/" + feed.community + "/.rss", Header: header, Format: fetch.XML, Once: true,
	})
	if err != nil {
		return err
	}
	at := c.stamp(resp)
	items, left, err := decodeFeed(ctx, resp.Body, feed.community, at)
	if err != nil {
		source.Reject(ctx, "parse", resp.Raw, 0)
		return &source.Error{Reason: "parse", Err: err}
	}
	if len(items) == 0 {
		return &source.Error{Reason: "empty", Err: errors.New("reddit: an empty feed of " + feed.community)}
	}
	dropped.Add(left)
	receivedIn(items, resp)
	feed.items, feed.readAt = items, at
	return nil
}
