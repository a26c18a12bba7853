package prediction

import (
	"context"
	"time"
)

// HeldWait sets how long a submission waits for another transaction that changes its agent's
// predictions.
func (p *Publisher) HeldWait(d time.Duration) { p.committer.heldWait = d }

// Held counts the submissions whose agents other transactions held at the last try.
func (p *Publisher) Held() (n int) {
	p.committer.mu.Lock()
	defer p.committer.mu.Unlock()
	for _, w := range p.committer.queue {
		if !w.held.IsZero() {
			n++
		}
	}
	return n
}

// QueueBounds sets how many submissions may wait, and how many bytes of text.
func (p *Publisher) QueueBounds(most, bytes int) {
	p.committer.most, p.committer.mostBytes = most, bytes
}

// Waiting counts the submissions in the queue and their bytes.
func (p *Publisher) Waiting() (n, bytes int) {
	p.committer.mu.Lock()
	defer p.committer.mu.Unlock()
	return len(p.committer.queue), p.committer.bytes
}

// Outcome is what became of one submission of a batch.
type Outcome struct {
	Answer string
	Err    error
}

// PublishBatch stores submissions as one batch. All of their agents must be free.
func (p *Publisher) PublishBatch(ctx context.Context, list []Submission) []Outcome {
	batch := make([]*waiting, len(list))
	for i, s := range list {
		batch[i] = s.waiting()
		batch[i].done = make(chan struct{})
	}
	if held := p.commit(ctx, batch); len(held) > 0 {
		panic("agents are held")
	}
	out := make([]Outcome, len(list))
	for i, w := range batch {
		<-w.done
		out[i] = Outcome{string(w.answer), w.err}
	}
	return out
}

// Running reports whether a batch is under way.
func (p *Publisher) Running() bool {
	p.committer.mu.Lock()
	defer p.committer.mu.Unlock()
	return p.committer.running
}
