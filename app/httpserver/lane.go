package httpserver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/problem"
)

// lanePatience is how long after its arrival a request waits for a place. The time for checking its key doesn't
// count, because the check takes long while the database is slow.
const lanePatience = time.Second

// longestRest bounds how long a place rests. Most answers take less, and one that waits for the database may take a
// second.
const longestRest = 20 * time.Millisecond

// lane bounds how many requests do costly work at the same time, and how many wait for it. Requests with a
// key and requests without one take turns, so that neither can hold up the other. Among each, parts of answers go first,
// then quick requests, then expensive ones. Each of the six queues is first in, first out.
type lane struct {
	places  int               // requests that work at a time
	threads *threads          // one for each place; nil: requests work on their goroutines
	rests   bool              // a place rests after an answer; see end
	queue   [queueClasses]int // requests that wait, for each kind of caller
	mu      sync.Mutex
	busy    int
	callers [queueClasses]shares // requests that work or wait
	// waiting holds the queues. A channel is closed when its request gets a place.
	waiting [callerKinds][queueClasses][]chan struct{}
	served  callerKind // the kind that got the last place out of a queue
}

// callerKind says whether a request has a key.
type callerKind int

const (
	agents callerKind = iota
	visitors
	callerKinds
)

// queueClass says whether a request works for a short or a long time. parts is for a part of an answer that has begun.
// It is never refused, and goes first, because the whole answer must end in time.
type queueClass int

const (
	quick queueClass = iota
	expensive
	parts
	queueClasses
)

// ticket is a request for a place in a lane.
type ticket struct {
	by      bucketKey
	sharers []bucketKey // from placeSharers
	class   queueClass
}

func newLane(places int, queue, share [queueClasses]int) *lane {
	l := &lane{places: places, queue: queue}
	for i := range l.callers {
		l.callers[i] = newShares(share[i])
	}
	return l
}

// enter waits for a place until lanePatience after the request came, and then returns a 503. It returns a 503
// at once to a caller that has used up its share, and to every caller while the queue is full. A part of an answer
// waits until ctx ends. If err is nil, the caller must call leave.
func (l *lane) enter(ctx context.Context, t ticket, came time.Time) (leave func(), err error) {
	turn, err := l.begin(t)
	if err != nil {
		return nil, err
	}
	var begun time.Time
	leave = sync.OnceFunc(func() { l.end(t, time.Since(begun)) })
	if turn == nil {
		begun = time.Now()
		return leave, nil
	}
	if t.class != parts {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, came.Add(lanePatience))
		defer cancel()
	}
	select {
	case <-turn:
	case <-ctx.Done():
		if l.giveUp(t, turn) {
			return nil, laneFull()
		}
	}
	begun = time.Now()
	return leave, nil
}

// begin takes a place, or joins a queue. turn is nil if the request has a place.
func (l *lane) begin(t ticket) (turn chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.class != parts && l.callers[t.class].usedUp(t.by, t.sharers) {
		return nil, laneShare()
	}
	if l.busy < l.places {
		l.busy++
		l.hold(t, 1)
		return nil, nil
	}
	queue := l.queueOf(t)
	if t.class != parts && len(*queue) >= l.queue[t.class] {
		return nil, laneFull()
	}
	turn = make(chan struct{})
	*queue = append(*queue, turn)
	l.hold(t, 1)
	return turn, nil
}

// hold adds n requests to those that the callers of t hold.
func (l *lane) hold(t ticket, n int) { l.callers[t.class].hold(t.by, t.sharers, n) }

// queueOf returns the queue to wait in.
func (l *lane) queueOf(t ticket) *[]chan struct{} {
	if t.by.isAgent() {
		return &l.waiting[agents][t.class]
	}
	return &l.waiting[visitors][t.class]
}

// giveUp takes a request out of its queue. It returns false if the request has got a place meanwhile.
func (l *lane) giveUp(t ticket, turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queueOf(t)
	i := slices.Index(*queue, turn)
	if i < 0 {
		return false
	}
	*queue = slices.Delete(*queue, i, i+1)
	l.hold(t, -1)
	return true
}

// end frees the place of a request that has worked for a time. If others wait and places rest, the place first rests
// for the same time, but at most for longestRest, and the next request gets it then. So the lane can't keep its
// processors busy all the time. Postgres needs that more than SQLite, because its part of the work has the usual
// priority.
func (l *lane) end(t ticket, worked time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold(t, -1)
	if l.rests && l.awaited() {
		time.AfterFunc(min(worked, longestRest), l.pass)
		return
	}
	l.passLocked()
}

// awaited reports whether any request waits.
func (l *lane) awaited() bool {
	for kind := range l.waiting {
		for class := range l.waiting[kind] {
			if len(l.waiting[kind][class]) > 0 {
				return true
			}
		}
	}
	return false
}

func (l *lane) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passLocked()
}

// passLocked gives a place to the next request in the queues, or frees it if none waits.
func (l *lane) passLocked() {
	for range callerKinds {
		l.served = (l.served + 1) % callerKinds
		for _, class := range []queueClass{parts, quick, expensive} {
			if queue := &l.waiting[l.served][class]; len(*queue) > 0 {
				close((*queue)[0])
				*queue = slices.Delete(*queue, 0, 1)
				return
			}
		}
	}
	l.busy--
}

func laneFull() error {
	return problem.Busy("Too many slow answers are being made. Try again, or send cheaper reads: "+cheaper+".", time.Second)
}

func laneShare() error {
	return problem.Busy("Earlier reads from this address or its IPv6 /48, or with keys of this owner, are still being answered. "+
		"Wait for their answers before you send more.", time.Second)
}
