package httpserver

import (
	"context"
	"sync"
	"time"
)

const (
	probeTimeout = time.Second // of one look
	probeKeeps   = time.Second // between two looks: health is asked often, the database is not
	// probeTrusts is how old a look may be to be reported while the next is under way.
	probeTrusts = 3 * time.Second
)

// probe remembers what a look at a part of the service found. There is one look at a time
// however many ask, and while looks follow each other none of them waits for it: so a part that
// is slow doesn't make health slow.
type probe[T any] struct {
	mu      sync.Mutex
	at      time.Time // when the look that found last ended; zero before the first
	last    T
	looking chan struct{} // closed when the look under way ends; nil without one
}

// get returns what the last look found, or late if there is none that is recent and the next
// takes too long.
func (p *probe[T]) get(look func(context.Context) T, late T) T {
	p.mu.Lock()
	last, age := p.last, time.Since(p.at)
	if p.looking == nil && age >= probeKeeps {
		p.looking = make(chan struct{})
		go p.look(look, p.looking)
	}
	looking := p.looking
	p.mu.Unlock()
	if age < probeTrusts {
		return last
	}
	timer := time.NewTimer(probeTimeout + probeTimeout/10) // a look that obeys its context ends before
	defer timer.Stop()
	select {
	case <-looking:
		return p.found()
	case <-timer.C:
		return late
	}
}

func (p *probe[T]) look(look func(context.Context) T, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	found := look(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.at, p.looking = found, time.Now(), nil
	close(done)
}

// found returns what the last look found.
func (p *probe[T]) found() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// pinged returns how a ping went; nil counts as well.
func pinged(p *probe[error], ping func(context.Context) error) error {
	if ping == nil {
		return nil
	}
	return p.get(ping, context.DeadlineExceeded)
}
