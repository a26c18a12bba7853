package prediction

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// maxBatch is how many predictions one transaction stores at most.
	maxBatch = 256
	// postgresBatches is how many batches a node stores at once on Postgres. The second one uses the time that
	// the first one waits for the server; see small. A third one made publishing with keys slower, as measured
	// with make bench-report. SQLite has one writer, so there it is one.
	postgresBatches = 2
	// maxWaiting and maxWaitingBytes bound the queue, in predictions and in bytes.
	maxWaiting      = 1024
	maxWaitingBytes = 16 << 20
	// heldWait is how long a request waits for another transaction that changes its agent's predictions.
	// heldPause is the time between two tries.
	heldWait  = 5 * time.Second
	heldPause = 10 * time.Millisecond
	// batchTimeout bounds one transaction.
	batchTimeout = 8 * time.Second
)

// request is a Submission or a BatchSubmission in the queue.
type request struct {
	agent          agent.Agent
	idempotencyKey string
	bodyHash       [32]byte
	items          []*item
	// render writes the answer from the outcome of each item. If it fails, the request is refused.
	render func([]ItemOutcome) ([]byte, error)
	// repeatOnly is whether the request only asks for the answer to an earlier one; see AwaitAnswer.
	repeatOnly bool

	ctx    context.Context // the caller's
	held   time.Time       // when its agent was first found locked; zero if it never was
	left   atomic.Bool     // its caller no longer waits
	done   chan struct{}
	result // set before done is closed
}

func (w *request) finish(r result) {
	w.result = r
	close(w.done)
}

// tryAgain returns the refusal of a request that isn't stored. With a key, an earlier request may be stored, so only
// without one does the refusal say that nothing was.
func (w *request) tryAgain(why string) error {
	if w.idempotencyKey == "" {
		why += " Nothing was stored."
	}
	return problem.Unavailable(why+" Send the same request again.", time.Second)
}

// bytes returns the approximate size of w in memory, in bytes.
func (w *request) bytes() int {
	n := 0
	for _, it := range w.items {
		n += it.bytes()
	}
	return n
}

// committer passes the requests of a node to commit, in batches. It takes all requests that wait, up to
// maxBatch predictions. An idle committer never waits for more. On Postgres it stores two batches at once, and an
// agent is in one of them at most. The second one starts once it is as large as the first; see small. Its
// goroutines run only while there is work.
type committer struct {
	// commit stores a batch and finishes its requests. It returns the unfinished requests, whose agents are
	// locked by other transactions.
	commit   func(ctx context.Context, batch []*request) (held []*request)
	heldWait time.Duration
	// most and mostBytes bound the queue, in predictions and in bytes.
	most, mostBytes int
	// batches is how many batches are stored at once, at most.
	batches int

	mu      sync.Mutex
	queue   []*request         // next one first
	bytes   int                // of queue
	items   int                // of queue
	storing int                // predictions in the batches that are being stored
	running int                // goroutines
	busy    map[uuid.UUID]bool // agents with requests in a batch that is being stored
	stopped bool
	arrived chan struct{} // receives an element when a request arrives
	idle    chan struct{} // closed once stopped and none is running
}

func newCommitter(batches int, commit func(context.Context, []*request) []*request) *committer {
	return &committer{
		commit: commit, heldWait: heldWait, most: maxWaiting, mostBytes: maxWaitingBytes, batches: batches,
		busy: map[uuid.UUID]bool{}, arrived: make(chan struct{}, 1), idle: make(chan struct{}),
	}
}

// do queues w and returns its result. If ctx ends first, w leaves the queue.
func (c *committer) do(ctx context.Context, w *request) result {
	w.ctx, w.done = ctx, make(chan struct{})
	if err := c.enter(w); err != nil {
		return result{err: err}
	}
	select {
	case <-w.done:
		return w.result
	case <-ctx.Done():
	}
	c.leave(w)
	select {
	case <-w.done:
		return w.result
	default:
		return result{err: fmt.Errorf("publish: %w", ctx.Err())}
	}
}

