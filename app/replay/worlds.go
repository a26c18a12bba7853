package replay

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
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
	log    *slog.Logger
	most   int
	places chan struct{} // one for each world being built

	mu    sync.Mutex
	found map[worldKey]*openWorld
	uses  uint64
	freed chan struct{} // closed and replaced when a world becomes idle
}

type worldKey struct {
	run string
	at  time.Time
}

// openWorld is a world that is open or being built.
type openWorld struct {
	ready chan struct{} // closed when world and err are set
	world *world
	err   error

	users int    // requests that use it, and its builder
	used  uint64 // order of its last use
}

func newWorlds(open func(context.Context, *Run, time.Time) (*world, error), log *slog.Logger) *worlds {
	return &worlds{
		open: open, log: log, most: openWorlds, places: make(chan struct{}, building), found: map[worldKey]*openWorld{},
		freed: make(chan struct{}),
	}
}

// acquire returns the world of a run at a moment. If several callers ask for a new world, it is
// built once. The world stays open until release is called.
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
		err = o.err
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

// enter returns the entry of a world, and waits for a place if necessary. If mine is true, the
// caller must build the world.
func (ws *worlds) enter(ctx context.Context, key worldKey) (o *openWorld, mine bool, err error) {
	for {
		o, mine, freed := ws.tryEnter(key)
		if o != nil {
			return o, mine, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (ws *worlds) tryEnter(key worldKey) (o *openWorld, mine bool, freed chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if o = ws.found[key]; o == nil {
		if len(ws.found) >= ws.most && !ws.closeOldest() {
			return nil, false, ws.freed
		}
		o, mine = &openWorld{ready: make(chan struct{})}, true
		ws.found[key] = o
		o.users++ // make leaves it when it is done
	}
	o.users++
	ws.uses++
	o.used = ws.uses
	return o, mine, nil
}

// closeOldest closes the least recently used idle world. It reports false if no world is idle.
func (ws *worlds) closeOldest() bool {
	var oldest worldKey
	var out *openWorld
	for key, o := range ws.found {
		if o.users == 0 && (out == nil || o.used < out.used) {
			oldest, out = key, o
		}
	}
	if out == nil {
		return false
	}
	delete(ws.found, oldest)
	ws.close(out)
	return true
}

func (ws *worlds) close(o *openWorld) {
	if err := o.world.close(); err != nil {
		ws.log.Warn("closing a world failed", "run", o.world.run.ID, "at", writeMoment(o.world.at), "error", err)
	}
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
		close(ws.freed)
		ws.freed = make(chan struct{})
	}
}

// closeAll closes all worlds. No world may be used afterwards.
func (ws *worlds) closeAll() error {
	ws.mu.Lock()
	open := slices.Collect(maps.Values(ws.found))
	ws.mu.Unlock()
	var errs []error
	for _, o := range open {
		<-o.ready // without holding the lock, which make may need
		if o.err == nil {
			errs = append(errs, o.world.close())
		}
	}
	return errors.Join(errs...)
}
