package answer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/generation"
)

var (
	topics = []generation.Topic{generation.Predictions, generation.Texts}
	bounds = Bounds{Main: 1 << 20, Once: 1 << 20, Again: 2 << 20}
)

// world is a cache with a clock and topics that a test moves.
type world struct {
	*Cache
	t     *testing.T
	mu    sync.Mutex
	stamp generation.Stamp
	now   time.Time
	made  atomic.Int64
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	w.Cache = NewCache(Options{
		Side: func(bool) generation.Side {
			w.mu.Lock()
			defer w.mu.Unlock()
			stamp := w.stamp
			return generation.Side{Stamp: &stamp, Primary: &stamp, Exact: true}
		},
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.now
		},
		Bounds: bounds,
		Log:    slog.New(slog.DiscardHandler),
	})
	return w
}

func (w *world) move(topic generation.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamp[topic]++
}

func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// ask returns the body under a key, which is the number of loads at the time it was made.
func (w *world) ask(key any) string {
	w.t.Helper()
	q := &Query{Key: key, Topics: topics}
	if a := w.Find(q); a != nil {
		return string(a.Form(Identity).Body)
	}
	a, err := w.Load(w.t.Context(), q, func(context.Context) (*Answer, error) {
		n := w.made.Add(1)
		return New([]byte(fmt.Sprint(n)), fmt.Sprint(n)), nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(a.Form(Identity).Body)
}

func TestCopyIsGoodWhileItsTopicsStand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, step := range []struct {
		change func()
		key    any
		want   string
	}{
		{func() {}, "a", "1"},
		{func() {}, "a", "1"},
		{func() {}, "b", "2"},
		{func() { w.move(generation.Boards) }, "a", "1"},
		{func() { w.wait(maxAge - 1) }, "a", "1"},
		{func() { w.wait(1) }, "a", "3"},
		{func() { w.move(generation.Predictions) }, "a", "4"},
		{func() { w.move(generation.Texts) }, "a", "5"},
		{func() {}, "a", "5"},
	} {
		step.change()
		if got := w.ask(step.key); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// hold starts a load. It ends when end is called with its result.
func (w *world) hold(q *Query) (end func(a *Answer, err error), result func() (*Answer, error)) {
	type outcome struct {
		a   *Answer
		err error
	}
	begun, finish, out := make(chan struct{}), make(chan outcome), make(chan outcome, 1)
	go func() {
		a, err := w.Load(context.Background(), q, func(context.Context) (*Answer, error) {
			close(begun)
			o := <-finish
			return o.a, o.err
		})
		out <- outcome{a, err}
	}()
	<-begun
	return func(a *Answer, err error) { finish <- outcome{a, err} }, func() (*Answer, error) {
		o := <-out
		return o.a, o.err
	}
}

func fail(t *testing.T) func(context.Context) (*Answer, error) {
	return func(context.Context) (*Answer, error) {
		t.Error("loaded twice")
		return nil, errors.New("loaded twice")
	}
}

func TestMissesShareOneLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q := &Query{Key: "a", Topics: topics}
	end, result := w.hold(q)
	var wg sync.WaitGroup
	var same atomic.Int64
	made := New([]byte("x"), "x")
	for range 100 {
		wg.Go(func() {
			if a, err := w.Load(t.Context(), q, fail(t)); err == nil && a == made {
				same.Add(1)
			}
		})
	}
	end(made, nil)
	wg.Wait()
	if a, err := result(); a != made || err != nil || same.Load() != 100 {
		t.Errorf("%v, %v, shared by %d", a, err, same.Load())
	}
}

// TestLoadsBeforeAMove checks that callers after a topic has moved neither share a load that began
// before nor get its result from the cache.
func TestLoadsBeforeAMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	end, result := w.hold(&Query{Key: "a", Topics: topics})
	w.move(generation.Predictions)
	w.wait(time.Millisecond)
	if got := w.ask("a"); got != "1" {
		t.Errorf("after the move: %s", got)
	}
	end(New([]byte("old"), "old"), nil)
	if a, err := result(); err != nil || string(a.Form(Identity).Body) != "old" {
		t.Errorf("%v %v", a, err)
	}
	if got := w.ask("a"); got != "1" {
		t.Errorf("the older copy replaced the newer: %s", got)
	}
}

// previousCopies say whether the previous copy is served after a topic has moved.
var previousCopies = map[string]struct {
	topic   generation.Topic
	later   time.Duration // since the previous copy was good
	current bool          // the caller needs the current copy
	served  bool
}{
	"another's change": {generation.Predictions, lateness - 1, false, true},
	"too late":         {generation.Predictions, lateness, false, false},
	"own change":       {generation.Predictions, 0, true, false},
	"hidden text":      {generation.Texts, 0, false, false},
}

// TestCopyBefore checks that other callers get the previous copy while a new one is made, if it was
// good a moment ago. They don't if a text was hidden or if they need the current one.
func TestCopyBefore(t *testing.T) {
	t.Parallel()
	for name, c := range previousCopies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("a")
			w.wait(time.Second)
			w.ask("a") // the copy is still good a second after it was made
			w.move(c.topic)
			w.wait(c.later)
			end, result := w.hold(&Query{Key: "a", Topics: topics})
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a caller that has to wait returns immediately
			a, err := w.Load(ctx, &Query{Key: "a", Topics: topics, Current: c.current}, fail(t))
			if c.served && (err != nil || string(a.Form(Identity).Body) != "1") || !c.served && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v", a, err)
			}
			end(New(nil, ""), nil)
			if _, err := result(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBackground checks that no caller waits for a new copy if the previous one was good a moment ago. In the
// other cases the caller waits.
func TestBackground(t *testing.T) {
	t.Parallel()
	for name, c := range previousCopies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("a")
			w.move(c.topic)
			w.wait(c.later)
			q := &Query{Key: "a", Topics: topics, Background: true, Current: c.current}
			returned, made := make(chan struct{}), make(chan struct{})
			a, err := w.Load(t.Context(), q, func(context.Context) (*Answer, error) {
				defer close(made)
				if c.served {
					<-returned
				}
				return New([]byte("new"), "new"), nil
			})
			close(returned)
			if want := map[bool]string{true: "1", false: "new"}[c.served]; err != nil || string(a.Form(Identity).Body) != want {
				t.Errorf("got %v, %v, want %q", a, err, want)
			}
			<-made
			again := *q
			again.Background = false // waits for the load if it is still ending
			if a, err = w.Load(t.Context(), &again, fail(t)); err != nil || string(a.Form(Identity).Body) != "new" {
				t.Errorf("afterwards: %v, %v", a, err)
			}
		})
	}
}

