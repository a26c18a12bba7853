package prediction

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// maxBatch is how many predictions one transaction stores at most.
	maxBatch = 256
	// maxWaiting and maxWaitingBytes bound the queue, in predictions and in bytes.
	maxWaiting      = 1024
	maxWaitingBytes = 16 << 20
	// heldWait is how long a submission waits for another transaction that changes its agent's predictions.
	// heldPause is the time between two tries.
	heldWait  = 5 * time.Second
	heldPause = 10 * time.Millisecond
	// batchTimeout bounds one transaction.
	batchTimeout = 8 * time.Second
)

// waiting is a request in the queue: a Submission or a BatchSubmission.
type waiting struct {
	agent          agent.Agent
	idempotencyKey string
	bodyHash       [32]byte
	items          []*item
	// render writes the answer from the outcome of each item. If it fails, the request is refused.
	render func([]ItemOutcome) ([]byte, error)

	ctx  context.Context // the caller's
	held time.Time       // when its agent was first found locked; zero if it never was
	left atomic.Bool     // its caller no longer waits
	done chan struct{}
	// answer and err are set before done is closed.
	answer []byte
	err    error
}

func (w *waiting) finish(answer []byte, err error) {
	w.answer, w.err = answer, err
	close(w.done)
}

// bytes returns the approximate size of w in memory, in bytes.
func (w *waiting) bytes() int {
	n := 0
	for _, it := range w.items {
		n += it.bytes()
	}
	return n
}

// committer passes the requests of a node to commit, in batches. It takes all requests that wait, up to
// maxBatch predictions, and doesn't wait for more. While it stores one batch, the next one collects. Its
// goroutine runs only while there is work.
type committer struct {
	// commit stores a batch and finishes its requests. It returns the unfinished requests, whose agents are
	// locked by other transactions.
	commit   func(ctx context.Context, batch []*waiting) (held []*waiting)
	heldWait time.Duration
	// most and mostBytes bound the queue, in predictions and in bytes.
	most, mostBytes int

	mu      sync.Mutex
	queue   []*waiting // next one first
	bytes   int        // of queue
	items   int        // of queue
	running bool
	stopped bool
	arrived chan struct{} // receives an element when a request arrives
	idle    chan struct{} // closed once stopped and not running
}

func newCommitter(commit func(context.Context, []*waiting) []*waiting) *committer {
	return &committer{
		commit: commit, heldWait: heldWait, most: maxWaiting, mostBytes: maxWaitingBytes,
		arrived: make(chan struct{}, 1), idle: make(chan struct{}),
	}
}

// do queues w and returns its answer. If ctx ends first, w leaves the queue.
func (c *committer) do(ctx context.Context, w *waiting) ([]byte, error) {
	w.ctx, w.done = ctx, make(chan struct{})
	if err := c.enter(w); err != nil {
		return nil, err
	}
	select {
	case <-w.done:
		return w.answer, w.err
	case <-ctx.Done():
	}
	c.leave(w)
	select {
	case <-w.done:
		return w.answer, w.err
	default:
		return nil, fmt.Errorf("publish: %w", ctx.Err())
	}
}

func (c *committer) enter(w *waiting) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return problem.Unavailable("This node is stopping. Send the same request again.", time.Second)
	case c.items+len(w.items) > c.most || c.bytes+w.bytes() > c.mostBytes:
		return problem.Unavailable("Too many predictions wait to be stored. Nothing was stored. Send the same request again.", time.Second)
	}
	c.push(w)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	if !c.running {
		c.running = true
		go c.run()
	}
	return nil
}

func (c *committer) leave(w *waiting) {
	w.left.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.queue, w); i >= 0 {
		c.take(i, i+1)
	}
}

// push and take also update the queue's counts of items and bytes.
func (c *committer) push(w *waiting) {
	c.queue = append(c.queue, w)
	c.bytes += w.bytes()
	c.items += len(w.items)
}

func (c *committer) take(from, to int) []*waiting {
	taken := slices.Clone(c.queue[from:to])
	c.queue = slices.Delete(c.queue, from, to)
	for _, w := range taken {
		c.bytes -= w.bytes()
		c.items -= len(w.items)
	}
	return taken
}

func (c *committer) run() {
	for {
		batch := c.next()
		if batch == nil {
			return
		}
		// The trace of a batch belongs to its first caller. WithoutCancel keeps the batch running if that
		// caller leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), batchTimeout)
		held := c.commit(ctx, batch)
		cancel()
		c.hold(held)
	}
}

// next takes the next batch from the queue. A nil batch ends the goroutine.
func (c *committer) next() []*waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.running = false
		if c.stopped {
			close(c.idle)
		}
		return nil
	}
	n, items := 1, len(c.queue[0].items)
	for n < len(c.queue) && items+len(c.queue[n].items) <= maxBatch {
		items += len(c.queue[n].items)
		n++
	}
	return c.take(0, n)
}

// hold puts held submissions back into the queue. If all submissions in the queue are held, it pauses.
func (c *committer) hold(held []*waiting) {
	if len(held) == 0 {
		return
	}
	if c.putBack(held) {
		return
	}
	select {
	case <-c.arrived:
	case <-time.After(heldPause):
	}
}

// putBack puts submissions back into the queue, or refuses those that waited too long. It returns false if
// every submission in the queue is held, so that trying again at once is useless.
func (c *committer) putBack(held []*waiting) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range held {
		if w.held.IsZero() {
			w.held = now
		}
		switch {
		case w.left.Load():
		case c.stopped || now.Sub(w.held) >= c.heldWait:
			w.finish(nil, problem.Unavailable("Your predictions are being changed, perhaps by the first request with this Idempotency-Key. Nothing was stored. Send the same request again.", time.Second))
		default:
			c.push(w)
		}
	}
	if len(c.queue) == 0 || slices.ContainsFunc(c.queue, func(w *waiting) bool { return w.held.IsZero() }) {
		return true
	}
	select {
	case <-c.arrived: // from a request that is already in a batch
	default:
	}
	return false
}

func (c *committer) stop(ctx context.Context) error {
	c.mu.Lock()
	if !c.stopped {
		c.stopped = true
		if !c.running {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop publishing: %w", ctx.Err())
	}
}
