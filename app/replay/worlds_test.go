package replay

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorldInTheMaking checks that a world being built keeps its place even after its callers gave
// up.
func TestWorldInTheMaking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := make(chan struct{})
		ws := newWorlds(func(context.Context, *Run, time.Time) (*world, error) {
			<-made
			return nil, errors.New("no world")
		}, slog.New(slog.DiscardHandler))
		ws.most = 1
		for i := range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _, err := ws.acquire(ctx, &Run{ID: "r"}, firstDay.Add(time.Duration(i)*time.Hour))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("world %d: got %v, want a timeout", i, err)
			}
		}
		close(made)
		synctest.Wait()
		if _, _, err := ws.acquire(t.Context(), &Run{ID: "r"}, firstDay.Add(2*time.Hour)); err == nil || err.Error() != "no world" {
			t.Errorf("after the place became free: got %v, want no world", err)
		}
	})
}

// TestCloseWhileMaking checks that a world whose building fails while the server closes doesn't
// block the closing.
func TestCloseWhileMaking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := make(chan struct{})
		ws := newWorlds(func(context.Context, *Run, time.Time) (*world, error) {
			<-made
			return nil, errors.New("no world")
		}, slog.New(slog.DiscardHandler))
		go func() {
			if _, _, err := ws.acquire(t.Context(), &Run{ID: "r"}, firstDay); err == nil {
				t.Error("acquire succeeded without a world")
			}
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- ws.closeAll() }()
		synctest.Wait()
		close(made)
		synctest.Wait()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Fatal("closeAll doesn't return")
		}
	})
}

// TestOtherWorldsWhileClosing checks that worlds can be used while another one is closed to make room.
func TestOtherWorldsWhileClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ws := newWorlds(func(_ context.Context, run *Run, at time.Time) (*world, error) {
			return &world{run: run, at: at}, nil
		}, slog.New(slog.DiscardHandler))
		closing, closed := make(chan struct{}), make(chan struct{})
		ws.shut = func(*world) error {
			close(closing)
			<-closed
			return nil
		}
		ws.most = 2
		acquire := func(hour int) {
			_, release, err := ws.acquire(t.Context(), &Run{ID: "r"}, firstDay.Add(time.Duration(hour)*time.Hour))
			if err != nil {
				t.Errorf("world %d: %v", hour, err)
				return
			}
			release()
		}
		acquire(0)
		acquire(1)
		synctest.Wait()
		made := make(chan struct{})
		go func() {
			acquire(2)
			close(made)
		}()
		<-closing
		acquire(1) // hangs if the lock is held
		close(closed)
		<-made
	})
}
