package httpserver

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// streamCheckEvery is the time between two checks whether credentials have changed. streamRecheckEvery
	// is the longest time between two checks of a bearer.
	streamCheckEvery   = 100 * time.Millisecond
	streamRecheckEvery = time.Minute
	// streamRetryEvery is the time between two tries to check bearers that could not be checked.
	streamRetryEvery = 500 * time.Millisecond
	// streamChecks is how many bearers one check of all streams verifies at a time. Each may read the database and
	// wait for the identity provider.
	streamChecks = 16
	// streamTurns is how many streams make parts of their answers at a time, or wait for a place in the lane.
	streamTurns = 2
	// streamRetry is the Retry-After of a refused stream.
	streamRetry = 10 * time.Second
)

// streams are the open streams of this node.
type streams struct {
	places *Places
	turns  chan struct{} // has an element for each stream in its turn

	mu      sync.Mutex
	stopped bool
	open    map[*Stream]struct{}
}

func newStreams(most, mostOfAddress int) *streams {
	return &streams{
		places: NewPlaces(most, mostOfAddress), turns: make(chan struct{}, streamTurns), open: map[*Stream]struct{}{},
	}
}

// enter takes a place, which counts against the address and its /48 also if the request has a key. release gives it
// back.
func (s *streams) enter(addr netip.Addr) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, problem.Unavailable("This node is stopping. Connect again.", time.Second)
	}
	switch release, err = s.places.enter(addrKey(addr), appendBlock(nil, addr)...); {
	case errors.Is(err, ErrShare):
		return nil, problem.RateLimited(fmt.Sprintf(
			"Your address already has the maximum of %d open streams, or its IPv6 /48 has %d. Close one first.",
			s.places.share, BlockShare*s.places.share), streamRetry)
	case err != nil:
		return nil, problem.Busy(fmt.Sprintf(
			"This node already serves the maximum of %d streams. Try again, or poll GET /api/agents/me/updates.", s.places.most), streamRetry)
	}
	return release, nil
}

// add registers a stream, so that stop closes it. It returns false after stop.
func (s *streams) add(stream *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.open[stream] = struct{}{}
	release := stream.release
	stream.release = func() { s.remove(stream); release() }
	return true
}

func (s *streams) remove(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, stream)
}

func (s *streams) all() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// byBearer returns the open streams by bearer, without those of anonymous readers.
func (s *streams) byBearer() map[string][]*Stream {
	return s.keyed(func(*Stream) bool { return true })
}

// changed returns the streams of byBearer that are not in doubt, without those of agents for which holds returns true.
func (s *streams) changed(holds func(agentID uuid.UUID) bool) map[string][]*Stream {
	return s.keyed(func(stream *Stream) bool {
		return !stream.doubtful && (stream.agentID == uuid.Nil || !holds(stream.agentID))
	})
}

func (s *streams) keyed(fits func(*Stream) bool) map[string][]*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string][]*Stream{}
	for stream := range s.open {
		if stream.bearer != "" && fits(stream) {
			open[stream.bearer] = append(open[stream.bearer], stream)
		}
	}
	return open
}

// doubt notes that the bearer of some streams could not be checked.
func (s *streams) doubt(list ...*Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range list {
		stream.doubtful = true
	}
}

// takeDoubtful returns streams in doubt of at most streamChecks bearers. They are no longer in doubt, so that a check
// after a change of the epoch doesn't rely on a try that began before it.
func (s *streams) takeDoubtful() map[string][]*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := map[string][]*Stream{}
	for stream := range s.open {
		if _, found := taken[stream.bearer]; stream.doubtful && (found || len(taken) < streamChecks) {
			stream.doubtful = false
			taken[stream.bearer] = append(taken[stream.bearer], stream)
		}
	}
	return taken
}

// stop closes all streams and refuses new ones.
func (s *streams) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	for _, stream := range s.all() {
		stream.Close()
	}
}
