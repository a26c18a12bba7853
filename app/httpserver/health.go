package httpserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// pingEvery is the time between two checks of what health reports, and pingTimeout bounds one check.
	pingEvery   = time.Second
	pingTimeout = time.Second
	// patience is how long health waits for the feeds and warnings before it reports the last known ones.
	patience = 40 * time.Millisecond
)

// HealthSource is what health checks. A nil function counts as healthy. If Feeds is nil, the feeds are
// reported as empty and stale.
type HealthSource struct {
	DatabaseKind string // "sqlite" or "postgres"
	// Database fails while the database can't be used. It must not wait.
	Database func() error
	// TryDatabase fails while the database takes no writes, as on a full disk.
	TryDatabase func(ctx context.Context) error
	CacheKind   string // "memory" or "redis"
	PingCache   func(ctx context.Context) error
	Feeds       func(ctx context.Context) []monitor.Feed // "markets" and "news"
	Warnings    func() []string                          // what an operator should fix; public
}

// health keeps the results of the last check, so a request never waits for a database or a cache that
// doesn't answer.
type health struct {
	source  HealthSource
	started time.Time
	looked  chan struct{} // closed after the first check
	last    atomic.Pointer[looks]
	feeds   shared[[]monitor.Feed]
	warned  shared[[]string]
}

// looks are the results of the last check.
type looks struct{ writes, cache bool }

func newHealth(source HealthSource, now time.Time) *health {
	h := &health{source: source, started: now, looked: make(chan struct{})}
	h.feeds.keeps, h.warned.keeps = pingEvery, pingEvery
	h.last.Store(&looks{})
	return h
}

// watch checks every pingEvery until ctx ends.
func (h *health) watch(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		h.look(ctx)
		if first {
			close(h.looked)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *health) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var found looks
	var both sync.WaitGroup
	try := func(ok *bool, ping func(context.Context) error) {
		both.Go(func() { *ok = ping == nil || ping(ctx) == nil })
	}
	try(&found.writes, h.source.TryDatabase)
	try(&found.cache, h.source.PingCache)
	both.Wait()
	h.last.Store(&found)
}

// database returns an error while the database can't be used.
func (h *health) database() error {
	if h.source.Database == nil {
		return nil
	}
	return h.source.Database()
}

// shared is a value that one goroutine reads for all callers.
type shared[T any] struct {
	keeps time.Duration // how long a value is good

	mu      sync.Mutex
	last    T
	at      time.Time     // when last was read; zero: never
	reading chan struct{} // closed at the end of the current read; nil: none
}

// get returns the last value if it is still good. Otherwise it starts a read and waits for it for at most
// patience, or for at most pingTimeout if there is no value yet. If the read takes longer, get returns the
// last value.
func (s *shared[T]) get(read func() T) T {
	s.mu.Lock()
	waits := patience
	if s.at.IsZero() {
		waits = pingTimeout
	} else if s.reading == nil && time.Since(s.at) < s.keeps {
		defer s.mu.Unlock()
		return s.last
	}
	if s.reading == nil {
		done := make(chan struct{})
		s.reading = done
		go func() {
			value := read()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.last, s.at, s.reading = value, time.Now(), nil
			close(done)
		}()
	}
	done := s.reading
	s.mu.Unlock()
	timer := time.NewTimer(waits)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

type healthBody struct {
	OK            bool        `json:"ok"`
	Status        string      `json:"status"`
	Version       string      `json:"version"`
	UptimeSeconds int64       `json:"uptimeSeconds"`
	Database      partBody    `json:"database"`
	Cache         partBody    `json:"cache"`
	Signals       signalsBody `json:"signals"`
	Warnings      []string    `json:"warnings"`
}

type partBody struct {
	OK   bool   `json:"ok"`
	Kind string `json:"kind"`
}

type signalsBody struct {
	Markets feedBody `json:"markets"`
	News    feedBody `json:"news"`
}

type feedBody struct {
	AsOf       *time.Time `json:"asOf"`
	AgeSeconds *int64     `json:"ageSeconds"`
	Stale      bool       `json:"stale"`
	Count      int        `json:"count"`
	Source     *string    `json:"source"`
	LastError  *string    `json:"lastError"`
}

// Health answers GET /api/health. The status is 200 even when degraded: without the database, snapshots are
// still served. Orchestrators read /readyz.
func (s *Server) Health(c *fiber.Ctx) error {
	now := s.opts.Now()
	src := s.health.source
	select {
	case <-s.health.looked:
	case <-c.UserContext().Done():
		return c.UserContext().Err()
	}
	found := s.health.last.Load()
	signals, stale := s.health.signals(now)
	body := healthBody{
		OK: true, Status: "ok", Version: s.opts.Version,
		UptimeSeconds: int64(now.Sub(s.health.started).Seconds()),
		Database:      partBody{s.health.database() == nil && found.writes, src.DatabaseKind},
		Cache:         partBody{found.cache, src.CacheKind},
		Signals:       signals,
		Warnings:      []string{},
	}
	if src.Warnings != nil {
		body.Warnings = append(body.Warnings, s.health.warned.get(src.Warnings)...)
	}
	if !body.Database.OK || !body.Cache.OK || stale {
		body.Status = "degraded"
	}
	return c.JSON(body)
}

// signals describes the feeds. stale reports that one of them is stale. A missing feed is empty and stale.
func (h *health) signals(now time.Time) (body signalsBody, stale bool) {
	feeds := map[string]monitor.Feed{}
	if h.source.Feeds != nil {
		list := h.feeds.get(func() []monitor.Feed {
			ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
			defer cancel()
			return h.source.Feeds(ctx)
		})
		for _, f := range list {
			feeds[f.Name] = f
		}
	}
	body = signalsBody{describe(feeds, "markets", now), describe(feeds, "news", now)}
	return body, body.Markets.Stale || body.News.Stale
}

func describe(feeds map[string]monitor.Feed, name string, now time.Time) feedBody {
	f, found := feeds[name]
	out := feedBody{Stale: f.Stale || !found, Count: f.Records}
	if !f.AsOf.IsZero() {
		asOf := f.AsOf.UTC()
		age := max(int64(now.Sub(asOf).Seconds()), 0)
		out.AsOf, out.AgeSeconds = &asOf, &age
	}
	if f.Source != "" {
		out.Source = &f.Source
	}
	if f.Readings.LastError != "" {
		out.LastError = &f.Readings.LastError
	}
	return out
}

// live answers /livez. It only says that the process runs.
func (s *Server) live(c *fiber.Ctx) error { return c.JSON(fiber.Map{"ok": true}) }

// ready answers /readyz: 503 while the node drains or stops. A node without the database stays ready,
// because it can still answer most reads, and says that it is degraded.
func (s *Server) ready(c *fiber.Ctx) error {
	if s.draining.Load() {
		return problem.Unavailable("This node is stopping.", time.Second)
	}
	status := "ok"
	if s.health.database() != nil {
		status = "degraded"
	}
	return c.JSON(fiber.Map{"ok": true, "status": status})
}
