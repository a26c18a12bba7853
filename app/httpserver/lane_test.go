package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

func visitor(n byte) bucketKey { return bucketKey{kind: 'i', who: [16]byte{n}} }

// TestLaneOrder checks that requests with and without a key take turns, and that among each the parts go first, then the
// quick ones, then those that came first.
func TestLaneOrder(t *testing.T) {
	t.Parallel()
	l := newLane(1, [queueClasses]int{8, 8}, [queueClasses]int{8, 8})
	leave, err := l.enter(t.Context(), ticket{by: visitor(1), class: expensive}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	agent := agentKey(uuid.Max)
	var turns []chan struct{}
	requests := []ticket{
		{by: visitor(2), class: expensive}, {by: visitor(2), class: quick}, {by: agent, class: expensive},
		{by: visitor(3), class: expensive}, {by: agent, class: quick}, {by: agent, class: parts},
	}
	for _, p := range requests {
		turn, err := l.begin(p)
		if err != nil || turn == nil {
			t.Fatalf("%v: %v", p, err)
		}
		turns = append(turns, turn)
	}
	leave()
	leave() // a second call must not give another place
	for i, want := range []int{1, 5, 0, 4, 3, 2} {
		for n, turn := range turns {
			select {
			case <-turn:
				if n != want {
					t.Fatalf("turn %d: request %d, want %d", i, n, want)
				}
				turns[n] = make(chan struct{})
			default:
				if n == want {
					t.Fatalf("turn %d: request %d waits", i, n)
				}
			}
		}
		l.end(requests[want], 0)
	}
	if l.busy != 0 || len(l.callers[quick].held)+len(l.callers[expensive].held) != 0 {
		t.Errorf("%d places and %v are left", l.busy, l.callers)
	}
}

// TestLaneBounds checks that the queue and each caller's share are bounded, and that a request that gives
// up leaves its place in the queue.
func TestLaneBounds(t *testing.T) {
	t.Parallel()
	l := newLane(1, [queueClasses]int{1, 2}, [queueClasses]int{1, 2})
	refused := func(p ticket) bool {
		_, err := l.begin(p)
		refusal, ok := err.(*problem.Error)
		return ok && refusal.Code == problem.CodeUnavailable.Name && refusal.RetryAfter > 0
	}
	if _, err := l.begin(ticket{by: visitor(1), class: expensive}); err != nil {
		t.Fatal(err)
	}
	waits, err := l.begin(ticket{by: visitor(1), class: expensive})
	if err != nil {
		t.Fatal(err)
	}
	if !refused(ticket{by: visitor(1), class: expensive}) {
		t.Error("a third request of one caller waits")
	}
	if _, err := l.begin(ticket{by: visitor(2), class: expensive}); err != nil {
		t.Fatal(err)
	}
	if !refused(ticket{by: visitor(3), class: expensive}) {
		t.Error("the queue isn't bounded")
	}
	if _, err := l.begin(ticket{by: visitor(3), class: quick}); err != nil {
		t.Error("expensive requests fill the queue of quick ones:", err)
	}
	if !l.giveUp(ticket{by: visitor(1), class: expensive}, waits) || l.giveUp(ticket{by: visitor(1), class: expensive}, waits) {
		t.Error("a request must be able to give up once, and only once")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.enter(ended, ticket{by: visitor(4), class: expensive}, time.Now()); err == nil {
		t.Error("a request that has given up gets a place")
	}
	if n := len(l.waiting[visitors][expensive]); n != 1 {
		t.Errorf("%d wait, want 1", n)
	}
}

// TestPlaceRests checks that a place rests as long as the request before worked, if others wait.
func TestPlaceRests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ worked, want time.Duration }{
		"short": {3 * time.Millisecond, 6 * time.Millisecond}, "long": {time.Second / 2, time.Second/2 + longestRest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLane(1, [queueClasses]int{8, 8}, [queueClasses]int{8, 8})
				l.rests = true
				leave, err := l.enter(t.Context(), ticket{by: visitor(1), class: expensive}, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var next sync.WaitGroup
				next.Go(func() {
					leave, err := l.enter(t.Context(), ticket{by: visitor(2), class: quick}, time.Now())
					if waited := time.Since(began); err != nil || waited != c.want {
						t.Errorf("%v after %s, want a place after %s", err, waited, c.want)
					} else {
						leave()
					}
				})
				time.Sleep(c.worked)
				leave()
				next.Wait()
				if l.busy != 0 {
					t.Error("the place is still taken after both requests have left it")
				}
			})
		})
	}
}

