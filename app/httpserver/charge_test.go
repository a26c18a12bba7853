package httpserver

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// counters make the limits of a configuration, counted in this process and in Redis.
var counters = map[string]func(t *testing.T, cfg *config.Config) *Limits{
	"process": func(_ *testing.T, cfg *config.Config) *Limits {
		return newLimits(cfg, nil, slog.New(slog.DiscardHandler), time.Now)
	},
	"redis": func(t *testing.T, cfg *config.Config) *Limits {
		l := newLimits(cfg, redisClient(t), slog.New(slog.DiscardHandler), time.Now)
		l.prefix, l.patience = "test:"+uuid.NewString()+":", 20*time.Second // however busy the machine is
		return l
	},
}

// eachCounter runs a server with each of counters.
func eachCounter(t *testing.T, adjust func(*config.Config), routes func(*Server), test func(t *testing.T, n *node)) {
	t.Helper()
	for name, make := range counters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, run(t, func(o *Options) { o.Config.TrustedProxies = "127.0.0.1"; adjust(o.Config) }, func(s *Server) {
				s.Limits = make(t, s.opts.Config)
				routes(s)
			}))
		})
	}
}

// TestOneChargePerRequest checks that a request that is admitted several times, as for a read that is repeated on
// the primary, pays the highest cost once. If it is refused in the end, it pays one unit.
func TestOneChargePerRequest(t *testing.T) {
	t.Parallel()
	// The limits of an hour, so that no unit returns during the test.
	eachCounter(t, func(cfg *config.Config) {
		cfg.RateLimitReads, cfg.RateLimitReadsAddress = perHour(40), perHour(60)
	}, func(s *Server) {
		admit := func(costs ...Cost) fiber.Handler {
			return func(c *fiber.Ctx) error {
				for _, cost := range costs {
					admission, err := s.Admit(c, cost)
					if err != nil {
						return err
					}
					admission.Leave()
				}
				return ok(c)
			}
		}
		s.App.Get("/api/again", s.OptionalAgent(), s.Limits.Reads(), admit(Listing, Listing, Lookup))
		s.App.Get("/api/more", s.OptionalAgent(), s.Limits.Reads(), admit(Lookup, Search))
		s.App.Get("/api/uncounted", s.OptionalAgent(), admit(Lookup))
	}, func(t *testing.T, n *node) {
		for i, step := range []struct {
			path   string
			status int
			left   string
		}{
			{"/api/again", 200, "36"},
			{"/api/more", 200, "16"},
			{"/api/more", 429, "15"},
			{"/api/again", 200, "11"},
			{"/api/uncounted", 200, "9"},
		} {
			r := n.do(t, http.MethodGet, step.path, "Authorization: Bearer good")
			checkFields(t, r.Header)
			if got := r.Header.Get("RateLimit"); r.StatusCode != step.status || !strings.HasPrefix(got, `"reads";r=`+step.left+";") {
				t.Errorf("step %d: %d, RateLimit %s; want %d, %s left: %s", i, r.StatusCode, got, step.status, step.left, r.body)
			}
		}
		shared := n.Limits.take(t.Context(), &n.Limits.strangers.sharedReads, addrKey(netip.MustParseAddr("127.0.0.1")), 0)
		if shared.remaining != 29 {
			t.Errorf("the address has %d units left, want 29", shared.remaining)
		}
	})
}

// TestRefusedRegistration checks that a registration that the whole service refuses, or that fails, counts
// against no limit.
func TestRefusedRegistration(t *testing.T) {
	t.Parallel()
	eachCounter(t, func(cfg *config.Config) {
		cfg.RegistrationRate, cfg.RegistrationCeiling = perHour(5), perHour(1)
	}, func(s *Server) {
		s.App.Post("/api/agents", func(c *fiber.Ctx) error {
			undo, err := s.Limits.AdmitAgent(c)()
			if err != nil {
				return err
			}
			if c.QueryBool("fails") {
				undo()
				return problem.Unavailable("The database doesn't answer.", time.Second)
			}
			return ok(c)
		})
	}, func(t *testing.T, n *node) {
		for i, step := range []struct {
			address, path string
			status, left  int
			limit         string
		}{
			{"192.0.2.1", "/api/agents?fails=true", 503, 5, `"all-registrations";r=1;`},
			{"192.0.2.1", "/api/agents", 200, 4, `"all-registrations";r=0;`},
			{"192.0.2.2", "/api/agents", 429, 5, `"all-registrations";r=0;`},
		} {
			r := n.do(t, http.MethodPost, step.path, "X-Forwarded-For: "+step.address)
			own := n.Limits.take(t.Context(), &n.Limits.strangers.registrations, addrKey(netip.MustParseAddr(step.address)), 0)
			if r.StatusCode != step.status || own.remaining != step.left {
				t.Errorf("step %d: %d, %d left; want %d, %d left: %s", i, r.StatusCode, own.remaining, step.status, step.left, r.body)
			}
			if limit := r.Header.Get("RateLimit"); !strings.HasPrefix(limit, step.limit) {
				t.Errorf("step %d: RateLimit %s", i, limit)
			}
		}
	})
}
