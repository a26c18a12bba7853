package memo

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type result struct {
	value int
	err   error
}

// counter is a slow source. Each load reports that it began and then waits for its result.
type counter struct {
	loads   atomic.Int64
	begun   chan struct{}
	results chan result
}

func newCounter() *counter { return &counter{begun: make(chan struct{}), results: make(chan result)} }

func (s *counter) find(until time.Time) func(context.Context) (int, time.Time, error) {
	return func(context.Context) (int, time.Time, error) {
		s.loads.Add(1)
		s.begun <- struct{}{}
		r := <-s.results
		return r.value, until, r.err
	}
}

// always returns a load that returns immediately.
func always(value int, until time.Time) func(context.Context) (int, time.Time, error) {
	return func(context.Context) (int, time.Time, error) { return value, until, nil }
}

func get(c *Cache[string, int], find func(context.Context) (int, time.Time, error)) <-chan result {
	out := make(chan result, 1)
	go func() {
		value, err := c.Get(context.Background(), "key", find)
		out <- result{value, err}
	}()
	return out
}

func want(t *testing.T, out <-chan result, value int) {
	t.Helper()
	if r := <-out; r.err != nil || r.value != value {
		t.Errorf("got %d, %v; want %d", r.value, r.err, value)
	}
}

func TestOneLoadForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := New[string](Options[int]{Size: 10, Now: time.Now}), newCounter()
		var outs []<-chan result
		for range 20 {
			outs = append(outs, get(c, s.find(time.Now().Add(time.Minute))))
		}
		<-s.begun
		synctest.Wait() // the others wait
		s.results <- result{value: 7}
		for _, out := range outs {
			want(t, out, 7)
		}
		want(t, get(c, s.find(time.Time{})), 7)
		if n := s.loads.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string](Options[int]{Size: 10, Now: time.Now})
		want(t, get(c, always(1, time.Now().Add(time.Minute))), 1)
		time.Sleep(time.Minute - 1)
		want(t, get(c, always(2, time.Now())), 1)
		time.Sleep(time.Nanosecond)
		if last, ok := c.Last("key"); !ok || last != 1 {
			t.Errorf("last %d, %v", last, ok)
		}
		want(t, get(c, always(3, time.Time{})), 3)
		want(t, get(c, always(4, time.Time{})), 4) // a value without an expiry isn't kept
		if last, ok := c.Last("other"); ok {
			t.Errorf("last %d of a key never loaded", last)
		}
	})
}

// TestStale checks that while one caller loads, other callers get the expired value for the time
// Stale, and wait after that.
func TestStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := New[string](Options[int]{Size: 10, Now: time.Now, Stale: time.Minute}), newCounter()
		want(t, get(c, always(1, time.Now().Add(time.Second))), 1)
		time.Sleep(time.Second)
		for _, failing := range []bool{true, false} {
			slow := get(c, s.find(time.Now().Add(time.Second)))
			<-s.begun
			want(t, get(c, s.find(time.Time{})), 1)
			if failing {
				s.results <- result{err: errors.New("the database is unavailable")}
				if r := <-slow; r.err == nil {
					t.Errorf("the loading caller got %d", r.value)
				}
				continue
			}
			s.results <- result{value: 2}
			want(t, slow, 2)
		}
		want(t, get(c, s.find(time.Time{})), 2)

		time.Sleep(2 * time.Minute)
		slow := get(c, s.find(time.Now().Add(time.Second)))
		<-s.begun
		waiting := get(c, s.find(time.Time{}))
		synctest.Wait()
		select {
		case r := <-waiting:
			t.Errorf("got a value that is too old: %+v", r)
		default:
		}
		s.results <- result{value: 3}
		want(t, slow, 3)
		want(t, waiting, 3)
	})
}

func TestErrorsAreSharedAndNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := New[string](Options[int]{Size: 10, Now: time.Now}), newCounter()
		a := get(c, s.find(time.Now().Add(time.Hour)))
		<-s.begun
		b := get(c, s.find(time.Time{}))
		synctest.Wait()
		away := errors.New("away")
		s.results <- result{err: away}
		for _, out := range []<-chan result{a, b} {
			if r := <-out; !errors.Is(r.err, away) {
				t.Errorf("%+v", r)
			}
		}
		want(t, get(c, always(5, time.Time{})), 5)
	})
}

// TestEpoch checks that callers after Forget or a new Epoch don't share an older load, and that its
// result isn't kept.
func TestEpoch(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"Forget", "Epoch"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var epoch atomic.Uint64
				c, s := New[string](Options[int]{Size: 10, Now: time.Now, Stale: time.Hour, Epoch: epoch.Load}), newCounter()
				forget := c.Forget
				if way == "Epoch" {
					forget = func() { epoch.Add(1) }
				}
				until := time.Now().Add(time.Hour)
				want(t, get(c, always(1, until)), 1)
				forget()
				if _, ok := c.Last("key"); ok {
					t.Error("the value is still kept")
				}
				old := get(c, s.find(until))
				<-s.begun
				forget() // doesn't wait
				young := get(c, s.find(until))
				<-s.begun
				s.results <- result{value: 2}
				s.results <- result{value: 3}
				// Either load may have got either value, but the younger load's value must be kept.
				a, b := <-old, <-young
				if a.err != nil || b.err != nil || a.value+b.value != 5 {
					t.Errorf("%+v, %+v", a, b)
				}
				want(t, get(c, always(4, until)), b.value)
			})
		})
	}
}