// TestPartsWait checks that a part of an answer waits for as long as its context lasts, although the queue is full
// and its caller has used up its share.
func TestPartsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane(1, [queueClasses]int{}, [queueClasses]int{1, 1})
		leave, err := l.enter(t.Context(), ticket{by: visitor(1), class: quick}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		part := ticket{by: visitor(1), class: parts}
		const patience = 5 * lanePatience
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		began := time.Now()
		if _, err := l.enter(ctx, part, time.Time{}); err == nil || time.Since(began) != patience {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.AfterFunc(patience, leave)
		began = time.Now()
		leave, err = l.enter(t.Context(), part, time.Time{})
		if err != nil || time.Since(began) != patience {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
		leave()
		if l.busy != 0 || len(l.callers[quick].held) != 0 {
			t.Errorf("%d places and %v are left", l.busy, l.callers)
		}
	})
}

// TestFullLane checks that while expensive reads fill the lane, further ones are refused at once and other
// requests don't wait.
func TestFullLane(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}, 20), make(chan struct{})
	var shed atomic.Int64
	n := run(t, func(o *Options) {
		o.Observe = func(seen Observation) {
			if seen.Shed && seen.Status == http.StatusServiceUnavailable {
				shed.Add(1)
			}
		}
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RateLimitReads, o.Config.RateLimitWrites = perMinute(1200), perMinute(120)
	}, func(s *Server) {
		s.App.Get("/api/search", s.Limits.Reads(), s.Admitted(Search), func(c *fiber.Ctx) error {
			begun <- struct{}{}
			<-goOn
			return ok(c)
		})
		s.App.Get("/api/list", s.Limits.Reads(), s.Admitted(Shared), ok)
		s.App.Post("/api/publish", s.RequireAgent(), s.Limits.Writes(), ok)
		s.App.Get("/api/health", s.Limits.Snapshot(), s.Health)
	})
	statuses := make(chan int, 64)
	for i := range 20 { // four fit in the share of an address
		go func() {
			statuses <- n.do(t, "GET", "/api/search", fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i/5)).StatusCode
		}()
	}
	<-begun
	for range 4 { // the fifth of each address
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("beyond the share: %d", status)
		}
	}
	if n := shed.Load(); n < 4 {
		t.Errorf("%d requests were observed as refused by the lane, want 4", n)
	}
	r := n.do(t, "GET", "/api/search", "X-Forwarded-For: 192.0.2.0")
	if r.StatusCode != 503 || r.code(t) != "unavailable" || r.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", r.StatusCode, r.body)
	}
	for _, c := range [][2]string{{"GET", "/api/list"}, {"POST", "/api/publish"}, {"GET", "/api/health"}, {"GET", "/livez"}} {
		if r := n.do(t, c[0], c[1], "Authorization: Bearer good", "X-Forwarded-For: 192.0.2.0"); r.StatusCode != 200 {
			t.Errorf("%s: %d %s", c[1], r.StatusCode, r.body)
		}
	}
	close(goOn)
	for range 16 {
		<-statuses // 200, or 503 if it waited for too long
	}
}

