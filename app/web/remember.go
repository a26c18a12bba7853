package web

import (
	"context"
	"sync"
	"time"
)

// rememberedFor is how old a figure beside the main content may be.
const rememberedFor = 30 * time.Second

// remembered keeps the last answer to a question that many pages ask. One caller at
// a time asks again; a failed answer is not kept.
type remembered[T any] struct {
	now  func() time.Time
	read func(ctx context.Context) (T, error)

	mu    sync.Mutex
	value T
	at    time.Time
}

func (r *remembered[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
}

func (r *remembered[T]) get(ctx context.Context) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.at.IsZero() || now.Sub(r.at) >= rememberedFor {
		value, err := r.read(ctx)
		if err != nil {
			return value, err
		}
		r.value, r.at = value, now
	}
	return r.value, nil
}
