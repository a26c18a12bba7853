package httpserver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
)

func perHour(n int) config.Rate { return config.Rate{N: n, Per: time.Hour} }

// TestOneAddressRegisters checks that one address can register five agents an hour in any way, that a /64
// counts as one address, and that all addresses together can't register more than the service takes.
func TestOneAddressRegisters(t *testing.T) {
	t.Parallel()
	clk := newClock()
	n := run(t, func(o *Options) {
		o.Now = clk.now
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RegistrationRate, o.Config.RegistrationCeiling = perHour(5), perHour(12)
	}, func(s *Server) {
		s.App.Post("/api/agents", s.Limits.Writes(), func(c *fiber.Ctx) error {
			if _, err := s.Limits.AdmitAgent(c)(); err != nil {
				return err
			}
			return ok(c)
		})
	})
	register := func(address string, times, want int, refusal string) {
		t.Helper()
		made := 0
		for range times {
			r := n.do(t, "POST", "/api/agents", "X-Forwarded-For: "+address)
			checkFields(t, r.Header)
			if r.StatusCode == 200 {
				made++
				continue
			}
			if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" || !strings.Contains(r.body, refusal) {
				t.Fatalf("%s: %d, Retry-After %q: %s", address, r.StatusCode, r.Header.Get("Retry-After"), r.body)
			}
		}
		if made != want {
			t.Errorf("%s registered %d agents, want %d", address, made, want)
		}
	}
	register("192.0.2.1", 120, 5, "5/h new agents from this address")
	for i := range 20 {
		register(fmt.Sprintf("2001:db8:0:1::%x", i+1), 1, map[bool]int{true: 1}[i < 5], "5/h new agents from this address")
	}
	register("192.0.2.3", 5, 2, "12/h new agents in the whole service")
	register("192.0.2.4", 1, 0, "12/h new agents in the whole service")
	clk.advance(12 * time.Minute)
	register("192.0.2.1", 2, 1, "from this address")
}

// owned is an agent of an owner.
type owned struct {
	id    uuid.UUID
	owner string
}

func (o owned) AgentID() uuid.UUID { return o.id }
func (o owned) OwnerID() string    { return o.owner }

// TestSharedLimitsAddUpOverNodes checks that the ceiling of the service and the allowance of an owner are
// counted over all nodes through Redis.
func TestSharedLimitsAddUpOverNodes(t *testing.T) {
	t.Parallel()
	rdb, prefix := redisClient(t), "test:"+uuid.NewString()+":"
	adjust := func(o *Options) {
		o.Redis = rdb
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RegistrationRate, o.Config.RegistrationCeiling = perHour(3), perHour(5)
		o.Config.RateLimitWrites, o.Config.RateLimitWritesAddress = perMinute(4), perMinute(6)
		o.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
			return owned{uuid.NewSHA1(uuid.Nil, []byte(bearer)), "olga"}, nil
		}
	}
	routes := func(s *Server) {
		s.Limits.prefix, s.Limits.patience = prefix, 20*time.Second // on a busy machine too
		limitRoutes(s)
		s.App.Post("/api/agents", func(c *fiber.Ctx) error {
			if _, err := s.Limits.AdmitAgent(c)(); err != nil {
				return err
			}
			return ok(c)
		})
	}
	nodes := []*node{run(t, adjust, routes), run(t, adjust, routes)}
	for i := range 8 {
		status := 200
		if i >= 5 {
			status = 429
		}
		if r := nodes[i%2].do(t, "POST", "/api/agents", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i)); r.StatusCode != status {
			t.Errorf("registration %d: %d, want %d: %s", i, r.StatusCode, status, r.body)
		}
	}
	for i := range 9 { // each with another key, from another address
		status := 200
		if i >= 6 {
			status = 429
		}
		r := nodes[i%2].do(t, "POST", "/api/publish", fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i), fmt.Sprint("Authorization: Bearer key", i))
		if r.StatusCode != status {
			t.Errorf("publication %d: %d, want %d: %s", i, r.StatusCode, status, r.body)
		}
	}
}