// TestBackgroundFails checks that a load in the background that fails or panics is repeated.
func TestBackgroundFails(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() (*Answer, error){
		"error": func() (*Answer, error) { return nil, errors.New("broken") },
		"panic": func() (*Answer, error) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("a")
			w.move(generation.Predictions)
			q := &Query{Key: "a", Topics: topics, Background: true}
			done := make(chan struct{})
			a, err := w.Load(t.Context(), q, func(context.Context) (*Answer, error) {
				defer close(done)
				return end()
			})
			if err != nil || string(a.Form(Identity).Body) != "1" {
				t.Errorf("got %v, %v", a, err)
			}
			<-done
			for w.loading() {
				runtime.Gosched()
			}
			w.wait(lateness)
			if got := w.ask("a"); got != "2" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// loading reports whether a load is running.
func (w *world) loading() bool {
	w.Cache.mu.Lock()
	defer w.Cache.mu.Unlock()
	return len(w.loads) > 0
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := errors.New("broken")
	if _, err := w.Load(t.Context(), &Query{Key: "a", Topics: topics}, func(context.Context) (*Answer, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = w.Load(t.Context(), &Query{Key: "a", Topics: topics}, func(context.Context) (*Answer, error) { panic("broken") })
	}()
	if got := w.ask("a"); got != "1" || w.kept.parts[once].Len() != 1 {
		t.Errorf("%s, %d copies", got, w.kept.parts[once].Len())
	}
}

// TestBounds checks that many different queries take bounded memory, and that they evict neither an
// answer that was requested more than once nor a main one, even if each of them is requested again.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	load := func(key any, body []byte, isMain bool) *Answer {
		a, err := w.Load(t.Context(), &Query{Key: key, KeySize: 10, Topics: topics, Main: isMain}, func(context.Context) (*Answer, error) { return New(body, "x"), nil })
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	random := func() []byte { // can't be compressed
		body := make([]byte, 30<<10)
		_, _ = rand.Read(body)
		return body
	}
	load("main", nil, true)
	w.ask("often")
	w.ask("often")
	for i := range 500 {
		load(i, random(), false).Form(Brotli)
	}
	for i := range 5000 {
		load(-1-i, nil, false)
	}
	if got := w.ask("often"); got != "1" {
		t.Errorf("many queries evicted a popular answer: %s", got)
	}
	for i := range 500 {
		load(i, random(), false)
		load(i, nil, false).Form(Gzip)
		load(i, nil, false)
	}
	load("large", make([]byte, maxBody+1), false)
	for i, part := range w.kept.parts {
		sum := 0
		for _, e := range part.Values() {
			sum += e.size
			if missing := e.count() - e.size; missing > 0 && i != once {
				t.Errorf("part %d: %d bytes of a copy aren't counted", i, missing)
			}
		}
		if w.kept.bytes[i] > w.kept.bounds[i] || sum != w.kept.bytes[i] || part.Len() == 0 {
			t.Errorf("part %d: %d copies, %d bytes, counted %d", i, part.Len(), w.kept.bytes[i], sum)
		}
	}
	if w.Find(&Query{Key: "main", Topics: topics}) == nil {
		t.Error("other queries evicted a main answer")
	}
	if w.Find(&Query{Key: "large", Topics: topics}) != nil {
		t.Error("a body above the bound is kept")
	}
	if len(w.Cache.loads) != 0 {
		t.Errorf("%d loads are left", len(w.Cache.loads))
	}
}

// TestFreshAndLate checks a query and a cache that set how long a copy is good and how much longer
// it is served while a new one is made.
func TestFreshAndLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Cache.options.Late = time.Minute
	q := &Query{Key: "a", Topics: topics, Fresh: time.Hour}
	w.ask("a")
	w.wait(time.Hour - 1)
	if w.Find(q) == nil {
		t.Error("the copy isn't good until Fresh")
	}
	w.wait(time.Minute)
	if w.Find(q) != nil {
		t.Error("the copy is good after Fresh")
	}
	end, _ := w.hold(q)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a caller that has to wait returns immediately
	if a, err := w.Load(ctx, q, fail(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a minute after the copy was good: %v, %v", a, err)
	}
	w.wait(-1)
	if _, err := w.Load(ctx, q, fail(t)); err != nil {
		t.Errorf("within Late: %v", err)
	}
	end(New(nil, ""), nil)
}

func TestFindAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	w.Cache.options.Side = func(bool) generation.Side {
		return generation.Side{Stamp: &w.stamp, Primary: &w.stamp, Exact: true}
	}
	w.ask("a")
	q := &Query{Key: "a", Topics: topics}
	for _, coding := range append(slices.Clone(Codings), Identity) {
		if n := testing.AllocsPerRun(1000, func() { w.Find(q).Form(coding) }); n != 0 {
			t.Errorf("%q: %v allocations", coding, n)
		}
	}
}

// TestLastGood checks that LastGood returns a copy that is no longer good, unless it is too old or
// a text was hidden since.
func TestLastGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"nothing changed": {func(*world) {}, "1"},
		"a topic moved":   {func(w *world) { w.move(generation.Predictions) }, "1"},
		"old":             {func(w *world) { w.wait(lastGoodFor - 1) }, "1"},
		"too old":         {func(w *world) { w.wait(lastGoodFor) }, ""},
		"hidden text":     {func(w *world) { w.move(generation.Texts) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			madeAt := w.now
			w.ask("a")
			c.change(w)
			got := ""
			last, at := w.LastGood(&Query{Key: "a", Topics: topics})
			if last != nil {
				got = string(last.Form(Identity).Body)
			}
			if got != c.want || last != nil && !at.Equal(madeAt) {
				t.Errorf("got %q of %s, want %q of %s", got, at, c.want, madeAt)
			}
		})
	}
	w := newWorld(t)
	if last, _ := w.LastGood(&Query{Key: "never asked", Topics: topics}); last != nil {
		t.Error("got a copy for a query that was never made")
	}
}

