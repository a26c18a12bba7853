package prediction

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// WordKeys returns the keys of words in Postgres's search index, as a literal of an array.
func WordKeys(words string) string {
	list := strings.Trim(fmt.Sprint(wordKeys(strings.Fields(words))), "[]")
	return "{" + strings.ReplaceAll(list, " ", ",") + "}"
}

// HeldWait sets how long a submission waits for another transaction that changes its agent's
// predictions.
func (p *Publisher) HeldWait(d time.Duration) { p.committer.heldWait = d }

// Held counts the submissions whose agents were locked by other transactions at the last try.
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

// QueueBounds sets the maximum number of waiting submissions and of their bytes.
func (p *Publisher) QueueBounds(most, bytes int) {
	p.committer.most, p.committer.mostBytes = most, bytes
}

// Waiting returns the number and the bytes of the submissions in the queue.
func (p *Publisher) Waiting() (n, bytes int) {
	p.committer.mu.Lock()
	defer p.committer.mu.Unlock()
	return len(p.committer.queue), p.committer.bytes
}

// Outcome is the outcome of one submission of a batch.
type Outcome struct {
	Answer string
	Err    error
}

// PublishBatch stores submissions as one batch. None of their agents may be locked.
func (p *Publisher) PublishBatch(ctx context.Context, list []Submission) []Outcome {
	batch := make([]*request, len(list))
	for i, s := range list {
		batch[i] = s.request()
		batch[i].done = make(chan struct{})
		for _, it := range batch[i].items {
			it.cut(p.db)
		}
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

// Running returns the number of batches that are being stored.
func (p *Publisher) Running() int {
	p.committer.mu.Lock()
	defer p.committer.mu.Unlock()
	return p.committer.running
}