// TestKeysShareOneAllowanceOfReads checks that all keys of one address, or of one owner at any address, share an
// allowance of reads. A refused read costs its key nothing, and readers without a key have their own allowance.
func TestKeysShareOneAllowanceOfReads(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.Now = newClock().now
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RateLimitReads, o.Config.RateLimitReadsAddress = perHour(60), perHour(150)
		o.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
			owner, _, _ := strings.Cut(bearer, ".")
			return owned{uuid.NewSHA1(uuid.Nil, []byte(bearer)), strings.TrimPrefix(owner, "none")}, nil
		}
	}, func(s *Server) {
		s.App.Get("/api/search", s.OptionalAgent(), s.Limits.Reads(), s.Admitted(Search), ok)
		s.App.Get("/api/list", s.OptionalAgent(), s.Limits.Reads(), ok)
	})
	read := func(path, address, key string, status int, limit string) {
		t.Helper()
		headers := []string{"X-Forwarded-For: " + address}
		if key != "" {
			headers = append(headers, "Authorization: Bearer "+key)
		}
		r := n.do(t, "GET", path, headers...)
		checkFields(t, r.Header)
		if got := r.Header.Get("RateLimit"); r.StatusCode != status || !strings.HasPrefix(got, limit+";t=") {
			t.Errorf("%s of %q from %s: %d, %s; want %d, %s: %s", path, key, address, r.StatusCode, got, status, limit, r.body)
		}
		if status == 429 && !strings.Contains(r.body, "all keys of this address or owner together") {
			t.Errorf("the refusal doesn't name the limit: %s", r.body)
		}
	}
	for _, attack := range []struct {
		owner   string
		address func(i int) string
	}{
		{"none", func(int) string { return "192.0.2.1" }},
		{"olga", func(i int) string { return fmt.Sprint("198.51.100.", i) }},
	} {
		for i := range 7 {
			left := 150 - 20*(i+1)
			limit := `"reads";r=40`
			if left < 40 {
				limit = fmt.Sprintf(`"shared-reads";r=%d`, left)
			}
			read("/api/search", attack.address(i), fmt.Sprint(attack.owner, ".", i), 200, limit)
		}
		for i := range 5 { // the first unit of a search remains counted
			read("/api/search", attack.address(7), attack.owner+".7", 429, fmt.Sprintf(`"shared-reads";r=%d`, 9-i))
		}
		for i := range 5 {
			read("/api/list", attack.address(i), fmt.Sprint(attack.owner, ".", i), 200, fmt.Sprintf(`"shared-reads";r=%d`, 4-i))
		}
		read("/api/list", attack.address(9), attack.owner+".9", 429, `"shared-reads";r=0`)
	}
	read("/api/search", "192.0.2.1", "", 200, `"reads";r=40`)
	read("/api/search", "203.0.113.1", "none.7", 200, `"reads";r=35`) // five refused searches cost a unit each
	read("/api/search", "203.0.113.2", "none.9", 200, `"reads";r=40`)
}

// TestFortyAgentsShareOneAllowance checks that forty agents share one allowance if they run at one address or
// belong to one owner at any address, and that all agents of an IPv6 /48 share four times as much. The announced limit is the one with the least left.
func TestFortyAgentsShareOneAllowance(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.Now = newClock().now
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RateLimitWrites, o.Config.RateLimitWritesAddress = perMinute(4), perMinute(10)
		o.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
			owner, _, _ := strings.Cut(bearer, ".")
			return owned{uuid.NewSHA1(uuid.Nil, []byte(bearer)), strings.TrimPrefix(owner, "none")}, nil
		}
	}, limitRoutes)
	publish := func(address, key string, status int, limit string) {
		t.Helper()
		r := n.do(t, "POST", "/api/publish", "X-Forwarded-For: "+address, "Authorization: Bearer "+key)
		checkFields(t, r.Header)
		if got := r.Header.Get("RateLimit"); r.StatusCode != status || got != limit {
			t.Errorf("%s from %s: %d, %s; want %d, %s: %s", key, address, r.StatusCode, got, status, limit, r.body)
		}
	}
	publish("192.0.2.1", "none.0", 200, `"writes";r=3;t=15`)
	for i := range 5 {
		publish("192.0.2.1", fmt.Sprint("none.", i+1), 200, `"writes";r=3;t=15`)
	}
	publish("192.0.2.1", "none.6", 200, `"writes";r=3;t=15`)
	for i := range 3 {
		publish("192.0.2.1", fmt.Sprint("none.", i+7), 200, fmt.Sprintf(`"shared-writes";r=%d;t=6`, 2-i))
	}
	for i := range 30 {
		publish("192.0.2.1", fmt.Sprint("none.", i+10), 429, `"shared-writes";r=0;t=6`)
	}
	publish("192.0.2.2", "none.0", 200, `"writes";r=2;t=15`)
	for i := range 40 {
		limit, status := fmt.Sprintf(`"shared-writes";r=%d;t=6`, max(9-i, 0)), 200
		switch {
		case i < 7:
			limit = `"writes";r=3;t=15`
		case i >= 10:
			status = 429
		}
		publish(fmt.Sprintf("198.51.100.%d", i+1), fmt.Sprint("olga.", i), status, limit)
	}
	// All addresses of a /48 have four times as many as one address. The last one shows that others have theirs.
	for i := range 50 {
		limit, status := fmt.Sprintf(`"block-writes";r=%d;t=2`, max(39-i, 0)), 200
		switch {
		case i < 37:
			limit = `"writes";r=3;t=15`
		case i >= 40:
			status = 429
		}
		publish(addressInBlock(i), fmt.Sprint("none.", 100+i), status, limit)
	}
	publish("2001:db8:2::1", "none.200", 200, `"writes";r=3;t=15`)
}
