package httpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
)

// startLane runs a server whose lane has one place. A read occupies the place until free is called.
func startLane(t *testing.T, adjust func(*Options), prepare func(*Server)) (n *node, free func()) {
	t.Helper()
	begun, goOn := make(chan struct{}), make(chan struct{})
	n = run(t, adjust, func(s *Server) {
		if prepare != nil {
			prepare(s)
		}
		s.App.Get("/api/search", s.OptionalAgent(), s.Limits.Reads(), s.Admitted(Search), func(c *fiber.Ctx) error {
			if c.QueryBool("wait") {
				close(begun)
				<-goOn
			}
			return ok(c)
		})
	})
	first := make(chan int)
	go func() { first <- n.do(t, http.MethodGet, "/api/search?wait=true").StatusCode }()
	<-begun
	return n, func() {
		close(goOn)
		if status := <-first; status != http.StatusOK {
			t.Errorf("the first read: %d", status)
		}
	}
}

// TestFullLaneCostsNothing checks that a read that gets no place in the lane costs as much as an answer from
// memory, whether this process or Redis counts.
func TestFullLaneCostsNothing(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]func(t *testing.T, s *Server){
		"process": nil,
		"redis": func(t *testing.T, s *Server) {
			l := newLimits(s.opts.Config, redisClient(t), s.opts.Logger, time.Now)
			l.prefix, l.patience = "test:"+uuid.NewString()+":", 20*time.Second // however busy the machine is
			s.Limits = l
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, free := startLane(t, func(o *Options) {
				o.Config.RateLimitReads = config.Rate{N: 60, Per: time.Hour} // so that no unit returns during the test
			}, func(s *Server) {
				if count != nil {
					count(t, s)
				}
			})
			defer free()
			r := n.do(t, http.MethodGet, "/api/search")
			if got, want := r.Header.Get("RateLimit"), `"reads";r=39;`; r.StatusCode != http.StatusServiceUnavailable || !strings.HasPrefix(got, want) {
				t.Errorf("%d, RateLimit %s, want %s: %s", r.StatusCode, got, want, r.body)
			}
		})
	}
}

// TestGiveBack checks that units that were given back can be taken again, but never more than the quota.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]func(t *testing.T, cfg *config.Config) *Limits{
		"process": func(_ *testing.T, cfg *config.Config) *Limits {
			return newLimits(cfg, nil, slog.New(slog.DiscardHandler), time.Now)
		},
		"redis": func(t *testing.T, cfg *config.Config) *Limits {
			l := newLimits(cfg, redisClient(t), slog.New(slog.DiscardHandler), time.Now)
			l.prefix, l.patience = "test:"+uuid.NewString()+":", 20*time.Second // however busy the machine is
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limits(t, &config.Config{RateLimitReads: config.Rate{N: 10, Per: time.Hour}})
			for i, step := range []struct{ n, left int }{{4, 6}, {-3, 9}, {-5, 10}, {10, 0}, {-2, 2}, {2, 0}} {
				var v verdict
				if step.n < 0 {
					v = l.giveBack(t.Context(), &l.reads, visitor(1), -step.n)
				} else {
					v = l.take(t.Context(), &l.reads, visitor(1), step.n)
				}
				if !v.ok || v.remaining != step.left {
					t.Errorf("step %d: %+v, want %d left", i, v, step.left)
				}
			}
		})
	}
}

// TestKeysStarveNoVisitor checks that a read without a key is answered although reads with keys of many agents
// always wait, and that a read with a key is answered although reads without one always wait.
func TestKeysStarveNoVisitor(t *testing.T) {
	t.Parallel()
	key := func(i int) string { return fmt.Sprint("Authorization: Bearer key", i) }
	visitor := func(i int) string { return fmt.Sprint("X-Forwarded-For: 192.0.2.", i) }
	for name, c := range map[string]struct {
		crowd  func(i int) string
		kind   callerKind
		single string
	}{
		"keys":     {key, agents, visitor(1)},
		"visitors": {visitor, visitors, key(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := make(chan struct{})
			var reads *lane
			// waits reports whether a read of the crowd waits for a place.
			waits := func() bool {
				reads.mu.Lock()
				defer reads.mu.Unlock()
				return len(reads.waiting[c.kind][expensive]) > 0
			}
			crowded := func() {
				for !waits() {
					select {
					case <-served:
						return
					case <-time.After(time.Millisecond):
					}
				}
			}
			n := run(t, func(o *Options) {
				o.Config.TrustedProxies = "127.0.0.1"
				o.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
					return principal{uuid.NewSHA1(uuid.Nil, []byte(bearer))}, nil
				}
			}, func(s *Server) {
				reads = s.reads
				s.App.Get("/api/search", s.OptionalAgent(), s.Limits.Reads(), s.Admitted(Search), func(c *fiber.Ctx) error {
					if c.QueryBool("crowd") {
						crowded() // so that one of the crowd waits whenever a place becomes free
					}
					return ok(c)
				})
			})
			var crowd sync.WaitGroup
			for i := range 8 {
				crowd.Go(func() {
					for {
						select {
						case <-served:
							return
						default:
							n.do(t, http.MethodGet, "/api/search?crowd=true", c.crowd(i+2))
						}
					}
				})
			}
			crowded()
			for range 3 {
				if r := n.do(t, http.MethodGet, "/api/search", c.single); r.StatusCode != http.StatusOK {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
			}
			close(served)
			crowd.Wait()
		})
	}
}

