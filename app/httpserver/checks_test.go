package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// flood is a set of checks that run or wait. Its tests run in a bubble of synctest.
type flood struct {
	t              *testing.T
	checks         *checks
	begun, refused atomic.Int64
	busy, busiest  atomic.Int64 // busiest is the most that ran at a time
	finish         chan error   // ends one check each
	all            sync.WaitGroup
}

func newFlood(t *testing.T, failures int) *flood {
	return &flood{t: t, checks: newChecks(perMinute(failures), time.Now), finish: make(chan error)}
}

// send begins n checks of an address. They end when the test says so.
func (f *flood) send(n int, address string) {
	for range n {
		f.all.Go(func() {
			done, err := f.checks.enter(f.t.Context(), netip.MustParseAddr(address), time.Now())
			if err != nil {
				if p := problem.As(err); p.Status != http.StatusServiceUnavailable || p.RetryAfter != time.Second {
					f.t.Errorf("refused with %v", err)
				}
				f.refused.Add(1)
				return
			}
			f.begun.Add(1)
			f.busiest.Store(max(f.busiest.Load(), f.busy.Add(1)))
			verdict := <-f.finish
			f.busy.Add(-1)
			done(verdict)
		})
	}
	synctest.Wait()
}

// end ends n checks with a verdict.
func (f *flood) end(n int, verdict error) {
	f.t.Helper()
	for i := range n {
		select {
		case f.finish <- verdict:
			synctest.Wait()
		case <-time.After(time.Nanosecond): // in the bubble: every goroutine waits
			f.t.Fatalf("check %d of %d doesn't run", i+1, n)
		}
	}
}

// want compares the numbers of checks that began and that were refused so far.
func (f *flood) want(when string, begun, refused int64) {
	f.t.Helper()
	if f.begun.Load() != begun || f.refused.Load() != refused {
		f.t.Errorf("%s: %d checks began and %d were refused, want %d and %d", when, f.begun.Load(), f.refused.Load(), begun, refused)
	}
}

var refused = problem.InvalidCredentials("Get another.")

// TestMadeUpKeysTakeTurns checks that an address begins no more checks at once than it has failures left, that its
// further checks run one at a time, and that those that get no turn within a second are refused.
func TestMadeUpKeysTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, 3)
		f.send(10, "192.0.2.1")
		f.want("a burst", 3+1, 0)
		f.end(4, refused)
		f.want("after four checks", 5, 0)
		f.end(1, refused)
		f.want("after one more", 6, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		f.want("after a second", 6, 4)
		f.send(1, "192.0.2.1")
		f.want("while a check hangs", 6, 4)
		f.end(1, nil)
		f.want("after it", 7, 4)
		f.end(1, nil) // a valid key that waited for its turn
		f.send(1, "198.51.100.1")
		f.want("another address", 8, 4)
		f.end(1, refused)
		time.Sleep(20 * time.Second)
		f.send(2, "192.0.2.1") // of which the address has one left again
		f.want("twenty seconds later", 10, 4)
		f.end(2, refused)
		f.all.Wait()
		f.checks.empty(t)
	})
}

// empty checks that no check is left.
func (k *checks) empty(t *testing.T) {
	t.Helper()
	if len(k.commonTurns)+len(k.ownTurns)+k.places.taken+len(k.places.held) != 0 {
		t.Errorf("%d turns are taken, and %v and %v are left", len(k.commonTurns), k.ownTurns, k.places.held)
	}
}

// TestSpentAddressesShareFewTurns checks that only a few checks of all addresses without failures left run at a time,
// and that an address with many waiting checks doesn't delay another one by more than its own check.
func TestSpentAddressesShareFewTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, 1)
		address := func(i int) string { return fmt.Sprint("192.0.2.", i) }
		for i := range 6 {
			f.send(1, address(i))
		}
		f.end(6, refused)
		for i := range 6 {
			f.send(5, address(i))
		}
		f.want("six spent addresses", 6+checkTurns, 0)
		f.end(2, refused)
		f.want("after two checks", 6+6, 0)
		if busiest := f.busiest.Load(); busiest != 6 { // the first six, which were within their limits
			t.Errorf("%d checks ran at a time", busiest)
		}
		f.end(28, nil)
		f.all.Wait()
		f.want("in the end", 6+30, 0)
		f.checks.empty(t)
	})
}

// TestChecksAreBounded checks that the number of waiting checks is bounded, for each address and in all.
func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, 1)
		for i := range 10 {
			f.send(1+checkShare+1, fmt.Sprint("192.0.2.", i))
		}
		f.want("ten addresses", 10+checkTurns, 10*(1+checkShare)-checkQueue)
		time.Sleep(time.Second)
		synctest.Wait()
		f.want("a second later", 10+checkTurns, 10*(1+checkShare)-checkTurns)
		f.end(10+checkTurns, refused)
		f.all.Wait()
		f.checks.empty(t)
	})
}

