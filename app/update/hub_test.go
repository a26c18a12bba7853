package update_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/update"
)

// sink is a reader whose connection accepts data only at a flush. Like a stream, it is dropped if more than
// limit bytes are queued when more data arrives.
type sink struct {
	limit int

	mu      sync.Mutex
	got     []string
	waiting int
	dropped bool
	done    chan struct{}
}

func newSink(limit int) *sink { return &sink{limit: limit, done: make(chan struct{})} }

func (s *sink) Send(texts ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > s.limit && !s.dropped {
		s.dropped = true
		close(s.done)
	}
	for _, text := range texts {
		s.got, s.waiting = append(s.got, string(text)), s.waiting+len(text)
	}
}

func (s *sink) Flush() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = 0
	return !s.dropped
}

func (s *sink) Done() <-chan struct{} { return s.done }

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// TestReaderComesBack checks that a reader that has missed more than a connection takes at once isn't
// dropped while it catches up, and that it gets each update once.
func TestReaderComesBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const missed = 600
		hub := update.NewHub(db.Reader, slog.New(slog.DiscardHandler), update.Encoder{
			Update:    func(u *update.Update) []byte { return fmt.Appendf(nil, "%400d", u.Seq) },
			Heartbeat: []byte("heartbeat"),
		})
		hub.Start()
		t.Cleanup(hub.Stop)
		there := newSink(1 << 30)
		if err := hub.Join(t.Context(), there, update.Filter{}, nil); err != nil {
			t.Fatal(err)
		}
		for range missed / 20 {
			var list []update.Update
			for range 20 {
				list = append(list, moved("1", start))
			}
			record(t, db, list...)
		}
		tick(t, db)
		hub.Wake()
		for deadline := time.Now().Add(20 * time.Second); there.count() < missed+1; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d came", there.count(), missed+1)
			}
		}
		back, after := newSink(64<<10), int64(1)
		if err := hub.Join(t.Context(), back, update.Filter{}, &after); err != nil {
			t.Fatal(err)
		}
		if back.dropped {
			t.Error("it was dropped")
		}
		for i, text := range back.got[:len(back.got)-1] {
			if strings.TrimSpace(text) != fmt.Sprint(i+2) {
				t.Fatalf("%d. is %s", i, strings.TrimSpace(text))
			}
		}
		if len(back.got) != missed || back.got[missed-1] != "heartbeat" {
			t.Errorf("%d texts came, then %q; want %d and a heartbeat", len(back.got), back.got[len(back.got)-1], missed-1)
		}
	})
}
