package answer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/memo"
)

const (
	// maxAge is how long a copy is good at most.
	maxAge = 5 * time.Second
	// lateness is how long after it was last good a copy is served while the next is made.
	lateness = 100 * time.Millisecond
	// loadTimeout bounds one load.
	loadTimeout = 5 * time.Second
	// lastGoodFor is how old a copy may be that is served because no other can be made.
	lastGoodFor = 24 * time.Hour
)

// errAbandoned is what waiting callers get if a load panics.
var errAbandoned = errors.New("answer: the load ended without a result")

// A Query identifies an answer and what it depends on.
type Query struct {
	// Key is comparable. Its type names the operation, its fields are the parameters in
	// their canonical form.
	Key any
	// KeySize is about how many bytes the key takes.
	KeySize int
	Topics  []generation.Topic
	// Current makes the answer one that is good now, never the one before.
	Current bool
}

// Options are the settings of a Cache; all are required.
type Options struct {
	// Side returns where to read and where the topics stand there, as generation.Watcher.Side.
	Side func(current bool) generation.Side
	Now  func() time.Time
}

// A Cache keeps answers. Its methods are safe for concurrent use.
type Cache struct {
	options Options

	mu    sync.Mutex
	kept  store
	loads map[loadKey]*load
}

// loadKey is a question at a moment. Callers who come after a topic has moved don't share
// the load of those who came before, nor do callers that need an exact one share another.
type loadKey struct {
	key   any
	stamp generation.Stamp
	exact bool
}

// load is a load under way.
type load struct {
	done   chan struct{} // closed at its end, when answer and err are set
	answer *Answer
	err    error
}

// NewCache returns an empty cache.
func NewCache(o Options) *Cache {
	return &Cache{options: o, kept: newStore(), loads: map[loadKey]*load{}}
}

// Find returns the copy that is kept, nil if there is none or it isn't good.
func (c *Cache) Find(q *Query) *Answer {
	side, now := c.options.Side(q.Current), c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(q, &side, now)
}

func (c *Cache) find(q *Query, side *generation.Side, now time.Time) *Answer {
	e := c.kept.get(q.Key)
	if e == nil || !e.goodFor(q, side) || now.Sub(e.madeAt) >= maxAge {
		return nil
	}
	e.goodAt = now
	return e.answer
}

// LastGood returns the last copy that was made and when, for a caller that can't have a new
// one; nil if none is kept, or a text was hidden since.
func (c *Cache) LastGood(q *Query) (*Answer, time.Time) {
	side, now := c.options.Side(q.Current), c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept.get(q.Key)
	if e == nil || !e.showsTexts(&side) || now.Sub(e.madeAt) >= lastGoodFor {
		return nil, time.Time{}
	}
	return e.answer, e.madeAt
}

// Load returns the copy that is kept, or makes one. One caller runs produce, and the
// others that ask meanwhile get what it returns: errors too, which aren't kept, unless they are
// memo.Private. The context
// of produce has the values of ctx and its own timeout. Callers that wait return early if
// ctx ends.
func (c *Cache) Load(ctx context.Context, q *Query, produce func(context.Context) (*Answer, error)) (*Answer, error) {
	for {
		side, now := c.options.Side(q.Current), c.options.Now() // before the first query
		kept, l, mine := c.begin(q, &side, now)
		if kept != nil {
			return kept, nil
		}
		if mine {
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

// begin returns a copy to serve, or else the load to wait for and whether it is the caller's
// to run.
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
		return nil, l, true
	}
	if e := c.kept.get(q.Key); e != nil && !q.Current && e.showsTexts(side) && now.Sub(e.goodAt) < lateness {
		return e.answer, nil, false
	}
	return nil, l, false
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
	return l.answer, l.err
}

func keyOf(q *Query, side *generation.Side) loadKey {
	return loadKey{q.Key, masked(side.Stamp, q.Topics), side.Exact}
}

// masked returns the stamp of some topics alone.
func masked(stamp *generation.Stamp, list []generation.Topic) (out generation.Stamp) {
	for _, topic := range list {
		out[topic] = stamp[topic]
	}
	return out
}
