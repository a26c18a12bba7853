package prediction

import (
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
