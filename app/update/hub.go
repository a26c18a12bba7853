package update

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

const (
	// maxRecent is how many updates a Hub keeps in memory, for readers that soon connect again.
	maxRecent = 4096
	// newAtOnce bounds the new updates that one query reads for all readers, and olderAtOnce the older ones that
	// it reads for one reader; see Chunks.
	newAtOnce, olderAtOnce = maxRecent, 200
	// portion is how many bytes a reader gets before it must have read them. A sink queues more than that.
	portion = 64 << 10
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
	// Admit waits until one more portion of older updates may be read and encoded for the reader. Then leave
	// must be called. It returns false once the reader is gone.
	Admit() (leave func(), ok bool)
	// Done is closed once the reader is gone.
	Done() <-chan struct{}
	// Close drops the reader.
	Close()
}

// Encoder encodes updates and heartbeats. All readers share its results.
type Encoder struct {
	Update func(u *Update) []byte
	// Heartbeat shows that the stream is alive.
	Heartbeat []byte
	// Position is a heartbeat with the number after which the reader continues. Some clients take it for an event
	// without data, so a reader gets it only if the number is new to it.
	Position func(seq int64) []byte
}

// Hub distributes the updates of the log to the readers of one node. It reads each new update from the
// database once for all readers, and holds no connection while it waits. Its methods are safe for concurrent use.
type Hub struct {
	db     *bun.DB
	log    *slog.Logger
	encode Encoder
	store  Store

	wake chan struct{} // has an element if there may be updates
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
	text   []byte // nil: encode it for each reader
}

// reader is a sink with its filter. While it is behind, only follow sends it updates. Otherwise only handOut does.
type reader struct {
	sink   Sink
	filter Filter
	behind bool         // guarded by Hub.mu
	seen   int64        // the last number that the reader got or that its filter held back
	told   int64        // the last number that was sent to the reader; -1: none
	sentAt atomic.Int64 // Unix nanoseconds
}

// NewHub returns a Hub that reads through db.
func NewHub(db *bun.DB, log *slog.Logger, encode Encoder) *Hub {
	return &Hub{
		db: db, log: log, encode: encode, wake: make(chan struct{}, 1), readers: map[*reader]struct{}{},
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
		list, oldest, err := h.chunks(ctx, after, newAtOnce)
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
		if oldest > after+1 {
			h.jump(oldest - 1)
		}
		frames := framesOf(list)
		for i := range frames {
			frames[i].text = h.encode.Update(frames[i].update)
		}
		h.handOut(ctx, frames)
	}
}

// jump tells every reader that isn't behind of a gap up to a number. The Sequencer has restarted the log.
func (h *Hub) jump(upTo int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.position, h.recent = upTo, nil
	for r := range h.readers {
		if !r.behind && r.seen < upTo {
			h.sendGap(r, upTo)
		}
	}
}

func (h *Hub) chunks(ctx context.Context, after int64, most int) ([]Update, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return h.store.Chunks(ctx, h.db, after, most)
}

// framesOf returns updates as frames that are not yet encoded.
func framesOf(list []Update) []frame {
	frames := make([]frame, len(list))
	for i := range list {
		frames[i].update = &list[i]
	}
	return frames
}

// handOut gives frames to every reader that isn't behind. It skips frames that were already distributed. A reader
// that would get more than a portion at once falls behind.
func (h *Hub) handOut(ctx context.Context, frames []frame) {
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
		if !r.behind && !h.give(r, frames) {
			r.behind = true
			go func() {
				if err := h.follow(ctx, r); err != nil && ctx.Err() == nil {
					h.log.Warn("a stream ended early; its reader connects again", "error", err)
				}
			}()
		}
	}
}

// give sends the frames that a reader has not seen and that pass its filter, up to one portion. It returns false
// if frames are left.
func (h *Hub) give(r *reader, frames []frame) (all bool) {
	var texts [][]byte
	size := 0
	all = true
	for _, f := range frames {
		if f.update.Seq <= r.seen {
			continue
		}
		if r.filter.Fits(f.update) {
			text := f.text
			if text == nil {
				text = h.encode.Update(f.update)
			}
			if size += len(text); size > portion && len(texts) > 0 {
				all = false
				break
			}
			texts = append(texts, text)
			r.told = f.update.Seq
		}
		r.seen = f.update.Seq
	}
	if len(texts) > 0 {
		r.send(texts...)
	}
	return all
}

func (r *reader) send(texts ...[]byte) {
	r.sink.Send(texts...)
	r.sentAt.Store(time.Now().UnixNano())
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
		if now.UnixNano()-r.sentAt.Load() >= int64(heartbeatAfter) {
			h.heartbeat(r)
		}
	}
}

// heartbeat sends a heartbeat. It contains the reader's position if that has moved without an update, because a
// reader that connects again with an old position reads everything since, or gets a gap. Only follow may
// look at the position of a reader that is behind. The caller holds h.mu.
func (h *Hub) heartbeat(r *reader) {
	if r.behind || r.told == r.seen {
		r.send(h.encode.Heartbeat)
		return
	}
	r.told = r.seen
	r.send(h.encode.Position(r.seen))
}
