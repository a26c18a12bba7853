package replay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// openWorlds is the maximum number of open worlds. Each has a service in memory and about a
	// dozen open files.
	openWorlds = 16
	// building is the maximum number of worlds built at the same time.
	building = 2
	// buildTimeout is the maximum time for building one.
	buildTimeout = 2 * time.Minute
)

// worlds keeps the most recently used worlds open. Its methods are safe for concurrent use.
type worlds struct {
	open   func(ctx context.Context, run *Run, at time.Time) (*world, error)
	shut   func(*world) error
	log    *slog.Logger
	most   int
	places chan struct{} // one for each world being built

	mu    sync.Mutex
	found map[worldKey]*openWorld
	uses  uint64
	freed chan struct{} // closed and replaced when a world becomes idle or is closed
	ended bool          // set by closeAll
}

type worldKey struct {
	run string
	at  time.Time
}

// openWorld is a world that is open, being built or being closed.
type openWorld struct {
	key   worldKey
	ready chan struct{} // closed when world and err are set
	world *world
	err   error

	users int    // requests that use it, and its builder
	used  uint64 // order of its last use

	closed chan struct{} // nil unless the world is being closed; closed when that is done
}

func newWorlds(open func(context.Context, *Run, time.Time) (*world, error), log *slog.Logger) *worlds {
	return &worlds{
		open: open, shut: (*world).close, log: log, most: openWorlds, places: make(chan struct{}, building), found: map[worldKey]*openWorld{},
		freed: make(chan struct{}),
	}
}

// acquire returns the world of a run at a moment. If several callers ask for a new world, it is
// built once. The world stays open until release or closeAll is called. After closeAll, acquire returns 503
// unavailable.
func (ws *worlds) acquire(ctx context.Context, run *Run, at time.Time) (w *world, release func(), err error) {
	key := worldKey{run.ID, at}
	o, mine, err := ws.enter(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if mine {
		go ws.make(key, o, run)
	}
	select {
	case <-o.ready:
		err = ws.usable(o)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		err = o.world.takeKeys(ctx, run)
	}
	if err != nil {
		ws.leave(o)
		return nil, nil, err
	}
	return o.world, func() { ws.leave(o) }, nil
}

// usable returns the reason why a built world can't be used, or nil.
func (ws *worlds) usable(o *openWorld) error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended {
		return stopping()
	}
	return o.err
}

func stopping() error {
	return problem.Unavailable("This server is stopping. Send the same request again.", time.Second)
}

// enter returns the entry of a world, and waits for a place if necessary. If mine is true, the
// caller must build the world.
func (ws *worlds) enter(ctx context.Context, key worldKey) (o *openWorld, mine bool, err error) {
	for {
		o, mine, idle, freed, err := ws.tryEnter(key)
		if o != nil || err != nil {
			return o, mine, err
		}
		if idle != nil {
			ws.close(idle)
			continue
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// tryEnter returns no entry if there is no place. If idle isn't nil, closing it makes a place. tryEnter also
// returns no entry if the world is being closed, because a world and its next opening use the same file.
func (ws *worlds) tryEnter(key worldKey) (o *openWorld, mine bool, idle *openWorld, freed chan struct{}, err error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended {
		return nil, false, nil, nil, stopping()
	}
	switch o = ws.found[key]; {
	case o != nil && o.closed != nil:
		return nil, false, nil, ws.freed, nil
	case o == nil && len(ws.found) >= ws.most:
		return nil, false, ws.takeOldest(), ws.freed, nil
	case o == nil:
		o, mine = &openWorld{key: key, ready: make(chan struct{})}, true
		ws.found[key] = o
		o.users++ // make leaves it when it is done
	}
	o.users++
	ws.uses++
	o.used = ws.uses
	return o, mine, nil, nil, nil
}

// takeOldest marks the least recently used idle world as being closed, and returns it. It returns nil if no
// world is idle. The caller holds the lock.
func (ws *worlds) takeOldest() (oldest *openWorld) {
	for _, o := range ws.found {
		if o.users == 0 && o.closed == nil && (oldest == nil || o.used < oldest.used) {
			oldest = o
		}
	}
	if oldest != nil {
		oldest.closed = make(chan struct{})
	}
	return oldest
}

// close closes a world that takeOldest returned. It doesn't hold the lock meanwhile, so that the other worlds
// stay usable.
func (ws *worlds) close(o *openWorld) {
	if err := ws.shut(o.world); err != nil {
		ws.log.Warn("closing a world failed", "run", o.world.run.ID, "at", writeMoment(o.world.at), "error", err)
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.found, o.key)
	close(o.closed)
	ws.free()
}

// make builds a world. It continues even if its callers leave, because others may wait for the
// world.
func (ws *worlds) make(key worldKey, o *openWorld, run *Run) {
	defer ws.leave(o)
	ws.places <- struct{}{}
	defer func() { <-ws.places }()
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	began := time.Now()
	o.world, o.err = ws.open(ctx, run, key.at)
	if o.err != nil {
		ws.mu.Lock()
		delete(ws.found, key) // so that the next caller tries again
		ws.mu.Unlock()
	} else {
		ws.log.Debug("opened a world", "run", run.ID, "at", writeMoment(key.at), "took", time.Since(began))
	}
	close(o.ready)
}

func (ws *worlds) leave(o *openWorld) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if o.users--; o.users == 0 {
		ws.free()
	}
}

// free wakes the callers that wait for a place. The caller holds the lock.
func (ws *worlds) free() {
	close(ws.freed)
	ws.freed = make(chan struct{})
}

// closeAll closes all worlds, and lets none be acquired from now on. It doesn't wait for requests that still use one:
// the server has given them time before.
func (ws *worlds) closeAll() error {
	ws.mu.Lock()
	ws.ended = true
	var mine, others []*openWorld
	for _, o := range ws.found {
		if o.closed != nil {
			others = append(others, o)
			continue
		}
		o.closed = make(chan struct{}) // so that no request closes it too
		mine = append(mine, o)
	}
	ws.free()
	ws.mu.Unlock()
	var errs []error
	for _, o := range mine {
		<-o.ready // without holding the lock, which make may need
		if o.err == nil {
			errs = append(errs, ws.shut(o.world))
		}
		close(o.closed)
	}
	for _, o := range others {
		<-o.closed
	}
	return errors.Join(errs...)
}
