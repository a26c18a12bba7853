package archive_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
)

// silent is an archive that answers no call while silence is open.
type silent struct {
	archive.Storage
	silence      chan struct{}
	calls        atomic.Int64
	opened, shut atomic.Int64
	ctx          context.Context // of the last call
}

func (s *silent) Open(ctx context.Context, _ string) (archive.Object, error) {
	s.calls.Add(1)
	s.ctx = ctx
	<-s.silence // like a folder, it doesn't end with the context
	s.opened.Add(1)
	return s, nil
}

// ReadAt answers at once, except for offset 1, which it never answers.
func (s *silent) ReadAt(_ []byte, at int64) (int, error) {
	if at == 1 {
		<-s.ctx.Done()
	}
	return 0, s.ctx.Err()
}

func (s *silent) Size() int64     { return 0 }
func (s *silent) Version() string { return "" }
func (s *silent) Close() error    { s.shut.Add(1); return nil }

// TestBreaker checks how long requests wait for an archive that doesn't answer.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &silent{silence: make(chan struct{})}
		b := archive.NewBreaker(s, slog.New(slog.DiscardHandler))
		fails := func(want time.Duration) {
			t.Helper()
			start := time.Now()
			if o, err := b.Open(t.Context(), "x"); o != nil || !errors.Is(err, archive.ErrSilent) || time.Since(start) != want {
				t.Errorf("got %v, %v after %v, want ErrSilent after %v", o, err, time.Since(start), want)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := b.Open(gone, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v for a caller that left", err)
		}
		fails(2 * time.Second) // so a caller that left hasn't opened the breaker
		fails(0)
		fails(0)
		time.Sleep(1001 * time.Millisecond)
		fails(2 * time.Second)
		fails(0)
		close(s.silence)
		synctest.Wait()
		if s.opened.Load() != 3 || s.shut.Load() != 3 {
			t.Errorf("%d objects opened too late, %d closed; want 3", s.opened.Load(), s.shut.Load())
		}
		time.Sleep(1001 * time.Millisecond)
		for range 2 {
			o, err := b.Open(t.Context(), "x")
			if err != nil {
				t.Fatalf("the archive answers again: %v", err)
			}
			if _, err := o.ReadAt(nil, 0); err != nil {
				t.Errorf("read of an open object: %v", err)
			}
			if err := o.Close(); err != nil || s.ctx.Err() == nil {
				t.Errorf("close: %v; context: %v", err, s.ctx.Err())
			}
		}
	})
}

// TestBreakerOfReads checks that a store which stops to answer between two reads of an object opens the breaker.
func TestBreakerOfReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &silent{silence: make(chan struct{})}
		close(s.silence)
		b := archive.NewBreaker(s, slog.New(slog.DiscardHandler))
		o, err := b.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // such as a slow reader takes
		if _, err := o.ReadAt(nil, 0); err != nil {
			t.Errorf("a late read: %v", err)
		}
		start := time.Now()
		if _, err := o.ReadAt(nil, 1); !errors.Is(err, archive.ErrSilent) || time.Since(start) != 3*time.Second {
			t.Errorf("got %v after %v, want ErrSilent after 3s", err, time.Since(start))
		}
		if _, err := b.Open(t.Context(), "x"); !errors.Is(err, archive.ErrSilent) {
			t.Errorf("open after a silent read: %v", err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSilentArchiveHoldsFewThreads checks that attempts which never end don't become ever more.
func TestSilentArchiveHoldsFewThreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &silent{silence: make(chan struct{})}
		b := archive.NewBreaker(s, slog.New(slog.DiscardHandler))
		for range 200 {
			if _, err := b.Open(t.Context(), "x"); !errors.Is(err, archive.ErrSilent) {
				t.Fatal(err)
			}
			time.Sleep(1001 * time.Millisecond)
		}
		if n := s.calls.Load(); n != 64 {
			t.Errorf("%d attempts, want 64", n)
		}
		close(s.silence)
		synctest.Wait()
		if o, err := b.Open(t.Context(), "x"); err != nil {
			t.Errorf("the archive answers again: %v", err)
		} else if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}
