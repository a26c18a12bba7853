package replay

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/problem"
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

// TestNoWorldWhileClosing checks that no world can be acquired once the server closes, and that each open one is
// closed once.
func TestNoWorldWhileClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, closed := make(chan struct{}), make(chan struct{})
		var shut []time.Time
		var mu sync.Mutex
		hour := func(n int) time.Time { return firstDay.Add(time.Duration(n) * time.Hour) }
		ws := newWorlds(func(_ context.Context, run *Run, at time.Time) (*world, error) {
			if at.Equal(hour(1)) {
				<-made
			}
			return &world{run: run, at: at}, nil
		}, slog.New(slog.DiscardHandler))
		ws.most = 2
		ws.shut = func(w *world) error {
			mu.Lock()
			shut = append(shut, w.at)
			mu.Unlock()
			<-closed
			return nil
		}
		refused := func(n int) {
			_, release, err := ws.acquire(t.Context(), &Run{ID: "r"}, hour(n))
			if err == nil {
				t.Errorf("acquired world %d", n)
				release()
			} else if problem.As(err).Code != problem.CodeUnavailable.Name {
				t.Errorf("world %d: %v", n, err)
			}
		}
		_, release, err := ws.acquire(t.Context(), &Run{ID: "r"}, hour(0))
		if err != nil {
			t.Fatal(err)
		}
		go refused(1) // while it is being made
		synctest.Wait()
		go refused(2) // while it waits for a place
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- ws.closeAll() }()
		synctest.Wait()
		release()
		close(made)
		for n := range 3 {
			go refused(n)
		}
		synctest.Wait()
		close(closed)
		if err := <-done; err != nil {
			t.Error(err)
		}
		slices.SortFunc(shut, time.Time.Compare)
		if want := []time.Time{hour(0), hour(1)}; !slices.Equal(shut, want) {
			t.Errorf("closed the worlds %v, want %v", shut, want)
		}
	})
}

// TestFeedSource checks that the feed of news names the source of the items that it shows.
func TestFeedSource(t *testing.T) {
	t.Parallel()
	at := firstDay.Add(48 * time.Hour)
	item := func(source string, age time.Duration) news.Item {
		return news.Item{ID: source + age.String(), Source: source, Community: news.Communities[0], ObservedAt: at.Add(-age)}
	}
	for _, c := range []struct {
		items []news.Item
		want  string
		shown int
	}{
		{[]news.Item{item("gdelt", 30*time.Hour), item("hackernews", time.Hour)}, "hackernews", 1},
		{[]news.Item{item("hackernews", time.Hour), item("gdelt", 2*time.Hour)}, "gdelt", 1},
		{[]news.Item{item("hackernews", time.Hour), item("gdelt", 2*time.Hour), item("reddit", 3*time.Hour)}, "reddit", 1},
		{[]news.Item{item("gdelt", 40*time.Hour), item("hackernews", 30*time.Hour)}, "hackernews", 0}, // nothing new for a day
	} {
		m := moment{at: at, news: c.items}
		reading, ok := m.newsReading()
		if !ok || reading.Source != c.want || len(reading.Records) != c.shown {
			t.Errorf("%d items of %q are shown, want %d of %q", len(reading.Records), reading.Source, c.shown, c.want)
		}
		for _, shown := range reading.Records {
			if shown.Source != reading.Source {
				t.Errorf("an item of %q is shown in a feed of %q", shown.Source, reading.Source)
			}
		}
	}
	if _, ok := (&moment{at: at}).newsReading(); ok {
		t.Error("a moment without news has a reading")
	}
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
