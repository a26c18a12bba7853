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

// lane bounds how many requests do costly work at the same time, and how many wait for it. Requests with a
// key go before those without one, so that visitors can't hold up agents. Quick requests go before
// expensive (dear) ones. Each of the four queues is first in, first out.
type lane struct {
	places int          // requests that work at a time
	queue  [lengths]int // requests that wait, for each kind of caller
	share  [lengths]int // requests of one caller that work or wait
	mu     sync.Mutex
	busy   int
	held   [lengths]map[bucketKey]int
	// waiting holds the queues in the order in which they are served. A channel is closed when its request
	// gets a place.
	waiting [2 * lengths][]chan struct{}
}

// length says whether a request works for a short or a long time.
type length int

const (
	quick length = iota
	dear
	lengths
)

// place is a caller that works or waits in a lane, and the length of its work.
type place struct {
	by     bucketKey
	length length
}

// queue returns the index of the queue to wait in.
func (p place) queue() length {
	if p.by.kind == 'a' {
		return p.length
	}
	return lengths + p.length
}

func newLane(places int, queue, share [lengths]int) *lane {
	l := &lane{places: places, queue: queue, share: share}
	for i := range l.held {
		l.held[i] = map[bucketKey]int{}
	}
	return l
}

// enter waits for a place until lanePatience after the request came, and then returns a 503. It returns a 503
// at once to a caller that has used up its share, and to every caller while the queue is full. If err is
// nil, the caller must call leave.
func (l *lane) enter(ctx context.Context, p place, came time.Time) (leave func(), err error) {
	turn, err := l.begin(p)
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(func() { l.end(p) })
	if turn == nil {
		return leave, nil
	}
	ctx, cancel := context.WithDeadline(ctx, came.Add(lanePatience))
	defer cancel()
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		if l.giveUp(p, turn) {
			return nil, laneFull()
		}
		return leave, nil
	}
}

// begin takes a place, or joins a queue. turn is nil if the request has a place.
func (l *lane) begin(p place) (turn chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held[p.length]
	if held[p.by] >= l.share[p.length] {
		return nil, laneShare()
	}
	if l.busy < l.places {
		l.busy++
		held[p.by]++
		return nil, nil
	}
	queue := &l.waiting[p.queue()]
	if len(*queue) >= l.queue[p.length] {
		return nil, laneFull()
	}
	turn = make(chan struct{})
	*queue = append(*queue, turn)
	held[p.by]++
	return turn, nil
}

// giveUp takes a request out of its queue. It returns false if the request has got a place meanwhile.
func (l *lane) giveUp(p place, turn chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := &l.waiting[p.queue()]
	i := slices.Index(*queue, turn)
	if i < 0 {
		return false
	}
	*queue = slices.Delete(*queue, i, i+1)
	l.release(p)
	return true
}

// end gives the place to the next request in the queues.
func (l *lane) end(p place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(p)
	for i := range l.waiting {
		if queue := &l.waiting[i]; len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	l.busy--
}

func (l *lane) release(p place) {
	held := l.held[p.length]
	if held[p.by]--; held[p.by] == 0 {
		delete(held, p.by)
	}
}

func laneFull() error {
	return problem.Unavailable("Too many slow answers are being made. Try again, or send cheaper reads: "+cheaper+".", time.Second)
}

func laneShare() error {
	return problem.Unavailable("Earlier reads of this key, or of this address if no key was sent, are still being answered. "+
		"Wait for their answers before you send more.", time.Second)
}
