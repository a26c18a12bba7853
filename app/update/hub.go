package update

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

const (
	// maxRecent is how many updates a Hub keeps in memory, for readers that come back soon.
	maxRecent = 1024
	// joinBehind is how many updates a reader may have to get when it joins. One that is further
	// behind reads from the database, which waits for it: from memory it would get more at once
	// than a sink may let wait.
	joinBehind = 100
	// chunksAtOnce is how many chunks one query reads.
	chunksAtOnce = 32
	// catchingUp is how many readers read older updates from the database at a time.
	catchingUp = 4
	// heartbeatAfter is how long a reader gets nothing before it gets a sign of life.
	heartbeatAfter = 15 * time.Second
	// readTimeout bounds one query.
	readTimeout = 5 * time.Second
)

// Filter narrows what a reader gets. Zero fields do not narrow.
type Filter struct {
	Types    []Type
	MarketID string
	AgentID  uuid.UUID // the author of a prediction
	Category string    // of a market
	// Viewer also gets the private updates of its own predictions.
	Viewer uuid.UUID
}

// Fits reports whether the filter lets an update through.
func (f *Filter) Fits(u *Update) bool {
	m := u.Ref.Market
	return (!u.Private || (f.Viewer != uuid.Nil && f.Viewer == u.AgentID())) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, u.Type)) &&
		(f.AgentID == uuid.Nil || f.AgentID == u.AgentID()) &&
		(f.MarketID == "" || (m != nil && f.MarketID == m.ID)) &&
		(f.Category == "" || (m != nil && f.Category == m.Category))
}

// Sink takes what a reader gets.
type Sink interface {
	// Send queues texts and doesn't wait. It drops a reader that is too slow.
	Send(texts ...[]byte)
	// Flush waits until what is queued is sent. It returns false once the reader is gone.
	Flush() bool
	// Done is closed once the reader is gone.
	Done() <-chan struct{}
}

// Encoder writes what is sent. What it returns is shared by all readers.
type Encoder struct {
	Update func(u *Update) []byte
	// Heartbeat is a sign of life. It carries no number: many clients take a number for an event.
	Heartbeat []byte
}

// Hub hands the updates of the log to the readers of one node. It reads each from the
// database once, and holds no connection while it waits. Its methods are safe for concurrent
// use.
type Hub struct {
	db     *bun.DB
	log    *slog.Logger
	encode Encoder
	store  Store

	wake chan struct{} // has an element if there may be updates
	slow chan struct{} // an element for each reader that reads older updates
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	readers  map[*reader]struct{}
	position int64   // the last number that was handed out, once there is a reader
	recent   []frame // up to position, in order
}

// frame is an update as it is sent.
type frame struct {
	update *Update
	text   []byte
}

type reader struct {
	sink   Sink
	filter Filter
	seen   int64 // the last number that it got or that its filter held back
	sentAt time.Time
}

// NewHub returns a Hub that reads through db.
func NewHub(db *bun.DB, log *slog.Logger, encode Encoder) *Hub {
	return &Hub{
		db: db, log: log, encode: encode, wake: make(chan struct{}, 1), slow: make(chan struct{}, catchingUp),
		readers: map[*reader]struct{}{},
	}
}

// Wake tells that there may be updates. It doesn't wait.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Start hands out updates until Stop.
func (h *Hub) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.done = cancel, make(chan struct{})
	go func() {
		defer close(h.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-h.wake:
				h.read(ctx)
			case now := <-tick.C:
				h.beat(now)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends what Start began. It doesn't close the sinks.
func (h *Hub) Stop() {
	h.stop()
	<-h.done
}

// read hands out what is new, unless there are no readers.
func (h *Hub) read(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		idle, after := len(h.readers) == 0, h.position
		h.mu.Unlock()
		if idle {
			return
		}
		list, _, err := h.chunks(ctx, after)
		if err != nil {
			if ctx.Err() == nil {
				h.log.Warn("updates not read; streams wait", "error", err)
				time.AfterFunc(time.Second, h.Wake)
			}
			return
		}
		if len(list) == 0 {
			return
		}
		h.handOut(h.frames(list))
	}
}

func (h *Hub) chunks(ctx context.Context, after int64) ([]Update, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return h.store.Chunks(ctx, h.db, after, chunksAtOnce)
}

func (h *Hub) frames(list []Update) []frame {
	frames := make([]frame, len(list))
	for i := range list {
		frames[i] = frame{&list[i], h.encode.Update(&list[i])}
	}
	return frames
}

// handOut gives frames to every reader. Those before the position were handed out already.
func (h *Hub) handOut(frames []frame) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(frames) > 0 && frames[0].update.Seq <= h.position {
		frames = frames[1:]
	}
	if len(frames) == 0 {
		return
	}
	h.position = frames[len(frames)-1].update.Seq
	h.recent = append(h.recent, frames...)
	if extra := len(h.recent) - maxRecent; extra > 0 {
		h.recent = slices.Clone(h.recent[extra:]) // a shared array would keep the old ones
	}
	for r := range h.readers {
		r.get(frames, now)
	}
}

// get sends the frames that a reader has not seen and that fit its filter.
func (r *reader) get(frames []frame, now time.Time) {
	var texts [][]byte
	for _, f := range frames {
		if f.update.Seq <= r.seen {
			continue
		}
		r.seen = f.update.Seq
		if r.filter.Fits(f.update) {
			texts = append(texts, f.text)
		}
	}
	if len(texts) > 0 {
		r.sink.Send(texts...)
		r.sentAt = now
	}
}

// beat forgets readers that are gone, and sends a sign of life to those that have got nothing
// for long.
func (h *Hub) beat(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.readers {
		select {
		case <-r.sink.Done():
			delete(h.readers, r)
			continue
		default:
		}
		if now.Sub(r.sentAt) < heartbeatAfter {
			continue
		}
		r.sink.Send(h.encode.Heartbeat)
		r.sentAt = now
	}
}
