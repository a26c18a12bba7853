package web

import (
	"context"
	"sync"
	"time"
)

// rememberedFor is how old a figure beside the main content may be.
const rememberedFor = 30 * time.Second

// remembered keeps the last answer to a question that many pages ask. When it has grown
// old one caller asks again, and the others have the old one meanwhile. A failed answer
// is not kept.
type remembered[T any] struct {
	now  func() time.Time
	read func(ctx context.Context) (T, error)

	asking sync.Mutex // held while read runs

	mu    sync.Mutex
	value T
	at    time.Time // zero before the first answer
	epoch int       // moves with forget
}

// forget drops the answer, and keeps none that somebody is asking for. It does not wait.
func (r *remembered[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.at = time.Time{}
}

func (r *remembered[T]) get(ctx context.Context) (T, error) {
	value, at := r.kept()
	if !at.IsZero() && r.now().Sub(at) < rememberedFor {
		return value, nil
	}
	if at.IsZero() {
		r.asking.Lock()
	} else if !r.asking.TryLock() {
		return value, nil
	}
	defer r.asking.Unlock()
	if value, again := r.kept(); again.After(at) {
		return value, nil // answered while this one waited
	}
	return r.ask(ctx)
}

func (r *remembered[T]) kept() (T, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.at
}

func (r *remembered[T]) ask(ctx context.Context) (T, error) {
	now := r.now()
	r.mu.Lock()
	epoch := r.epoch
	r.mu.Unlock()
	value, err := r.read(ctx)
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if epoch == r.epoch {
		r.value, r.at = value, now
	}
	return value, nil
}
