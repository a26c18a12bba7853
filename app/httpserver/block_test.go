package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// addressInBlock returns an address in the i-th /64 of one /48.
func addressInBlock(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }

// TestBlockOfAddressesRegisters checks that the addresses of an IPv6 /48 together get four times what one address
// gets of the things that all callers share, that they don't use up the service's share, and that other callers get
// theirs.
func TestBlockOfAddressesRegisters(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct {
		share   int
		limit   string
		refusal string
	}{
		"/api/agents":      {5, "block-registrations", "20/h new agents from all addresses of this IPv6 /48"},
		"/report":          {6, "block-reports", "24/h reports from all addresses of this IPv6 /48"},
		"/oauth/authorize": {9, "block-sign-ins", "36/h visits to the sign-in of apps from all addresses of this IPv6 /48"},
		"/oauth/register":  {60, "block-clients", "240/h registered apps from all addresses of this IPv6 /48"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			eachCounter(t, func(cfg *config.Config) {
				cfg.RateLimitWrites = perHour(9) // without it, reports and apps aren't limited
				cfg.RegistrationRate, cfg.RegistrationCeiling = perHour(5), perHour(4*5+5+5)
			}, func(s *Server) {
				s.App.Post("/api/agents", func(c *fiber.Ctx) error {
					if _, err := s.Limits.AdmitAgent(c)(); err != nil {
						return err
					}
					return ok(c)
				})
				s.App.Post("/report", s.Limits.Reports(), ok)
				s.App.Post("/oauth/authorize", s.Limits.SignIns(), ok)
				s.App.Post("/oauth/register", s.Limits.Clients(), ok)
			}, func(t *testing.T, n *node) {
				send := func(times, want int, address func(i int) string, refusal string) {
					t.Helper()
					made := 0
					for i := range times {
						r := n.do(t, http.MethodPost, path, "X-Forwarded-For: "+address(i))
						checkFields(t, r.Header)
						if r.StatusCode == http.StatusOK {
							made++
						} else if r.StatusCode != http.StatusTooManyRequests || !strings.Contains(r.body, refusal) ||
							(refusal == c.refusal && !strings.HasPrefix(r.Header.Get("RateLimit"), `"`+c.limit+`";r=0;`)) {
							t.Fatalf("%s: %d, RateLimit %s: %s", address(i), r.StatusCode, r.Header.Get("RateLimit"), r.body)
						}
					}
					if made != want {
						t.Errorf("%d of %d were accepted, want %d", made, times, want)
					}
				}
				send(c.share+1, c.share, func(int) string { return addressInBlock(0) }, "this address")
				send(3*c.share+9, 3*c.share, func(i int) string { return addressInBlock(1 + i) }, c.refusal)
				send(c.share, c.share, func(int) string { return "2001:db8:2::1" }, "")
				send(c.share, c.share, func(int) string { return "192.0.2.1" }, "")
			})
		})
	}
}

// TestBlockOfAddressesTakesPlaces checks that the addresses of an IPv6 /48 can't take all places, with or without
// keys.
func TestBlockOfAddressesTakesPlaces(t *testing.T) {
	t.Parallel()
	const share = 2
	block, _ := blockKey(netip.MustParseAddr(addressInBlock(0)))
	for name, by := range map[string]func(i int) (bucketKey, []bucketKey){
		"without keys": func(i int) (bucketKey, []bucketKey) {
			return addrKey(netip.MustParseAddr(addressInBlock(i))), []bucketKey{block}
		},
		"with keys": func(i int) (bucketKey, []bucketKey) {
			return agentKey(uuid.UUID{byte(i)}), []bucketKey{addrKey(netip.MustParseAddr(addressInBlock(i))), block}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewPlaces(100, share)
			var leaves []func()
			for i := range 20 {
				caller, sharers := by(i)
				leave, err := p.enter(caller, sharers...)
				if want := map[bool]error{true: ErrShare}[i >= BlockShare*share]; !errors.Is(err, want) {
					t.Errorf("place %d: %v, want %v", i, err, want)
				}
				if err == nil {
					leaves = append(leaves, leave)
				}
			}
			for _, leave := range leaves {
				leave()
			}
			if p.taken != 0 || len(p.held) != 0 || len(p.shared) != 0 {
				t.Errorf("%d places are taken after all have been given back; %v, %v", p.taken, p.held, p.shared)
			}
		})
	}
}

// TestBlockOfAddressesShares checks which limits count the /48 of a request: those of places, but not those of reads.
func TestBlockOfAddressesShares(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.Now = newClock().now
		o.Config.TrustedProxies, o.Config.RateLimitReads = "127.0.0.1", perMinute(2)
	}, func(s *Server) {
		downloads := NewPlaces(100, 1)
		s.App.Get("/api/list", s.OptionalAgent(), s.Limits.Reads(), ok)
		s.App.Get("/api/file", s.OptionalAgent(), func(c *fiber.Ctx) error {
			if _, err := downloads.Enter(c); err != nil { // the download goes on
				return problem.RateLimited("Too many.", 0)
			}
			return ok(c)
		})
	})
	for i := range 10 {
		for path, want := range map[string]int{"/api/list": 200, "/api/file": map[bool]int{true: 200, false: 429}[i < BlockShare]} {
			if r := n.do(t, http.MethodGet, path, "X-Forwarded-For: "+addressInBlock(i)); r.StatusCode != want {
				t.Errorf("%s, address %d: %d, want %d", path, i, r.StatusCode, want)
			}
		}
	}
}

// TestBlockOfAddressesStreams checks that the addresses of an IPv6 /48 can't open all streams of a node.
func TestBlockOfAddressesStreams(t *testing.T) {
	t.Parallel()
	s, opened := newStreams(100, 3), 0
	for i := range 40 {
		_, err := s.enter(netip.MustParseAddr(addressInBlock(i)))
		if err == nil {
			opened++
		} else if p := problem.As(err); p.Status != http.StatusTooManyRequests || !strings.Contains(p.Detail, "its IPv6 /48 has 12") {
			t.Errorf("%v", err)
		}
	}
	if opened != BlockShare*3 {
		t.Errorf("a /48 opened %d streams", opened)
	}
	for _, other := range []string{"2001:db8:2::1", "192.0.2.1", "::ffff:192.0.2.2"} {
		if _, err := s.enter(netip.MustParseAddr(other)); err != nil {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestBlockKey checks which addresses belong to one /48.
func TestBlockKey(t *testing.T) {
	t.Parallel()
	one, _ := blockKey(netip.MustParseAddr("2001:db8:1::1"))
	for address, same := range map[string]bool{"2001:db8:1:ffff:1::": true, "2001:db8:2::1": false, "2001:db9:1::1": false} {
		if key, ok := blockKey(netip.MustParseAddr(address)); !ok || (key == one) != same {
			t.Errorf("%s: %v, %v", address, key, ok)
		}
	}
	for _, address := range []string{"192.0.2.1", "::ffff:192.0.2.1"} {
		if key, ok := blockKey(netip.MustParseAddr(address)); ok {
			t.Errorf("%s: %v", address, key)
		}
	}
	if key, ok := blockKey(netip.Addr{}); ok {
		t.Errorf("no address: %v", key)
	}
}