// TestRefusedFilteredListCostsOneRequest checks that a list with a filter that the full lane refuses counts like a list
// without a filter.
func TestRefusedFilteredListCostsOneRequest(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.Now, o.Config.RateLimitSnapshot = newClock().now, perMinute(12)
	}, func(s *Server) {
		s.reads = newLane(1, [queueClasses]int{}, [queueClasses]int{}) // refuses everything
		s.App.Get("/api/filtered", s.Limits.Snapshot(), func(c *fiber.Ctx) error {
			leave, err := s.AdmitFiltered(c)
			if err == nil {
				leave()
			}
			return err
		})
	})
	// The fourth leaves 8 of 12, and would need 9 more to be compressed.
	for i, want := range []int{503, 503, 503, 429} {
		if r := n.do(t, "GET", "/api/filtered"); r.StatusCode != want {
			t.Errorf("request %d: %d %s, want %d", i, r.StatusCode, r.body, want)
		}
	}
}

// TestWaitingForOneAnswer checks that requests for the same answer wait for a place together, not one after
// the other.
func TestWaitingForOneAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLane(1, [queueClasses]int{8, 8}, [queueClasses]int{8, 8})
		if _, err := l.enter(t.Context(), ticket{by: visitor(0), class: expensive}, time.Now()); err != nil {
			t.Fatal(err)
		}
		answers := memo.New[string](memo.Options[int]{Size: 1, Now: time.Now})
		came := time.Now()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				_, err := answers.Get(t.Context(), "", func(ctx context.Context) (int, time.Time, error) {
					_, err := l.enter(ctx, ticket{by: visitor(byte(i)), class: expensive}, came)
					return 0, time.Time{}, memo.Private(err)
				})
				if waited := time.Since(came); err == nil || waited != lanePatience {
					t.Errorf("%v after %s", err, waited)
				}
			})
		}
		wg.Wait()
	})
}

// TestCostsAreCharged checks that a read whose answer is made counts its units, and that a retry after the
// time in its refusal passes.
func TestCostsAreCharged(t *testing.T) {
	t.Parallel()
	clk := newClock()
	n := run(t, func(o *Options) {
		o.Now = clk.now
		o.Config.RateLimitReads = perMinute(60)
	}, func(s *Server) {
		s.App.Get("/api/search", s.Limits.Reads(), s.Admitted(Search), ok)
		s.App.Get("/api/kept", s.Limits.Reads(), ok)
	})
	for i, step := range []struct {
		path   string
		wait   int // seconds before
		status int
		limit  string
	}{
		{"/api/search", 0, 200, `"reads";r=40;t=1`}, {"/api/kept", 0, 200, `"reads";r=39;t=1`}, {"/api/search", 0, 200, `"reads";r=19;t=1`},
		{"/api/search", 0, 429, `"reads";r=18;t=1`}, {"/api/kept", 0, 200, `"reads";r=17;t=1`}, {"/api/search", 3, 200, `"reads";r=0;t=1`},
		{"/api/kept", 0, 429, `"reads";r=0;t=1`},
	} {
		clk.advance(time.Duration(step.wait) * time.Second)
		r := n.do(t, "GET", step.path)
		if r.StatusCode != step.status || r.Header.Get("RateLimit") != step.limit {
			t.Errorf("step %d: %d, %s, Retry-After %s: %s", i, r.StatusCode, r.Header.Get("RateLimit"), r.Header.Get("Retry-After"), r.body)
		}
		if step.path == "/api/search" && step.status == 429 {
			if retry := r.Header.Get("Retry-After"); retry != "2" {
				t.Errorf("Retry-After %s", retry)
			}
		}
		checkFields(t, r.Header)
	}
}

// TestCostAboveTheLimit checks that a limit below the cost of a read doesn't forbid the read.
func TestCostAboveTheLimit(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) { o.Now, o.Config.RateLimitReads = newClock().now, perMinute(3) }, func(s *Server) {
		s.App.Get("/api/search", s.Limits.Reads(), s.Admitted(Drawing), ok)
	})
	for i, want := range []int{200, 429} {
		if r := n.do(t, "GET", "/api/search"); r.StatusCode != want {
			t.Errorf("request %d: %d", i, r.StatusCode)
		}
	}
}
