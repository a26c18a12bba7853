package httpserver

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	pingTimeout = time.Second
	pingKeeps   = time.Second // health is asked often; the database is not
	// feedsTimeout bounds reading the feeds: without their last errors health answers anyway.
	feedsTimeout = 500 * time.Millisecond
)

// HealthSource is what health looks at. A nil function counts as healthy and, for
// Feeds, as empty and stale.
type HealthSource struct {
	DatabaseKind string // "sqlite" or "postgres"
	PingDatabase func(ctx context.Context) error
	// TryDatabase fails while the database takes no writes, as on a full disk.
	TryDatabase func(ctx context.Context) error
	CacheKind   string // "memory" or "redis"
	PingCache   func(ctx context.Context) error
	Feeds       func(ctx context.Context) []monitor.Feed // "markets" and "news"
	Warnings    func() []string                          // what an operator should set right; public
}

// health keeps how the last look at the database and at the cache went.
type health struct {
	source   HealthSource
	started  time.Time
	database probe
	writes   probe
	cache    probe
}

// probe remembers how a ping went. Its lock is held while pinging, so that there is
// one ping however many ask.
type probe struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

func (p *probe) ok(ping func(context.Context) error) bool {
	if ping == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= pingKeeps {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		p.err = ping(ctx)
		p.at = time.Now()
	}
	return p.err == nil
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

// Health answers GET /api/health. It is 200 even when degraded: with the database
// gone, snapshots are still served. Orchestrators read /readyz.
func (s *Server) Health(c *fiber.Ctx) error {
	now := s.opts.Now()
	src := s.health.source
	signals, stale := src.signals(c.UserContext(), now)
	body := healthBody{
		OK: true, Status: "ok", Version: s.opts.Version,
		UptimeSeconds: int64(now.Sub(s.health.started).Seconds()),
		Database: partBody{
			s.health.database.ok(src.PingDatabase) && s.health.writes.ok(src.TryDatabase), src.DatabaseKind,
		},
		Cache:    partBody{s.health.cache.ok(src.PingCache), src.CacheKind},
		Signals:  signals,
		Warnings: []string{},
	}
	if src.Warnings != nil {
		body.Warnings = append(body.Warnings, src.Warnings()...)
	}
	if !body.Database.OK || !body.Cache.OK || stale {
		body.Status = "degraded"
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(body)
}

// signals describes the feeds; stale says that one of them is. A feed that is missing is
// empty and stale.
func (h *HealthSource) signals(ctx context.Context, now time.Time) (body signalsBody, stale bool) {
	ctx, cancel := context.WithTimeout(ctx, feedsTimeout)
	defer cancel()
	feeds := map[string]monitor.Feed{}
	if h.Feeds != nil {
		for _, f := range h.Feeds(ctx) {
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

// live answers /livez: the process runs.
func (s *Server) live(c *fiber.Ctx) error { return c.JSON(fiber.Map{"ok": true}) }

// ready answers /readyz: send requests here. Not while draining or stopping, and
// not without the database.
func (s *Server) ready(c *fiber.Ctx) error {
	if s.draining.Load() {
		return problem.Unavailable("This node is stopping.", time.Second)
	}
	if !s.health.database.ok(s.health.source.PingDatabase) {
		return problem.Unavailable("The database does not answer.", time.Second).With(s.health.database.last())
	}
	return c.JSON(fiber.Map{"ok": true})
}

func (p *probe) last() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
