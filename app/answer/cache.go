package answer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/memo"
)

const (
	// maxAge is Query.Fresh if that is 0.
	maxAge = 5 * time.Second
	// lateness is Options.Late if that is 0.
	lateness = 100 * time.Millisecond
	// loadTimeout bounds one load.
	loadTimeout = 5 * time.Second
	// lastGoodFor is the greatest age of a copy that LastGood returns.
	lastGoodFor = 24 * time.Hour
)

// errAbandoned is returned to waiting callers if a load panics.
var errAbandoned = errors.New("answer: the load ended without a result")

// A Query identifies an answer and names the topics that it depends on.
type Query struct {
	// Key must be comparable. Its type identifies the operation, and its fields are the parameters
	// in their canonical form.
	Key any
	// KeySize is the approximate size of the key in bytes.
	KeySize int
	Topics  []generation.Topic
	// Current demands an answer that is good now, and never the previous one.
	Current bool
	// Main marks one of the few answers that most readers request, such as a first page. Other
	// copies never evict it.
	Main bool
	// Background lets Load return the previous copy while it makes a new one, if the previous one was good
	// within the last Options.Late. Then produce runs after Load has returned, so it must not use the request.
	Background bool
	// Fresh is the longest time for which a copy is good; 0 means five seconds.
	Fresh time.Duration
}

// Options are the settings of a Cache. Side, Now and Bounds are required.
type Options struct {
	// Side returns where to read and the values of the topics there, like generation.Watcher.Side.
	Side func(current bool) generation.Side
	Now  func() time.Time
	// Late is the time after a copy was last good for which it is still served while a new one is
	// made; 0 means 100 ms.
	Late   time.Duration
	Bounds Bounds
	// Log gets the panics of loads in the background. It may be nil if no query has Background.
	Log *slog.Logger
}

// Bounds are the most bytes that copies of each kind take, with their compressed forms.
type Bounds struct {
	Main  int // copies of main queries
	Once  int // other copies that were requested once
	Again int // other copies that were requested again
}

// A Cache keeps answers. Its methods are safe for concurrent use.
type Cache struct {
	options Options

	mu    sync.Mutex
	kept  store
	loads map[loadKey]*load
}

// loadKey identifies a load. Callers share a load only if their key, the values of their topics and
// exact are equal. So a caller after a change doesn't share a load that began before the change.
type loadKey struct {
	key   any
	stamp generation.Stamp
	exact bool
}

// load is a running load.
type load struct {
	done   chan struct{} // closed at the end, after answer and err are set
	answer *Answer
	err    error
}

// NewCache returns an empty cache.
func NewCache(o Options) *Cache {
	o.Late = cmp.Or(o.Late, lateness)
	return &Cache{options: o, kept: newStore(o.Bounds), loads: map[loadKey]*load{}}
}

// Find returns the kept copy, or nil if there is none or it isn't good.
func (c *Cache) Find(q *Query) *Answer {
	side, now := c.options.Side(q.Current), c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(q, &side, now)
}

func (c *Cache) find(q *Query, side *generation.Side, now time.Time) *Answer {
	e := c.kept.get(q.Key)
	if e == nil || !e.goodFor(q, side) || now.Sub(e.madeAt) >= cmp.Or(q.Fresh, maxAge) {
		return nil
	}
	e.goodAt = now
	return e.answer
}

// LastGood returns the last copy and the time at which it was made, or its StaleSince, even if the copy is no
// longer good. It is for callers that can't get a new copy. It returns nil if no copy is kept, if it is a day old
// or if a text or an agent was hidden since.
func (c *Cache) LastGood(q *Query) (*Answer, time.Time) {
	side, now := c.options.Side(q.Current), c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept.get(q.Key)
	if e == nil || !e.showsTexts(&side) || now.Sub(e.madeAt) >= lastGoodFor {
		return nil, time.Time{}
	}
	if !e.answer.StaleSince.IsZero() {
		return e.answer, e.answer.StaleSince
	}
	return e.answer, e.madeAt
}

// Load returns the kept copy if it is good, and otherwise makes one. One caller runs produce, which returns a new Answer.
// Callers that arrive in the meantime wait and get its result, or its error unless that is memo.Private. Errors aren't
// kept. With Query.Background, Load may return the previous copy and run produce afterwards. The context of produce ends
// after five seconds instead of with ctx. It has the values of ctx, but none if produce runs in the background. A waiting
// caller returns early if ctx ends.
func (c *Cache) Load(ctx context.Context, q *Query, produce func(context.Context) (*Answer, error)) (*Answer, error) {
	for {
		side, now := c.options.Side(q.Current), c.options.Now() // before the first query
		kept, l, mine := c.begin(q, &side, now)
		switch {
		case mine && kept != nil:
			go c.runInBackground(*q, l, side, now, produce)
			return kept, nil
		case kept != nil:
			return kept, nil
		case mine:
			return c.run(ctx, q, l, side, now, produce)
		}
		select {
		case <-l.done:
			if !memo.IsPrivate(l.err) {
				return l.answer, l.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin returns a copy to serve, if there is one. If mine is true, the caller must run the load. If there is
// neither, the caller waits for the load.
func (c *Cache) begin(q *Query, side *generation.Side, now time.Time) (kept *Answer, l *load, mine bool) {
	at := keyOf(q, side)
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.find(q, side, now); a != nil {
		return a, nil, false
	}
	l, under := c.loads[at]
	if !under {
		l = &load{done: make(chan struct{}), err: errAbandoned}
		c.loads[at] = l
	}
	if !under && !q.Background {
		return nil, l, true
	}
	if e := c.kept.get(q.Key); e != nil && !q.Current && !e.outlived(side) && e.showsTexts(side) && now.Sub(e.goodAt) < c.options.Late {
		kept = e.answer
	}
	return kept, l, !under
}

// runInBackground runs a load whose caller already has the previous copy. It logs a panic, which would end the
// process, and drops an error: once the previous copy is too old, the next caller runs the load itself and gets it.
func (c *Cache) runInBackground(
	q Query, l *load, side generation.Side, now time.Time, produce func(context.Context) (*Answer, error),
) {
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Log.Error("making an answer in the background panicked", "panic", cause, "stack", string(debug.Stack()))
		}
	}()
	_, _ = c.run(context.Background(), &q, l, side, now, produce)
}

func (c *Cache) run(
	ctx context.Context, q *Query, l *load, side generation.Side, now time.Time,
	produce func(context.Context) (*Answer, error),
) (*Answer, error) {
	at := keyOf(q, &side)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.loads, at)
		if l.err == nil {
			c.kept.put(q, &entry{answer: l.answer, stamp: *side.Stamp, exact: side.Exact, madeAt: now, goodAt: now})
		}
		close(l.done)
	}()
	l.err = side.Read(context.WithoutCancel(ctx), func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, loadTimeout)
		defer cancel()
		l.answer, err = produce(ctx)
		return err
	})
	if l.err == nil {
		l.answer.StaleSince = side.StaleSince
	}
	return l.answer, l.err
}

func keyOf(q *Query, side *generation.Side) loadKey {
	return loadKey{q.Key, masked(side.Stamp, q.Topics), side.Exact}
}

// masked returns a stamp with only the values of the topics in list.
func masked(stamp *generation.Stamp, list []generation.Topic) (out generation.Stamp) {
	for _, topic := range list {
		out[topic] = stamp[topic]
	}
	return out
}