// TestCopiesOfAReplica checks that copies read from a replica that is behind are served to the
// public while its topics don't move, and never to a caller that needs the current answer.
func TestCopiesOfAReplica(t *testing.T) {
	t.Parallel()
	var primary, replica generation.Stamp
	behind := true
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c := NewCache(Options{
		Side: func(current bool) generation.Side {
			p, r := primary, replica
			if current || !behind {
				return generation.Side{Stamp: &p, Primary: &p, Exact: true}
			}
			return generation.Side{Stamp: &r, Primary: &p}
		},
		Now: func() time.Time { return now }, Bounds: bounds,
	})
	made := 0
	ask := func(current bool) string {
		now = now.Add(time.Millisecond)
		q := &Query{Key: "a", Topics: topics, Current: current}
		if a := c.Find(q); a != nil {
			return string(a.Form(Identity).Body)
		}
		a, err := c.Load(t.Context(), q, func(context.Context) (*Answer, error) {
			made++
			return New([]byte(fmt.Sprint(made)), fmt.Sprint(made)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Form(Identity).Body)
	}
	for i, step := range []struct {
		change  func()
		current bool
		want    string
	}{
		{func() {}, false, "1"},
		{func() {}, false, "1"},
		{func() {}, true, "2"},  // the stamps are equal, but the copy isn't exact
		{func() {}, false, "2"}, // an exact copy is good for every caller
		{func() { primary[generation.Predictions]++ }, false, "2"}, // still good at the replica's values
		{func() {}, true, "3"},
		{func() {}, false, "3"}, // the exact copy is newer than the replica, and good
		{func() { primary[generation.Predictions]++ }, false, "4"},
		{func() {}, false, "4"},
		{func() { replica = primary }, false, "5"},
		{func() { behind = false }, true, "6"},
		{func() {}, false, "6"},
	} {
		step.change()
		if got := ask(step.current); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}
