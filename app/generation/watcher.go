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
	// Interval is the time between two looks of a Watcher.
	Interval = 100 * time.Millisecond
	// lookTimeout bounds one look.
	lookTimeout = 2 * time.Second
)

// Stamp is where all topics stood at one look.
type Stamp [topics]int64

// Same reports whether all of some topics stand in s where they stand in o.
func (s *Stamp) Same(o *Stamp, list []Topic) bool {
	for _, topic := range list {
		if s[topic] != o[topic] {
			return false
		}
	}
	return true
}

// Watcher knows where the topics stand. Its methods are safe for concurrent use.
type Watcher struct {
	db       *bun.DB
	log      *slog.Logger
	now      func() time.Time // of this process alone
	last     atomic.Pointer[moment]
	moved    [topics][]func()
	follower *follower // nil if there is no replica

	mu      sync.Mutex
	next    *look // the one that callers of Check wait for; nil if none do
	looking bool

	stop    context.CancelFunc
	running sync.WaitGroup
}

// look is one reading of the topics that callers wait for.
type look struct {
	done chan struct{} // closed at its end, when err is set
	err  error
}

// moment is what a look has found.
type moment struct {
	stamp  Stamp
	at     time.Time       // before the look
	server database.Server // zero if there is no replica
}

// NewWatcher returns a watcher that reads through db. Before its first look every topic
// stands at 0.
func NewWatcher(db *bun.DB, log *slog.Logger) *Watcher {
	w := &Watcher{db: db, log: log, now: time.Now}
	w.last.Store(&moment{})
	return w
}

// OnMoved has f called whenever a look finds that a topic has moved. Set it before the first
// look. f must not block.
func (w *Watcher) OnMoved(topic Topic, f func()) { w.moved[topic] = append(w.moved[topic], f) }

// Stamp returns where the topics stood at the last successful look.
func (w *Watcher) Stamp() *Stamp { return &w.last.Load().stamp }

// Check looks at where the topics stand. The look begins after the call, so it sees
// everything that was committed before. Callers that arrive during a look share the next one.
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

// run looks until no caller waits.
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
	last := &w.last.Swap(now).stamp
	for topic, calls := range w.moved {
		if now.stamp[topic] != last[topic] {
			for _, f := range calls {
				f()
			}
		}
	}
	return nil
}

// readMoment reads at a moment where the topics stand, and if withServer is set, how far the server is.
func readMoment(ctx context.Context, db *bun.DB, at time.Time, withServer bool) (*moment, error) {
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
	if err := q.Scan(ctx, &rows); err != nil {
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

// Start looks every Interval until Stop.
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
				w.log.Warn("changes by other nodes are not seen until the database answers", "error", err)
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

// Stop ends what Start began and waits for the looks under way.
func (w *Watcher) Stop() {
	w.stop()
	w.running.Wait()
}
