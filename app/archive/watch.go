package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// silentAfter is how long the job waits for one call of the archive.
	silentAfter = 5 * time.Minute
	// slowest is the rate, in bytes per second, at which the job waits longer for a write.
	slowest = 100_000
	// mutedFor is how long all calls fail at once after one without an answer. It ends a run that would
	// otherwise wait again at each of its steps.
	mutedFor = time.Minute
)

// Silence is the error of a call of an archive that doesn't return. It matches ErrSilent.
type Silence struct {
	Call  string // what hangs, such as "writing days/2026-11-21/manifest.json"
	After time.Duration
}

func (s *Silence) Error() string {
	return fmt.Sprintf("%v: %s takes more than %s", ErrSilent, s.Call, s.After.Round(time.Second))
}

// Is reports whether target is ErrSilent.
func (s *Silence) Is(target error) bool { return target == ErrSilent }

// watched is an archive for the job.
type watched struct {
	Writable
	running chan struct{} // one entry for each call that hasn't returned
	// timer returns a channel that receives after d, and a function that releases it.
	timer func(d time.Duration) (over <-chan time.Time, stop func() bool)

	mu    sync.Mutex
	last  *Silence  // latest call without an answer
	muted time.Time // end of the time in which all calls fail with last
}

// Watch returns an archive for the job. A call fails with a Silence if it doesn't return within five minutes. A write
// has another second for each 100 kB. Then all calls fail at once for a minute. A call on a lost disk goes on when the
// disk returns. By then its context has ended, so that it changes nothing.
func Watch(s Writable) Writable {
	return &watched{Writable: s, running: make(chan struct{}, opensAtOnce), timer: newTimer}
}

func newTimer(d time.Duration) (over <-chan time.Time, stop func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// watch runs a call. See answered.
func watch[T any](
	ctx context.Context, w *watched, most time.Duration, name string, call func() (T, error), late func(T),
) (answer T, err error) {
	if s := w.silence(); s != nil {
		return answer, s
	}
	over, stop := w.timer(most)
	defer stop()
	answer, err = answered(ctx, w.running, over, call, late)
	if errors.Is(err, ErrSilent) {
		return answer, w.mute(&Silence{name, most})
	}
	return answer, err
}

// silence returns the error with which calls fail at the moment, or nil.
func (w *watched) silence() *Silence {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.muted) {
		return w.last
	}
	return nil
}

func (w *watched) mute(s *Silence) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.muted = s, time.Now().Add(mutedFor)
	return s
}

// Open implements Storage.
func (w *watched) Open(ctx context.Context, name string) (Object, error) {
	ctx, cancel := context.WithCancel(ctx) // the object reads with this context until it is closed
	o, err := watch(ctx, w, silentAfter, "opening "+name, func() (Object, error) {
		return w.Writable.Open(ctx, name)
	}, closeLate)
	if err != nil {
		cancel()
		return nil, err
	}
	return &watchedObject{o, w, name, ctx, cancel}, nil
}

type watchedObject struct {
	Object
	from   *watched
	name   string
	ctx    context.Context
	cancel context.CancelFunc
}

// ReadAt implements io.ReaderAt. The call fills other memory than p, because it may return when p has another use.
func (o *watchedObject) ReadAt(p []byte, at int64) (int, error) {
	read, err := watch(o.ctx, o.from, silentAfter, "reading "+o.name, func() ([]byte, error) {
		b := make([]byte, len(p))
		n, err := o.Object.ReadAt(b, at)
		return b[:n], err
	}, func([]byte) {})
	return copy(p, read), err
}

// Close implements io.Closer. It doesn't wait, because a file on a lost disk may never close.
func (o *watchedObject) Close() error {
	o.cancel()
	go closeLate(o.Object)
	return nil
}

// List implements Storage.
func (w *watched) List(ctx context.Context, prefix string) ([]Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return watch(ctx, w, silentAfter, "listing "+prefix, func() ([]Info, error) {
		return w.Writable.List(ctx, prefix)
	}, func([]Info) {})
}

// Put implements Writable.
func (w *watched) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return w.change(ctx, "writing "+name, size, func(ctx context.Context) error {
		return w.Writable.Put(ctx, name, content, size)
	})
}

// PutNew implements Writable.
func (w *watched) PutNew(ctx context.Context, name string, content io.Reader, size int64) error {
	return w.change(ctx, "writing "+name, size, func(ctx context.Context) error {
		return w.Writable.PutNew(ctx, name, content, size)
	})
}

// Delete implements Writable.
func (w *watched) Delete(ctx context.Context, name string) error {
	return w.change(ctx, "deleting "+name, 0, func(ctx context.Context) error { return w.Writable.Delete(ctx, name) })
}

// RemoveUnfinished implements sweeper. It does nothing if the archive has no temporary files.
func (w *watched) RemoveUnfinished(ctx context.Context, prefix string) error {
	s, ok := w.Writable.(sweeper)
	if !ok {
		return nil
	}
	return w.change(ctx, "removing unfinished files", 0, func(ctx context.Context) error {
		return s.RemoveUnfinished(ctx, prefix)
	})
}

// change runs a call that changes the archive by at most size bytes. The context of the call ends with change.
func (w *watched) change(ctx context.Context, name string, size int64, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := watch(ctx, w, silentAfter+time.Duration(size/slowest)*time.Second, name, func() (struct{}, error) {
		return struct{}{}, call(ctx)
	}, func(struct{}) {})
	return err
}
