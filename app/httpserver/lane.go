package httpserver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/problem"
)

// lanePatience is how long a request waits for its place in a lane.
const lanePatience = time.Second

// lane bounds how many requests do a kind of work at the same time, and how many wait for it.
// Requests with a key go before those without one, so that visitors can't hold up agents.
// Within each of the two, the first to come is the first to go.
type lane struct {
	places int // requests that work at a time
	queue  int // requests that wait, with a key and without one each
	each   int // requests of one caller that work or wait

	mu      sync.Mutex
	busy    int
	held    map[bucketKey]int
	waiting [2][]*turn
}

// turn is a request that waits. Its channel is closed when it gets a place.
type turn struct {
	come chan struct{}
}

func newLane(places, queue, each int) *lane {
	return &lane{places: places, queue: queue, each: each, held: map[bucketKey]int{}}
}

// enter waits for a place. If err is nil, leave must follow. A caller that has its share, and
// every caller while the queue is full, is refused with 503 at once.
func (l *lane) enter(ctx context.Context, by bucketKey) (leave func(), err error) {
	t, err := l.begin(by)
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(func() { l.end(by) })
	if t == nil {
		return leave, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lanePatience)
	defer cancel()
	select {
	case <-t.come:
		return leave, nil
	case <-ctx.Done():
		if l.giveUp(t, by) {
			return nil, laneFull()
		}
		return leave, nil
	}
}

// begin takes a place, or one in the queue: t is nil if there is nothing to wait for.
func (l *lane) begin(by bucketKey) (t *turn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[by] >= l.each {
		return nil, laneShare()
	}
	if l.busy < l.places {
		l.busy++
		l.held[by]++
		return nil, nil
	}
	queue := &l.waiting[by.queue()]
	if len(*queue) >= l.queue {
		return nil, laneFull()
	}
	t = &turn{come: make(chan struct{})}
	*queue = append(*queue, t)
	l.held[by]++
	return t, nil
}

// queue is 0 for callers with a key, who go first, and 1 for others.
func (k bucketKey) queue() int {
	if k.kind == 'a' {
		return 0
	}
	return 1
}

// giveUp takes a request out of the queue. It returns false if it has got a place meanwhile.
func (l *lane) giveUp(t *turn, by bucketKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := &l.waiting[by.queue()]
	i := slices.Index(*queue, t)
	if i < 0 {
		return false
	}
	*queue = slices.Delete(*queue, i, i+1)
	l.release(by)
	return true
}

// end gives a place to the next request that waits.
func (l *lane) end(by bucketKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(by)
	for i := range l.waiting {
		if queue := &l.waiting[i]; len(*queue) > 0 {
			close((*queue)[0].come)
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	l.busy--
}

func (l *lane) release(by bucketKey) {
	if l.held[by]--; l.held[by] == 0 {
		delete(l.held, by)
	}
}

func laneFull() error {
	return problem.Unavailable("Too many answers that take long are being made. Try again, or send cheaper reads: "+cheaper+".", time.Second)
}

func laneShare() error {
	return problem.Unavailable("Other answers for this key, or this address without one, are still being made. Wait for them before you ask for more.", time.Second)
}