// TestKeysShareTheLane checks that an attacker with many keys can't take all places of the lane from one address or one
// IPv6 /48, nor with the keys of one owner from many addresses.
func TestKeysShareTheLane(t *testing.T) {
	t.Parallel()
	key := func(owner string, i int) string { return fmt.Sprint("Authorization: Bearer ", owner, "-", i) }
	address := func(i int) string { return fmt.Sprint("X-Forwarded-For: 192.0.2.", i) }
	for name, c := range map[string]struct {
		most   int
		attack func(i int) (key, address string)
		others [2]string
	}{
		"address": {
			KeysShare * expensiveShare,
			func(i int) (string, string) { return key(fmt.Sprint("owner", i), i), address(1) },
			[2]string{key("other", 0), address(2)},
		},
		"/48": {
			BlockShare * expensiveShare,
			func(i int) (string, string) {
				return key(fmt.Sprint("owner", i), i), "X-Forwarded-For: " + addressInBlock(i)
			},
			[2]string{key("other", 0), address(2)},
		},
		"owner": {
			KeysShare * expensiveShare,
			func(i int) (string, string) { return key("owner", i), address(i) },
			[2]string{key("other", 0), address(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, goOn := make(chan struct{}, c.most+2), make(chan struct{})
			n := run(t, func(o *Options) {
				o.Places = c.most + 2
				o.Config.TrustedProxies = "127.0.0.1"
				o.Config.RateLimitReads = perMinute(1200)
				o.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
					owner, _, _ := strings.Cut(bearer, "-")
					return owned{uuid.NewSHA1(uuid.Nil, []byte(bearer)), owner}, nil
				}
			}, func(s *Server) {
				s.App.Get("/api/search", s.OptionalAgent(), s.Limits.Reads(), s.Admitted(Search), func(c *fiber.Ctx) error {
					begun <- struct{}{}
					<-goOn
					return ok(c)
				})
			})
			statuses := make(chan int, c.most+1)
			send := func(key, address string) {
				go func() { statuses <- n.do(t, http.MethodGet, "/api/search", key, address).StatusCode }()
				<-begun
			}
			for i := range c.most {
				send(c.attack(i))
			}
			more, from := c.attack(c.most)
			if r := n.do(t, http.MethodGet, "/api/search", more, from); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
				t.Errorf("one key more: %d %s", r.StatusCode, r.body)
			}
			send(c.others[0], c.others[1])
			close(goOn)
			for range c.most + 1 {
				if status := <-statuses; status != http.StatusOK {
					t.Errorf("within the share: %d", status)
				}
			}
			n.reads.mu.Lock()
			defer n.reads.mu.Unlock()
			if callers := &n.reads.callers[expensive]; len(callers.held)+len(callers.shared) != 0 {
				t.Errorf("%v and %v are left", callers.held, callers.shared)
			}
		})
	}
}

// TestArchiveDelaysNoOtherRead checks that reads of an archive that doesn't answer take no place of other reads, and
// are bounded themselves.
func TestArchiveDelaysNoOtherRead(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}, archivedPlaces+1), make(chan struct{})
	n := run(t, func(o *Options) { o.Places = 1 }, func(s *Server) {
		s.App.Get("/api/file", s.Limits.Reads(), s.AdmittedArchived(Lookup), func(c *fiber.Ctx) error {
			begun <- struct{}{}
			<-goOn
			return ok(c)
		})
		s.App.Get("/api/record", s.Limits.Reads(), s.Admitted(Lookup), ok)
	})
	statuses := make(chan int, archivedPlaces)
	for range archivedPlaces {
		go func() { statuses <- n.do(t, http.MethodGet, "/api/file").StatusCode }()
		<-begun
	}
	if r := n.do(t, http.MethodGet, "/api/record"); r.StatusCode != http.StatusOK {
		t.Errorf("another read: %d %s", r.StatusCode, r.body)
	}
	if r := n.do(t, http.MethodGet, "/api/file"); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("one file more: %d %s", r.StatusCode, r.body)
	}
	close(goOn)
	for range archivedPlaces {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("a file: %d", status)
		}
	}
}

// TestSlowKeyCheck checks that the time for checking a key doesn't count towards the wait for a place.
func TestSlowKeyCheck(t *testing.T) {
	t.Parallel()
	n, free := startLane(t, func(o *Options) {
		o.Authenticate = func(ctx context.Context, bearer string, admit func() (func(error), error)) (Principal, error) {
			time.Sleep(lanePatience) // a slow database
			return authenticate(ctx, bearer, admit)
		}
	}, nil)
	waits := func() bool {
		n.reads.mu.Lock()
		defer n.reads.mu.Unlock()
		return len(n.reads.waiting[agents][expensive]) > 0
	}
	status := make(chan int, 1)
	go func() {
		status <- n.do(t, http.MethodGet, "/api/search", "Authorization: Bearer good").StatusCode
	}()
	for deadline := time.Now().Add(20 * time.Second); !waits() && len(status) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	free()
	if got := <-status; got != http.StatusOK {
		t.Errorf("%d", got)
	}
}