// TestHolds checks that a new epoch keeps the values that still hold, also those of loads that began before it, and
// that Forget keeps none.
func TestHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Uint64
		c, s := New[string](Options[int]{
			Size: 10, Now: time.Now, Epoch: epoch.Load,
			Holds: func(value int, from uint64) bool { return value < 10 || from >= epoch.Load() },
		}), newCounter()
		until := time.Now().Add(time.Hour)
		want(t, get(c, always(1, until)), 1)
		epoch.Add(1)
		want(t, get(c, always(2, until)), 1)
		c.Forget()
		want(t, get(c, always(10, until)), 10)
		want(t, get(c, always(2, until)), 10)
		epoch.Add(1)
		for _, kept := range []int{11, 3} {
			slow := get(c, s.find(until))
			<-s.begun
			epoch.Add(1)
			s.results <- result{value: kept}
			want(t, slow, kept)
		}
		want(t, get(c, always(4, until)), 3) // 11 began before the change
	})
}

func TestSizeAndMinorValues(t *testing.T) {
	t.Parallel()
	c := New[string](Options[int]{Size: 3, Now: time.Now, Minor: func(v int) bool { return v < 0 }})
	until := time.Now().Add(time.Hour)
	load := func(key string, value int) {
		t.Helper()
		if got, err := c.Get(t.Context(), key, always(value, until)); err != nil || got != value {
			t.Errorf("%s: %d, %v", key, got, err)
		}
	}
	load("a", 1)
	for i := range 100 {
		load("minor"+strconv.Itoa(i), -1-i)
	}
	if v, ok := c.Last("a"); !ok || v != 1 {
		t.Errorf("evicted by minor values: %d, %v", v, ok)
	}
	for _, key := range []string{"b", "c", "d"} {
		load(key, 1)
	}
	if _, ok := c.Last("a"); ok {
		t.Error("the cache is not bounded")
	}
	if _, ok := c.Last("minor99"); !ok {
		t.Error("a minor value was evicted by others")
	}
	if n := c.kept[0].Len() + c.kept[1].Len(); n != 6 {
		t.Errorf("%d values are kept", n)
	}
}

func TestValueBecomesMinor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string](Options[int]{Size: 3, Now: time.Now, Minor: func(v int) bool { return v < 0 }})
		for _, value := range []int{1, -1, 2, -2} {
			want(t, get(c, always(value, time.Now().Add(time.Second))), value)
			if last, ok := c.Last("key"); !ok || last != value {
				t.Errorf("last %d, %v; want %d", last, ok, value)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := New[string](Options[int]{Size: 10, Now: time.Now, Timeout: time.Second}), newCounter()
		ctx, leave := context.WithCancel(t.Context())
		first := make(chan result, 1)
		go func() {
			value, err := c.Get(ctx, "key", func(ctx context.Context) (int, time.Time, error) {
				s.begun <- struct{}{}
				<-ctx.Done() // ends with the timeout, not with the caller's context
				return 1, time.Now().Add(time.Hour), nil
			})
			first <- result{value, err}
		}()
		<-s.begun
		second := make(chan result, 1)
		go func() {
			value, err := c.Get(ctx, "key", s.find(time.Time{}))
			second <- result{value, err}
		}()
		staying := get(c, s.find(time.Time{}))
		synctest.Wait()
		began := time.Now()
		leave()
		if r := <-second; !errors.Is(r.err, context.Canceled) || time.Since(began) != 0 {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
		want(t, staying, 1)
		want(t, first, 1)
		if took := time.Since(began); took != time.Second {
			t.Errorf("the load ended after %s", took)
		}
	})
}

func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := New[string](Options[int]{Size: 10, Now: time.Now}), newCounter()
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			_, _ = c.Get(context.Background(), "key", func(context.Context) (int, time.Time, error) {
				s.begun <- struct{}{}
				<-s.results
				panic("oh")
			})
		}()
		<-s.begun
		waiting := get(c, s.find(time.Time{}))
		synctest.Wait()
		s.results <- result{}
		if p := <-panicked; p != "oh" {
			t.Errorf("recovered %v", p)
		}
		if r := <-waiting; !errors.Is(r.err, errAbandoned) {
			t.Errorf("%+v", r)
		}
		want(t, get(c, always(1, time.Time{})), 1)
	})
}

func TestTogether(t *testing.T) {
	t.Parallel()
	c := New[int](Options[int]{Size: 8, Now: time.Now, Stale: time.Millisecond, Minor: func(v int) bool { return v%2 == 1 }})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				key := (g + i) % 16
				got, err := c.Get(t.Context(), key, always(key, time.Now().Add(time.Millisecond)))
				if err != nil || got != key {
					t.Errorf("key %d: %d, %v", key, got, err)
				}
				if i%50 == g {
					c.Forget()
				}
				c.Last(key)
			}
		})
	}
	wg.Wait()
}

func BenchmarkGetKept(b *testing.B) {
	c := New[string](Options[int]{Size: 8, Now: time.Now})
	find := always(1, time.Now().Add(time.Hour))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Get(context.Background(), "key", find); err != nil {
				b.Error(err)
			}
		}
	})
}
