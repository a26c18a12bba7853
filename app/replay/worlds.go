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
	// openWorlds is how many worlds are open at a time. Each has a service in memory and a dozen
	// files open.
	openWorlds = 16
	// building is how many are made at a time.
	building = 2
	// buildTimeout bounds making one.
	buildTimeout = 2 * time.Minute
)

// worlds keeps the worlds that were used last open. Its methods are safe for concurrent use.
type worlds struct {
	open   func(ctx context.Context, run *Run, at time.Time) (*world, error)
	log    *slog.Logger
	most   int
	places chan struct{} // of those that are made

	mu    sync.Mutex
	found map[worldKey]*openWorld
	uses  uint64
	freed chan struct{} // closed and replaced when a world falls idle
}

type worldKey struct {
	run string
	at  time.Time
}

// openWorld is a world that is open, or about to be.
type openWorld struct {
	ready chan struct{} // closed when world and err are set
	world *world
	err   error

	users int    // requests that use it, and the one that makes it
	used  uint64 // the number of its last use
}

func newWorlds(open func(context.Context, *Run, time.Time) (*world, error), log *slog.Logger) *worlds {
	return &worlds{
		open: open, log: log, most: openWorlds, places: make(chan struct{}, building), found: map[worldKey]*openWorld{},
		freed: make(chan struct{}),
	}
}

// acquire returns the world of a run at a moment. One caller makes it, however many come
// together. It stays open until release.
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

// enter finds a world, or a place for it. mine says that the caller is to make it.
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
		o.users++ // make leaves it
	}
	o.users++
	ws.uses++
	o.used = ws.uses
	return o, mine, nil
}

// closeOldest closes the idle world that was used longest ago. It reports false if none is idle.
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
		ws.log.Warn("a world was not closed well", "run", o.world.run.ID, "at", writeMoment(o.world.at), "error", err)
	}
}

// make builds a world. It goes on when its callers leave: others may wait for it.
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
		delete(ws.found, key) // the next caller tries again
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

// closeAll closes all worlds. Nothing may use one any longer.
func (ws *worlds) closeAll() error {
	ws.mu.Lock()
	open := slices.Collect(maps.Values(ws.found))
	ws.mu.Unlock()
	var errs []error
	for _, o := range open {
		<-o.ready // make may need the lock until then
		if o.err == nil {
			errs = append(errs, o.world.close())
		}
	}
	return errors.Join(errs...)
}