func (c *committer) enter(w *request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return problem.Unavailable("This node is stopping. Send the same request again.", time.Second)
	case c.items+len(w.items) > c.most || c.bytes+w.bytes() > c.mostBytes:
		return w.tryAgain("Too many predictions wait to be stored.")
	}
	c.push(w)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	if c.running < c.batches && !c.small() {
		c.running++
		go c.run()
	}
	return nil
}

// small reports whether fewer predictions wait than are being stored. Such a batch waits for the one that is
// being stored, as it would with a single committer, because every batch costs the same number of statements.
// Without this, many batches would have only a few predictions. The caller must hold mu.
func (c *committer) small() bool { return c.items < c.storing }

func (c *committer) leave(w *request) {
	w.left.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.queue, w); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
		c.drop(w)
	}
}

// push adds w to the queue. drop updates the counts of items and bytes after w has left it.
func (c *committer) push(w *request) {
	c.queue = append(c.queue, w)
	c.bytes += w.bytes()
	c.items += len(w.items)
}

func (c *committer) drop(w *request) {
	c.bytes -= w.bytes()
	c.items -= len(w.items)
}

func (c *committer) run() {
	for {
		batch := c.next()
		if batch == nil {
			return
		}
		// The trace of a batch belongs to its first caller. WithoutCancel keeps the batch running if that
		// caller leaves. That caller may be a job, but requests may be in the batch or wait behind it.
		ctx, cancel := context.WithTimeout(database.Impatient(context.WithoutCancel(batch[0].ctx)), batchTimeout)
		held := c.commit(ctx, batch)
		cancel()
		c.release(batch)
		c.hold(held)
	}
}

// next takes the next batch from the queue, without the requests of busy agents. A nil batch ends the
// goroutine: the queue is left to the goroutine that is storing another batch.
func (c *committer) next() (batch []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.small() {
		batch = c.take()
	}
	if batch == nil {
		c.running--
		c.closeIdle()
	}
	return batch
}

func (c *committer) take() (batch []*request) {
	items, seen := 0, 0
	rest := c.queue[:0]
	for _, w := range c.queue {
		busy := c.busy[w.agent.ID]
		if !busy && items > 0 && items+len(w.items) > maxBatch {
			break
		}
		seen++
		if busy {
			rest = append(rest, w)
			continue
		}
		items += len(w.items)
		batch = append(batch, w)
	}
	rest = append(rest, c.queue[seen:]...)
	clear(c.queue[len(rest):])
	c.queue = rest
	for _, w := range batch {
		c.drop(w)
		c.busy[w.agent.ID] = true
	}
	c.storing += items
	return batch
}

// release lets other batches take requests of the agents of a stored batch.
func (c *committer) release(batch []*request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range batch {
		delete(c.busy, w.agent.ID)
		c.storing -= len(w.items)
	}
}

func (c *committer) closeIdle() {
	if c.stopped && c.running == 0 {
		close(c.idle)
	}
}

// hold puts held requests back into the queue. If no other request can be stored now, it pauses.
func (c *committer) hold(held []*request) {
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

// putBack puts requests back into the queue, or refuses those that waited too long. It returns false if every
// request in the queue is held, or of a busy agent, so that trying again at once is useless.
func (c *committer) putBack(held []*request) bool {
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
			w.finish(result{err: w.tryAgain("Your predictions are being changed, perhaps by the first request with this Idempotency-Key.")})
		default:
			c.push(w)
		}
	}
	if len(c.queue) == 0 || slices.ContainsFunc(c.queue, func(w *request) bool { return w.held.IsZero() && !c.busy[w.agent.ID] }) {
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
		c.closeIdle()
	}
	c.mu.Unlock()
	select {
	case <-c.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop publishing: %w", ctx.Err())
	}
}
