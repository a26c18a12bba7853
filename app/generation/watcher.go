package generation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// Interval is the time between two checks of a Watcher.
	Interval = 100 * time.Millisecond
	// lookTimeout bounds one check.
	lookTimeout = 2 * time.Second
)

// Stamp holds the values of all topics at one moment.
type Stamp [topics]int64

// Same reports whether the topics in list have the same values in s and o.
func (s *Stamp) Same(o *Stamp, list []Topic) bool {
	for _, topic := range list {
		if s[topic] != o[topic] {
			return false
		}
	}
	return true
}

// Watcher keeps the values of the topics up to date. Its methods are safe for concurrent use.
type Watcher struct {
	db       *bun.DB
	log      *slog.Logger
	now      func() time.Time // clock of this process
	last     atomic.Pointer[moment]
	moved    [topics][]func()
	follower *follower // nil if there is no replica

	mu      sync.Mutex
	next    *look // the look that callers of Check wait for; nil if none do
	looking bool

	stop    context.CancelFunc
	running sync.WaitGroup
}

// look is a check that callers wait for.
type look struct {
	done chan struct{} // closed at the end, after err is set
	err  error
}

// moment is the result of a check.
type moment struct {
	stamp  Stamp
	at     time.Time       // the time before the check
	server database.Server // zero if there is no replica
}

// NewWatcher returns a Watcher that reads through db. Before its first check, every topic has the
// value 0.
func NewWatcher(db *bun.DB, log *slog.Logger) *Watcher {
	w := &Watcher{db: db, log: log, now: time.Now}
	w.last.Store(&moment{})
	return w
}

// OnMoved registers f. Every check that finds the topic moved calls f, before Stamp returns the new
// value. Call OnMoved before the first check. f must not block.
func (w *Watcher) OnMoved(topic Topic, f func()) { w.moved[topic] = append(w.moved[topic], f) }

// Stamp returns the values of the topics at the last successful check.
func (w *Watcher) Stamp() *Stamp { return &w.last.Load().stamp }

// Check reads the values of the topics. The read begins after the call, so it sees everything that
// was committed before. Callers that arrive during a read share the next one.
func (w *Watcher) Check(ctx context.Context) error {
	l := w.join()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the look that begins next.
func (w *Watcher) join() *look {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = &look{done: make(chan struct{})}
	}
	if !w.looking {
		w.looking = true
		w.running.Go(w.run)
	}
	return w.next
}

// run checks until no caller waits.
func (w *Watcher) run() {
	for {
		w.mu.Lock()
		l := w.next
		w.next = nil
		w.looking = l != nil
		w.mu.Unlock()
		if l == nil {
			return
		}
		l.err = w.look()
		close(l.done)
	}
}

func (w *Watcher) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	now, err := readMoment(ctx, w.db, w.now(), w.follower != nil)
	if err != nil {
		return err
	}
	if w.follower != nil {
		w.follower.note(now)
	}
	last := w.Stamp()
	for topic, calls := range w.moved {
		if now.stamp[topic] != last[topic] {
			for _, f := range calls {
				f()
			}
		}
	}
	w.last.Store(now) // after the calls, so that no answer with the new stamp is made from what they drop
	return nil
}

// ReadStamp reads the values of all topics now. It is for a job that looks less often than a Watcher.
func ReadStamp(ctx context.Context, db bun.IDB) (Stamp, error) {
	now, err := readMoment(ctx, db, time.Time{}, false)
	if err != nil {
		return Stamp{}, err
	}
	return now.stamp, nil
}

// readMoment reads the values of the topics and, if withServer is true, the position of the server.
func readMoment(ctx context.Context, db bun.IDB, at time.Time, withServer bool) (*moment, error) {
	now := &moment{at: at}
	var rows []struct {
		database.Server
		Topic string
		Value int64
	}
	q := db.NewSelect().Table("generations").Column("topic", "value")
	if withServer {
		q = db.NewSelect().TableExpr("(SELECT " + database.ServerColumns + ") AS s").ColumnExpr("s.*, g.topic, g.value").
			Join("LEFT JOIN generations AS g ON TRUE")
	}
	if err := database.NewPlanned(db).Scan(ctx, q, &rows); err != nil {
		return nil, fmt.Errorf("read the generations: %w", err)
	}
	for _, row := range rows {
		now.server = row.Server
		if topic := slices.Index(names[:], row.Topic); topic >= 0 {
			now.stamp[topic] += row.Value
		}
	}
	return now, nil
}

// Start begins to check every Interval, until Stop.
func (w *Watcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	if w.follower != nil {
		w.running.Go(func() { w.follower.watch(ctx) })
	}
	w.running.Go(func() {
		tick := time.NewTicker(Interval)
		defer tick.Stop()
		failing := false
		for {
			err := w.Check(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !failing {
				w.log.Warn("this node doesn't see changes by other nodes until the database answers", "error", err)
			}
			failing = err != nil
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop ends the checks that Start began and waits for running ones.
func (w *Watcher) Stop() {
	w.stop()
	w.running.Wait()
}
