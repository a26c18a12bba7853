package update_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/update"
)

// queued is how many bytes a sink queues, as many as a stream.
const queued = 128 << 10

// sink is a reader whose connection accepts data only at a flush. Like a stream, it is dropped if more than
// queued bytes wait.
type sink struct {
	reads  chan struct{} // one element lets one flush end; nil: each ends at once
	units  int           // how many portions of older updates it may get; afterwards it is dropped
	places chan struct{} // shared by sinks: the places in which portions are made; nil: no limit

	mu       sync.Mutex
	got      []string
	waiting  int
	portions int // of older updates
	dropped  bool
	done     chan struct{}
}

func newSink() *sink { return &sink{units: 1 << 30, done: make(chan struct{})} }

func (s *sink) Send(texts ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.got, s.waiting = append(s.got, string(text)), s.waiting+len(text)
	}
	if s.waiting > queued {
		s.drop()
	}
}

func (s *sink) drop() {
	if !s.dropped {
		s.dropped = true
		close(s.done)
	}
}

func (s *sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

func (s *sink) Flush() bool {
	if s.reads != nil {
		select {
		case <-s.reads:
		case <-s.done:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = 0
	return !s.dropped
}

func (s *sink) Admit() (leave func(), ok bool) {
	if s.places != nil {
		s.places <- struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.portions++; s.portions > s.units {
		s.drop()
	}
	return func() {
		if s.places != nil {
			<-s.places
		}
	}, !s.dropped
}

func (s *sink) Done() <-chan struct{} { return s.done }

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func (s *sink) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got[len(s.got)-1]
}

// startHub returns a running Hub that encodes each update as its number, and the count of the encoded updates.
func startHub(t *testing.T, db *database.DB) (*update.Hub, *atomic.Int64) {
	t.Helper()
	encoded := &atomic.Int64{}
	hub := update.NewHub(db.Reader, slog.New(slog.DiscardHandler), update.Encoder{
		Update: func(u *update.Update) []byte {
			encoded.Add(1)
			return fmt.Appendf(nil, "%400d", u.Seq)
		},
		Heartbeat: []byte("heartbeat"),
		Position:  func(seq int64) []byte { return fmt.Appendf(nil, "heartbeat at %d", seq) },
	})
	hub.Start()
	t.Cleanup(hub.Stop)
	return hub, encoded
}

// fillLog adds updates of one market to the log, size in each chunk.
func fillLog(t *testing.T, db *database.DB, chunks, size int) {
	t.Helper()
	list := make([]update.Update, size)
	for i := range list {
		list[i] = moved("1", start)
	}
	for range chunks {
		record(t, db, list...)
	}
	tick(t, db)
}

// isComplete checks that a sink got every update up to a number, each once, then one heartbeat, and never too much
// at once.
func (s *sink) isComplete(t *testing.T, after, last int64) {
	t.Helper()
	if s.dropped {
		t.Error("it was dropped")
	}
	if len(s.got) != int(last-after)+1 || !strings.HasPrefix(s.last(), "heartbeat") {
		t.Fatalf("%d texts came, then %q; want %d and a heartbeat", len(s.got), s.last(), last-after)
	}
	for i, text := range s.got[:len(s.got)-1] {
		if strings.TrimSpace(text) != fmt.Sprint(after+1+int64(i)) {
			t.Fatalf("%d. is %s", i, strings.TrimSpace(text))
		}
	}
}

// TestReaderComesBack checks that neither a reader that gets more at once than a connection takes, nor one that
// comes back after as much, is dropped. The second one gets each update once, from memory.
func TestReaderComesBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const missed = 600
		hub, encoded := startHub(t, db)
		there := newSink()
		if err := hub.Join(t.Context(), there, update.Filter{}, nil); err != nil {
			t.Fatal(err)
		}
		fillLog(t, db, missed/20, 20)
		hub.Wake()
		for deadline := time.Now().Add(time.Minute); there.count() < missed+1; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d came", there.count(), missed+1)
			}
		}
		back, after := newSink(), int64(1)
		if err := hub.Join(t.Context(), back, update.Filter{}, &after); err != nil {
			t.Fatal(err)
		}
		back.isComplete(t, after, missed)
		if there.portions+back.portions != 0 || encoded.Load() != missed {
			t.Errorf("%d portions were read again, and %d of %d updates encoded", there.portions+back.portions, encoded.Load(), missed)
		}
	})
}

// TestOlderUpdatesHaveABound checks that a reader pays for each portion of older updates, whether it gets updates
// or its filter lets none through, that a portion has a bound, and that only updates for the reader are encoded.
func TestOlderUpdatesHaveABound(t *testing.T) {
	t.Parallel()
	const most = 600 // updates in a portion
	for name, chunk := range map[string]int{"small chunks": 7, "large chunks": 400} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				count := 2800 // a multiple of both sizes
				fillLog(t, db, count/chunk, chunk)
				hub, encoded := startHub(t, db)
				var first int64
				nothing := update.Filter{Types: []update.Type{update.StreamGap}}
				idle := newSink()
				if err := hub.Join(t.Context(), idle, nothing, &first); err != nil {
					t.Fatal(err)
				}
				if idle.isComplete(t, 0, 0); idle.portions < count/most || encoded.Load() != 0 {
					t.Errorf("%d portions for %d updates, and %d encoded", idle.portions, count, encoded.Load())
				}
				all := newSink()
				if err := hub.Join(t.Context(), all, update.Filter{}, &first); err != nil {
					t.Fatal(err)
				}
				all.isComplete(t, 0, int64(count))
				if n := encoded.Load(); int(n) > count+all.portions {
					t.Errorf("%d updates were encoded in %d portions for %d", n, all.portions, count)
				}
				poor := newSink()
				poor.units = 2
				if err := hub.Join(t.Context(), poor, update.Filter{}, &first); err != nil {
					t.Fatal(err)
				}
				if n := len(poor.got); !poor.dropped || n == 0 || n > 2*most {
					t.Errorf("%d updates came in two portions", n)
				}
			})
		})
	}
}

