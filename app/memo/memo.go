// Package memo keeps values in memory that take long to load.
//
// A Cache loads each value once, however many callers ask for it at the same time. It
// is bounded, and every value has an expiry. Its content belongs to an epoch: after
// Forget, callers get neither what was kept before nor the result of a load that began
// before, so they never see what the forgetting was for.
package memo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultTimeout bounds a load if Options.Timeout is 0.
const defaultTimeout = 5 * time.Second

// errAbandoned is what waiting callers get if a load panics.
var errAbandoned = errors.New("memo: the load ended without a result")

// Options are the settings of a Cache. Size and Now are required.
type Options[V any] struct {
	// Size is how many values are kept. The least recently used are dropped first.
	Size int
	Now  func() time.Time
	// Stale is how long after its expiry a value is still returned while another caller
	// loads the next one.
	Stale time.Duration
	// Timeout bounds one load; 0 is 5 s. A load isn't cut short when its caller leaves,
	// because others may be waiting for it.
	Timeout time.Duration
	// Epoch, if not nil, is a counter that moves when everything kept must be forgotten,
	// besides Forget.
	Epoch func() uint64
	// Minor, if not nil, reports values that are kept apart, up to Size as well, so that
	// a flood of them can't push out the others.
	Minor func(V) bool
}

// A Cache keeps values by their keys. Its methods are safe for concurrent use.
type Cache[K comparable, V any] struct {
	options Options[V]
	forgets atomic.Uint64

	mu    sync.Mutex // held while a value is kept or a load begins or ends
	kept  [2]*lru.Cache[K, entry[V]]
	loads map[loadKey[K]]*load[V]
}

type entry[V any] struct {
	value V
	until time.Time
	epoch uint64
}

type loadKey[K comparable] struct {
	key   K
	epoch uint64
}

// load is a load under way.
type load[V any] struct {
	done  chan struct{} // closed at its end, when value and err are set
	value V
	err   error
}

// New returns an empty cache. It panics if the size is below 1.
func New[K comparable, V any](o Options[V]) *Cache[K, V] {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	c := &Cache[K, V]{options: o, loads: map[loadKey[K]]*load[V]{}}
	for i := range c.kept {
		kept, err := lru.New[K, entry[V]](o.Size)
		if err != nil {
			panic(err)
		}
		c.kept[i] = kept
	}
	return c
}

// Get returns the value of a key. If none is kept that hasn't expired, it calls find, or
// waits for the caller that is doing so. find returns the value and its expiry; a value
// with the zero expiry isn't kept, but goes to every caller that waits for it. An error
// goes to all of them too, unless it is Private. find runs in the caller's goroutine; its
// context has the values of ctx and the cache's timeout. Callers that wait return early if ctx
// ends.
func (c *Cache[K, V]) Get(ctx context.Context, key K, find func(context.Context) (V, time.Time, error)) (V, error) {
	for {
		at := loadKey[K]{key, c.epoch()}
		kept, ok := c.find(at)
		if ok && c.options.Now().Before(kept.until) {
			return kept.value, nil
		}
		l, mine := c.begin(at)
		if mine {
			return c.run(ctx, at, l, find)
		}
		if ok && c.options.Now().Before(kept.until.Add(c.options.Stale)) {
			return kept.value, nil
		}
		select {
		case <-l.done:
			if !IsPrivate(l.err) {
				return l.value, l.err
			}
		case <-ctx.Done():
			var zero V
			return zero, ctx.Err()
		}
	}
}

// Last returns the value that is kept for a key, whether or not it has expired.
func (c *Cache[K, V]) Last(key K) (V, bool) {
	kept, ok := c.find(loadKey[K]{key, c.epoch()})
	return kept.value, ok
}

// Forget drops every value, and those of loads under way when they end. It doesn't wait
// for them.
func (c *Cache[K, V]) Forget() {
	c.forgets.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kept := range c.kept {
		kept.Purge()
	}
}

func (c *Cache[K, V]) epoch() uint64 {
	epoch := c.forgets.Load()
	if c.options.Epoch != nil {
		epoch += c.options.Epoch()
	}
	return epoch
}

// find returns the entry of a key in an epoch.
func (c *Cache[K, V]) find(at loadKey[K]) (entry[V], bool) {
	for _, kept := range c.kept {
		if e, ok := kept.Get(at.key); ok && e.epoch == at.epoch {
			return e, true
		}
	}
	return entry[V]{}, false
}

// begin returns the load of a key, and whether the caller is the one to run it.
func (c *Cache[K, V]) begin(at loadKey[K]) (l *load[V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.loads[at]; ok {
		return l, false
	}
	l = &load[V]{done: make(chan struct{}), err: errAbandoned}
	c.loads[at] = l
	return l, true
}

func (c *Cache[K, V]) run(
	ctx context.Context, at loadKey[K], l *load[V], find func(context.Context) (V, time.Time, error),
) (V, error) {
	defer c.end(at, l)
	// Another load may have ended between the look and begin.
	if kept, ok := c.find(at); ok && c.options.Now().Before(kept.until) {
		l.value, l.err = kept.value, nil
		return l.value, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
	defer cancel()
	var until time.Time
	l.value, until, l.err = find(ctx)
	if l.err == nil && !until.IsZero() {
		c.keep(at, l.value, until)
	}
	return l.value, l.err
}

func (c *Cache[K, V]) end(at loadKey[K], l *load[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loads, at)
	close(l.done)
}

func (c *Cache[K, V]) keep(at loadKey[K], value V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.epoch != c.epoch() {
		return
	}
	place, other := c.kept[0], c.kept[1]
	if c.options.Minor != nil && c.options.Minor(value) {
		place, other = other, place
	}
	other.Remove(at.key)
	place.Add(at.key, entry[V]{value, until, at.epoch})
}
