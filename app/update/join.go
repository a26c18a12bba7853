package update

import (
	"context"
	"fmt"
	"time"
)

// Join sends updates to a sink until it is done. It starts after the number after, or with the next update
// if after is nil. Join returns once the sink gets new updates as they happen, or is done. If updates after
// the number are gone, or the number is higher than the last one, the sink first gets an update of type
// stream.gap.
func (h *Hub) Join(ctx context.Context, sink Sink, f Filter, after *int64) error {
	head, err := h.head(ctx)
	if err != nil {
		return err
	}
	r := &reader{sink: sink, filter: f, seen: head.Last, sentAt: time.Now()}
	first := after != nil
	if after != nil {
		r.seen = *after
		if *after > head.Last {
			h.sendGap(r, head.Last)
		}
	}
	for !h.joined(r, head.Last) {
		if err := h.catchUp(ctx, r, first); err != nil {
			return err
		}
		first = false
		if !sink.Flush() {
			return nil
		}
	}
	return nil
}

func (h *Hub) head(ctx context.Context) (Head, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return h.store.Head(ctx, h.db)
}

// joined adds a reader if the updates that it has not seen are few and in memory.
func (h *Hub) joined(r *reader, head int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) == 0 { // nothing was distributed for a while
		if head < h.position {
			head = h.position
		}
		h.position, h.recent = head, nil
	}
	switch {
	case r.seen >= h.position:
	case h.position-r.seen <= joinBehind && len(h.recent) > 0 && h.recent[0].update.Seq <= r.seen+1:
		r.get(h.recent, time.Now())
	default:
		return false
	}
	h.readers[r] = struct{}{}
	r.sink.Send(h.encode.Heartbeat) // tells the reader that it misses nothing from here on
	h.Wake()                        // for updates committed since the head was read
	return true
}

// catchUp sends the next older updates from the database.
func (h *Hub) catchUp(ctx context.Context, r *reader, first bool) error {
	select {
	case h.slow <- struct{}{}:
	case <-r.sink.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.slow }()
	list, oldest, err := h.chunks(ctx, r.seen)
	if err != nil {
		return fmt.Errorf("read older updates: %w", err)
	}
	if len(list) == 0 { // all of them are gone
		return h.skip(ctx, r)
	}
	if first && oldest > r.seen+1 {
		h.sendGap(r, oldest-1)
	}
	r.get(h.frames(list), time.Now())
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
	r.sink.Send(h.encode.Update(&Update{Seq: upTo, Type: StreamGap, At: time.Now().UTC()}))
	r.seen = upTo
}
