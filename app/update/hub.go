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
	// maxRecent is how many updates a Hub keeps in memory, for readers that soon connect again.
	maxRecent = 1024
	// joinBehind is how many updates a reader may be behind when it joins. For a reader that is further
	// behind, Join reads the database in portions and waits until each is sent. From memory the reader would
	// get more at once than a sink may queue.
	joinBehind = 100
	// chunksAtOnce is how many chunks one query reads.
	chunksAtOnce = 32
	// catchingUp is how many readers read older updates from the database at a time.
	catchingUp = 4
	// heartbeatAfter is the time without an update after which a reader gets a heartbeat.
	heartbeatAfter = 15 * time.Second
	// readTimeout bounds one query.
	readTimeout = 5 * time.Second
)

// Filter selects the updates of a reader. Zero fields select all.
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

// Sink takes the updates of a reader.
type Sink interface {
	// Send queues texts and doesn't wait. It drops a reader that is too slow.
	Send(texts ...[]byte)
	// Flush waits until the queue is sent. It returns false once the reader is gone.
	Flush() bool
	// Done is closed once the reader is gone.
	Done() <-chan struct{}
}

// Encoder encodes updates and heartbeats. All readers share its results.
type Encoder struct {
	Update func(u *Update) []byte
	// Heartbeat shows that the stream is alive. It has no number, because many clients treat a message with a
	// number as an event.
	Heartbeat []byte
}

// Hub distributes the updates of the log to the readers of one node. It reads each new update from the
// database once for all readers, and holds no connection while it waits. Its methods are safe for concurrent use.
type Hub struct {
	db     *bun.DB
	log    *slog.Logger
	encode Encoder
	store  Store

	wake chan struct{} // has an element if there may be updates
	slow chan struct{} // one element for each reader that reads older updates
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	readers  map[*reader]struct{}
	position int64   // the last distributed number, once there is a reader
	recent   []frame // up to position, in order
}

// frame is an update in its encoded form.
type frame struct {
	update *Update
	text   []byte
}

type reader struct {
	sink   Sink
	filter Filter
	seen   int64 // the last number that the reader got or that its filter held back
	sentAt time.Time
}

// NewHub returns a Hub that reads through db.
func NewHub(db *bun.DB, log *slog.Logger, encode Encoder) *Hub {
	return &Hub{
		db: db, log: log, encode: encode, wake: make(chan struct{}, 1), slow: make(chan struct{}, catchingUp),
		readers: map[*reader]struct{}{},
	}
}

// Wake says that there may be updates. It doesn't wait.
func (h *Hub) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Start distributes updates until Stop.
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

// Stop ends the work that Start began. It doesn't close the sinks.
func (h *Hub) Stop() {
	h.stop()
	<-h.done
}

// read distributes the new updates, unless there are no readers.
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

// handOut gives frames to every reader. It skips frames that were already distributed.
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
		h.recent = slices.Clone(h.recent[extra:]) // a slice of the old array would keep the old frames in memory
	}
	for r := range h.readers {
		r.get(frames, now)
	}
}

// get sends the frames that a reader has not seen and that pass its filter.
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

// beat removes readers that are gone, and sends a heartbeat to readers that have been idle for
// heartbeatAfter.
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
