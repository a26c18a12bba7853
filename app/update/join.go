package update

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Join sends updates to a sink until it is done. It starts after the number after, or with the next update
// if after is nil. Join returns once the sink gets new updates as they happen, or is done. If updates after
// the number are gone, or the number is higher than the last one, the sink first gets an update of type
// stream.gap. Once it misses nothing from here on, it gets a heartbeat. If Join fails, it closes the sink.
func (h *Hub) Join(ctx context.Context, sink Sink, f Filter, after *int64) error {
	head, err := h.head(ctx)
	if err != nil {
		sink.Close()
		return err
	}
	r := &reader{sink: sink, filter: f, behind: true, seen: head.Last, told: -1}
	r.sentAt.Store(time.Now().UnixNano())
	if after != nil {
		r.seen, r.told = *after, *after
		if *after > head.Last {
			h.sendGap(r, head.Last)
		}
	}
	h.add(r, head.Last)
	if err := h.follow(ctx, r); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heartbeat(r)
	return nil
}

func (h *Hub) head(ctx context.Context) (Head, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return h.store.Head(ctx, h.db)
}

// add adds a reader that is behind.
func (h *Hub) add(r *reader, head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) == 0 { // nothing was distributed for a while
		h.position, h.recent = max(head, h.position), nil
	}
	h.readers[r] = struct{}{}
	h.Wake() // for updates committed since the head was read
}

// follow sends the updates that a reader has not seen, in portions, and waits until each is sent. It returns
// once the reader isn't behind any more, or is gone. If it fails, it closes the sink.
func (h *Hub) follow(ctx context.Context, r *reader) error {
	for {
		switch h.fromMemory(r) {
		case current:
			return nil
		case missing:
			if err := h.fromLog(ctx, r); err != nil {
				r.sink.Close()
				return err
			}
		}
		if !r.sink.Flush() {
			return nil
		}
	}
}

// progress says how far a reader got.
type progress int

const (
	current progress = iota // it has seen everything and is not behind any more
	partly                  // it got a portion
	missing                 // the updates after the last one that it has seen are not in memory
)

// fromMemory sends the next portion from memory.
func (h *Hub) fromMemory(r *reader) progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.seen >= h.position:
		r.behind = false
		return current
	case len(h.recent) == 0 || h.recent[0].update.Seq > r.seen+1:
		return missing
	}
	next, _ := slices.BinarySearchFunc(h.recent, r.seen+1, func(f frame, seq int64) int { return cmp.Compare(f.update.Seq, seq) })
	h.give(r, h.recent[next:])
	return partly
}

// fromLog sends the next portion from the database. What it reads and encodes is bounded, and counts against
// the limits of the reader. It encodes only what passes the filter.
func (h *Hub) fromLog(ctx context.Context, r *reader) error {
	leave, ok := r.sink.Admit()
	if !ok {
		return nil
	}
	defer leave()
	list, oldest, err := h.chunks(ctx, r.seen, olderAtOnce)
	if err != nil {
		return fmt.Errorf("read older updates: %w", err)
	}
	if len(list) == 0 { // all of them are gone
		return h.skip(ctx, r)
	}
	if oldest > r.seen+1 {
		h.sendGap(r, oldest-1)
	}
	h.give(r, framesOf(list))
	return nil
}

// skip moves a reader to the head.
func (h *Hub) skip(ctx context.Context, r *reader) error {
	head, err := h.head(ctx)
	if err == nil && head.Last > r.seen {
		h.sendGap(r, head.Last)
	}
	return err
}

// sendGap tells a reader that it misses the updates up to a number.
func (h *Hub) sendGap(r *reader, upTo int64) {
	r.send(h.encode.Update(&Update{Seq: upTo, Type: StreamGap, At: time.Now().UTC()}))
	r.seen, r.told = upTo, upTo
}
