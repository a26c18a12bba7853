package archive

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// openWithin is how long a request waits until an object is open. A store elsewhere takes tens of milliseconds.
	openWithin = 2 * time.Second
	// readWithin is how long a request waits for a part of an open object, which is a megabyte at most.
	readWithin = 3 * time.Second
	// breakFor is how long an open breaker refuses to open objects before it tries again.
	breakFor = time.Second
	// opensAtOnce is how many objects may be opening at a time. A folder on a lost disk ends no attempt, and each holds
	// a thread of the operating system.
	opensAtOnce = 64
)

// ErrSilent means that an archive doesn't answer in time.
var ErrSilent = errors.New("the archive doesn't answer")

// breaker is an archive for answers to requests.
type breaker struct {
	Storage
	circuit *gobreaker.CircuitBreaker[Object]
	opening chan struct{} // one entry for each object that is being opened
}

// NewBreaker returns an archive for answers to requests. An object that isn't open after two seconds fails with
// ErrSilent, and so does a read of a bucket that takes three seconds. Then objects fail with ErrSilent at once, and one
// attempt per second finds out whether the archive answers again.
func NewBreaker(s Storage, log *slog.Logger) Storage {
	return &breaker{Storage: s, opening: make(chan struct{}, opensAtOnce), circuit: gobreaker.NewCircuitBreaker[Object](gobreaker.Settings{
		Timeout:      breakFor,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures > 0 },
		IsSuccessful: func(err error) bool { return !errors.Is(err, ErrSilent) },
		// A caller that left, or whose time is over, says nothing about the archive.
		IsExcluded: func(err error) bool {
			return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			level := slog.LevelWarn
			if to == gobreaker.StateClosed {
				level = slog.LevelInfo
			}
			log.Log(context.Background(), level, "archive", "breaker", to.String(), "was", from.String())
		},
	})}
}

// Open implements Storage.
func (b *breaker) Open(ctx context.Context, name string) (Object, error) {
	o, err := b.circuit.Execute(func() (Object, error) { return b.open(ctx, name) })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, ErrSilent
	}
	return o, err
}

func (b *breaker) open(ctx context.Context, name string) (Object, error) {
	over := time.NewTimer(openWithin)
	defer over.Stop()
	ctx, cancel := context.WithCancelCause(ctx) // an open object reads with this context until it is closed
	o, err := answered(ctx, b.opening, over.C, func() (Object, error) { return b.Storage.Open(ctx, name) }, closeLate)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &hurried{o, b, ctx, cancel}, nil
}

// closeLate closes an object that was opened too late for its reader.
func closeLate(o Object) { _ = o.Close() }

// answered runs a call of an archive in another goroutine, because a folder can't be told to give up. If the call
// doesn't return before the time is over, answered returns ErrSilent. If ctx ends first, it returns the error of ctx. In
// both cases, late gets the result if the call succeeds after all. running has an entry for each call that hasn't
// returned. While it is full, answered waits.
func answered[T any](
	ctx context.Context, running chan struct{}, over <-chan time.Time, call func() (T, error), late func(T),
) (answer T, err error) {
	select {
	case running <- struct{}{}:
	case <-over:
		return answer, ErrSilent
	case <-ctx.Done():
		return answer, ctx.Err()
	}
	type result struct {
		value T
		err   error
	}
	returned, left := make(chan result), make(chan struct{})
	defer close(left)
	go func() {
		defer func() { <-running }()
		value, err := call()
		select {
		case returned <- result{value, err}:
		case <-left:
			if err == nil {
				late(value)
			}
		}
	}()
	select {
	case r := <-returned:
		return r.value, r.err
	case <-over:
		return answer, ErrSilent
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// hurried is an open object whose reads take at most readWithin. A read of a folder can't be ended.
type hurried struct {
	Object
	breaker *breaker
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// ReadAt implements io.ReaderAt.
func (h *hurried) ReadAt(p []byte, at int64) (int, error) {
	late := time.AfterFunc(readWithin, func() { h.cancel(ErrSilent) })
	defer late.Stop()
	n, err := h.Object.ReadAt(p, at)
	if err != nil && errors.Is(context.Cause(h.ctx), ErrSilent) {
		_, _ = h.breaker.circuit.Execute(func() (Object, error) { return nil, ErrSilent }) // opens the breaker
		return n, ErrSilent
	}
	return n, err
}

func (h *hurried) Close() error {
	h.cancel(nil)
	return h.Object.Close()
}