// TestReaderThatReadsNothing checks that a reader that resumes and then reads nothing holds little, and no place
// that others need.
func TestReaderThatReadsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const count = 2000
		fillLog(t, db, count/400, 400)
		hub, _ := startHub(t, db)
		places, first := make(chan struct{}, 1), int64(0)
		stuck := newSink()
		stuck.places, stuck.reads = places, make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- hub.Join(t.Context(), stuck, update.Filter{}, &first) }()
		stuck.reads <- struct{}{} // it reads one portion
		other := newSink()
		other.places = places
		if err := hub.Join(t.Context(), other, update.Filter{}, &first); err != nil {
			t.Fatal(err)
		}
		other.isComplete(t, 0, count)
		stuck.mu.Lock()
		if stuck.waiting > queued/2 || stuck.dropped {
			t.Errorf("%d bytes wait", stuck.waiting)
		}
		stuck.mu.Unlock()
		stuck.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestReaderIsToldItsPosition checks that a reader without an event knows where to continue, now and after updates
// that its filter holds back, and that it isn't told twice.
func TestReaderIsToldItsPosition(t *testing.T) {
	t.Parallel()
	const before, passing = 3, 5
	nothing := update.Filter{Types: []update.Type{update.StreamGap}}
	end, ahead := int64(before), int64(before+1)
	for name, c := range map[string]struct {
		filter update.Filter
		after  *int64
		want   []string // after the join, the passing updates and twice the time of a heartbeat
	}{
		"a new reader":               {nothing, nil, []string{"heartbeat at 3", "heartbeat at 8", "heartbeat"}},
		"one that comes back":        {nothing, &end, []string{"heartbeat", "heartbeat at 8", "heartbeat"}},
		"one that gets a gap":        {nothing, &ahead, []string{"3", "heartbeat", "heartbeat at 8", "heartbeat"}},
		"one that gets each of them": {update.Filter{}, &end, []string{"heartbeat", "4", "5", "6", "7", "8", "heartbeat", "heartbeat"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				fillLog(t, db, 1, before)
				hub, _ := startHub(t, db)
				reader, all := newSink(), newSink()
				for s, f := range map[*sink]update.Filter{reader: c.filter, all: {}} {
					after := c.after
					if s == all {
						after = nil
					}
					if err := hub.Join(t.Context(), s, f, after); err != nil {
						t.Fatal(err)
					}
				}
				fillLog(t, db, 1, passing)
				hub.Wake()
				for all.count() <= passing {
					runtime.Gosched()
				}
				hub.Idle()
				hub.Idle()
				for i := range reader.got {
					reader.got[i] = strings.TrimSpace(reader.got[i])
				}
				if !slices.Equal(reader.got, c.want) {
					t.Errorf("got %q, want %q", reader.got, c.want)
				}
			})
		})
	}
}

// TestReaderBehindIsToldNoPosition checks that a reader isn't told a position before it is where new updates are.
func TestReaderBehindIsToldNoPosition(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		fillLog(t, db, 5, 400)
		hub, _ := startHub(t, db)
		slow, first := newSink(), int64(0)
		slow.reads = make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- hub.Join(t.Context(), slow, update.Filter{Types: []update.Type{update.StreamGap}}, &first)
		}()
		slow.reads <- struct{}{} // it has read a portion
		hub.Idle()
		close(slow.reads)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := []string{"heartbeat", "heartbeat at 2000"}; !slices.Equal(slow.got, want) {
			t.Errorf("got %q, want %q", slow.got, want)
		}
	})
}

// TestReaderOfARestartedLog checks that a connected reader gets a gap when the log restarts.
func TestReaderOfARestartedLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		hub, _ := startHub(t, db)
		reader := newSink()
		if err := hub.Join(t.Context(), reader, update.Filter{}, nil); err != nil {
			t.Fatal(err)
		}
		next := func(updates, texts int) {
			t.Helper()
			fillLog(t, db, 1, updates)
			hub.Wake()
			for reader.count() < texts {
				runtime.Gosched()
			}
		}
		next(2, 3)
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return update.Restart(ctx, tx, start) })
		if err != nil {
			t.Fatal(err)
		}
		next(1, 5)
		for i := range reader.got {
			reader.got[i] = strings.TrimSpace(reader.got[i])
		}
		gap := start.UnixMicro()
		if want := []string{"heartbeat at 0", "1", "2", fmt.Sprint(gap), fmt.Sprint(gap + 1)}; !slices.Equal(reader.got, want) {
			t.Errorf("got %q, want %q", reader.got, want)
		}
	})
}
