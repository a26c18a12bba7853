package httpserver

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/problem"
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

// health keeps what the last looks at the parts found.
type health struct {
	source   HealthSource
	started  time.Time
	database probe[error]
	writes   probe[error]
	cache    probe[error]
	feeds    probe[[]monitor.Feed]
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
	signals, stale := s.health.signals(now)
	body := healthBody{
		OK: true, Status: "ok", Version: s.opts.Version,
		UptimeSeconds: int64(now.Sub(s.health.started).Seconds()),
		Database: partBody{
			errors.Join(pinged(&s.health.database, src.PingDatabase), pinged(&s.health.writes, src.TryDatabase)) == nil, src.DatabaseKind,
		},
		Cache:    partBody{pinged(&s.health.cache, src.PingCache) == nil, src.CacheKind},
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
func (h *health) signals(now time.Time) (body signalsBody, stale bool) {
	feeds := map[string]monitor.Feed{}
	if h.source.Feeds != nil {
		for _, f := range h.feeds.get(h.source.Feeds, nil) {
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
	if err := pinged(&s.health.database, s.health.source.PingDatabase); err != nil {
		return problem.Unavailable("The database does not answer.", time.Second).With(err)
	}
	return c.JSON(fiber.Map{"ok": true})
}
