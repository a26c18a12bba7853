// Package memo caches values that are slow to load.
//
// A Cache loads each value once, however many callers request it at the same time. It is bounded,
// and every value has an expiry. Values and loads belong to an epoch, and Forget begins a new one.
// So callers after Forget get neither a value kept before nor the result of a load that began
// before.
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

// errAbandoned is returned to waiting callers if a load panics.
var errAbandoned = errors.New("memo: the load ended without a result")

// Options are the settings of a Cache. Size and Now are required.
type Options[V any] struct {
	// Size is the most values that are kept, at least 1. The least recently used are dropped first.
	Size int
	Now  func() time.Time
	// Stale is the time after its expiry for which a value is still returned while another caller
	// loads a new one.
	Stale time.Duration
	// Timeout bounds one load; 0 means 5 s. A load continues if its caller's context ends, because
	// other callers may be waiting for it.
	Timeout time.Duration
	// Epoch, if not nil, returns a counter. When it changes, all values are forgotten, as after
	// Forget, except those that Holds keeps.
	Epoch func() uint64
	// Holds, if not nil, reports whether a value is still good if Epoch was epoch when its load began.
	Holds func(value V, epoch uint64) bool
	// Minor, if not nil, reports minor values. They are kept apart, also up to Size, so that many
	// of them can't evict the other values.
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
	era   era
}

type loadKey[K comparable] struct {
	key K
	era era
}

// era says how often values were forgotten.
type era struct{ forgets, epoch uint64 }

// load is a running load.
type load[V any] struct {
	done  chan struct{} // closed at the end, after value and err are set
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

// Get returns the value of a key. If there is no unexpired value, it calls find, or waits for
// another caller that is running find.
//
// find returns the value and its expiry. A value with a zero expiry isn't kept, but every waiting
// caller gets it. They also get an error, unless it is Private. find runs in the caller's
// goroutine. Its context has the values of ctx, but the timeout of the cache in place of ctx's end.
// A waiting caller returns early if ctx ends.
func (c *Cache[K, V]) Get(ctx context.Context, key K, find func(context.Context) (V, time.Time, error)) (V, error) {
	for {
		at := loadKey[K]{key, c.era()}
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

// Last returns the kept value of a key, even if it has expired, and false if there is none.
func (c *Cache[K, V]) Last(key K) (V, bool) {
	kept, ok := c.find(loadKey[K]{key, c.era()})
	return kept.value, ok
}

// Kept is like Last, but also returns values of earlier epochs. After Forget it returns false.
func (c *Cache[K, V]) Kept(key K) (V, bool) {
	for _, kept := range c.kept {
		if e, ok := kept.Get(key); ok {
			return e.value, true
		}
	}
	var zero V
	return zero, false
}

// Forget drops every value, and lets no running load keep its result. It doesn't wait for these
// loads.
func (c *Cache[K, V]) Forget() {
	c.forgets.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kept := range c.kept {
		kept.Purge()
	}
}

func (c *Cache[K, V]) era() era {
	now := era{forgets: c.forgets.Load()}
	if c.options.Epoch != nil {
		now.epoch = c.options.Epoch()
	}
	return now
}

// holds reports whether a value whose load began in the era from is good in the era now.
func (c *Cache[K, V]) holds(value V, from, now era) bool {
	return from == now || from.forgets == now.forgets && c.options.Holds != nil && c.options.Holds(value, from.epoch)
}

// find returns the entry of a key that is good in an era.
func (c *Cache[K, V]) find(at loadKey[K]) (entry[V], bool) {
	for _, kept := range c.kept {
		if e, ok := kept.Get(at.key); ok && c.holds(e.value, e.era, at.era) {
			return e, true
		}
	}
	return entry[V]{}, false
}

// begin returns the load of a key. mine reports whether the caller must run it; otherwise the
// caller waits.
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
	// Another load may have ended between the caller's find and begin.
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
	if !c.holds(value, at.era, c.era()) {
		return
	}
	place, other := c.kept[0], c.kept[1]
	if c.options.Minor != nil && c.options.Minor(value) {
		place, other = other, place
	}
	other.Remove(at.key)
	place.Add(at.key, entry[V]{value, until, at.era})
}