// TestAcceptedChecksCostNothing checks that only checks that don't accept a bearer count.
func TestAcceptedChecksCostNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, 2)
		for range 50 {
			f.send(2, "192.0.2.1")
			if f.busy.Load() != 2 {
				t.Fatal("a check waits")
			}
			f.end(2, nil)
		}
		f.want("valid keys", 100, 0)
		f.send(2, "192.0.2.1")
		f.end(1, refused)
		f.end(1, errors.New("the provider timed out")) // a made-up key can make the provider fail
		f.send(2, "192.0.2.1")
		f.want("after two failures", 103, 0)
		f.end(2, nil)
		f.all.Wait()
		off := newChecks(config.Rate{}, time.Now)
		for range 1000 {
			if _, err := off.enter(t.Context(), netip.Addr{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestBlockOfAddressesFlood checks that the addresses of an IPv6 /48 together have four times the failures of one,
// and take turns like one.
func TestBlockOfAddressesFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlood(t, 3)
		address := func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) }
		for i := range 100 {
			f.send(1, address(i))
			if i < BlockShare*3 {
				f.end(1, refused)
			}
		}
		f.want("100 addresses of a /48", BlockShare*3+1, 100-BlockShare*3-checkShare)
		f.send(1, "2001:db8:2::1")
		f.want("another /48", BlockShare*3+2, 100-BlockShare*3-checkShare)
		f.end(2, nil)
		f.end(checkShare-1, nil)
		f.all.Wait()
		f.checks.empty(t)
	})
}

// TestFloodFromTheAddressOfAnAgent checks that an agent with a key that this node hasn't seen is served from an
// address that floods it with made-up keys, and that known keys and other addresses don't notice the flood.
func TestFloodFromTheAddressOfAnAgent(t *testing.T) {
	t.Parallel()
	var checked, busy, busiest atomic.Int64
	hold := make(chan struct{})
	n := run(t, func(o *Options) {
		o.Now = newClock().now
		o.Config.TrustedProxies, o.Config.RateLimitFailures = "127.0.0.1", perMinute(3)
		o.Authenticate = func(_ context.Context, bearer string, admit func() (func(error), error)) (p Principal, err error) {
			if bearer == "known" {
				return principal{agentID}, nil
			}
			done, err := admit()
			if err != nil {
				return nil, err
			}
			defer func() { done(err) }()
			checked.Add(1)
			busiest.Store(max(busiest.Load(), busy.Add(1)))
			defer busy.Add(-1)
			if strings.HasPrefix(bearer, "slow") {
				<-hold
			}
			if strings.HasPrefix(bearer, "valid") {
				return principal{uuid.NewSHA1(uuid.Nil, []byte(bearer))}, nil
			}
			return nil, refused
		}
	}, limitRoutes)
	from := func(address string) string { return "X-Forwarded-For: " + address }
	send := func(address, bearer string, want int) reply {
		t.Helper()
		r := n.do(t, http.MethodGet, "/api/list", from(address), "Authorization: Bearer "+bearer)
		if r.StatusCode != want {
			t.Errorf("%s from %s: %d, want %d: %s", bearer, address, r.StatusCode, want, r.body)
		}
		return r
	}
	for i := range 3 {
		send("192.0.2.1", fmt.Sprint("guess", i), http.StatusUnauthorized)
	}
	statuses := make(chan int, 8)
	busiest.Store(0)
	for i := range cap(statuses) {
		go func() {
			statuses <- n.do(t, http.MethodGet, "/api/list", from("192.0.2.1"), fmt.Sprint("Authorization: Bearer slow", i)).StatusCode
		}()
	}
	for range cap(statuses) - 1 { // one of them is being checked
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("a made-up key without a turn: %d", status)
		}
	}
	if checked.Load() != 3+1 || busiest.Load() != 1 {
		t.Errorf("%d checks, %d at a time; want 4, and 1 at a time", checked.Load(), busiest.Load())
	}
	send("192.0.2.1", "known", http.StatusOK)
	send("192.0.2.2", "valid-there", http.StatusOK)
	late := send("192.0.2.1", "valid-late", http.StatusServiceUnavailable)
	if late.Header.Get("Retry-After") != "1" || !strings.Contains(late.body, "neither accepted nor refused") {
		t.Errorf("Retry-After %q: %s", late.Header.Get("Retry-After"), late.body)
	}
	close(hold)
	if status := <-statuses; status != http.StatusTooManyRequests {
		t.Errorf("the checked key: %d", status)
	}
	send("192.0.2.1", "valid-late", http.StatusOK)
	n.checks.empty(t)
}

// TestRefusedChecksAreShed checks that the 503 of a flood isn't reported as a fault of the service.
func TestRefusedChecksAreShed(t *testing.T) {
	t.Parallel()
	seen := make(chan Observation, 1)
	n := run(t, func(o *Options) {
		o.Now = newClock().now
		o.Config.RateLimitFailures = perMinute(1)
		o.Observe = func(o Observation) { seen <- o }
		o.Authenticate = func(_ context.Context, _ string, admit func() (func(error), error)) (Principal, error) {
			_, err := admit()
			return nil, err
		}
	}, limitRoutes)
	n.checks.count(netip.MustParseAddr("127.0.0.1"), 1)
	for range checkTurns {
		n.checks.commonTurns <- struct{}{}
	}
	r := n.do(t, http.MethodGet, "/api/list", "Authorization: Bearer guess")
	if o := <-seen; r.StatusCode != http.StatusServiceUnavailable || !o.Shed {
		t.Errorf("%d, %+v", r.StatusCode, o)
	}
}
