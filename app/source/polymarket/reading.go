package polymarket

import (
	"context"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
)

// reading collects the markets of one read over all its pages, each id once. All have the time of the first
// response, so that one read is one observation. Only those that a cache kept for longer have an earlier time.
type reading struct {
	markets []market.Market
	at      map[string]int // from id to index in markets
	events  []market.Event
	grouped map[string]bool // ids of the events so far
	dropped source.Dropped
	unread  map[string]bool // ids of the dropped records; "" stands for any
	now     func() time.Time
	seenAt  time.Time
}

func (c *Client) newReading() *reading {
	return &reading{
		at: map[string]int{}, grouped: map[string]bool{}, dropped: source.Dropped{}, unread: map[string]bool{}, now: c.now,
	}
}

// addOpen adds open markets. Pages shift while they are read, so a market may come twice; the first one is
// kept.
func (r *reading) addOpen(ctx context.Context, p page) {
	r.each(ctx, p, func(m market.Market) {
		if m.Closed {
			r.dropped["closed"]++
			return
		}
		if _, twice := r.at[m.ID]; !twice {
			r.put(m)
		}
	})
}

// addAsked adds the requested markets. A later response replaces an earlier one about the same market.
func (r *reading) addAsked(ctx context.Context, p page, ids []string) {
	r.each(ctx, p, func(m market.Market) {
		if !slices.Contains(ids, m.ID) {
			r.dropped["not_asked"]++
			r.unread[""] = true // the source may have ignored the ids
			return
		}
		if i, twice := r.at[m.ID]; twice {
			r.markets[i] = m
			return
		}
		r.put(m)
	})
}

func (r *reading) put(m market.Market) {
	r.at[m.ID] = len(r.markets)
	r.markets = append(r.markets, m)
}

func (r *reading) each(ctx context.Context, p page, keep func(market.Market)) {
	if r.seenAt.IsZero() {
		r.seenAt = database.Stored(r.now())
	}
	at := r.seenAt
	if made := database.Stored(r.now().Add(-p.age)); made.Before(at) {
		at = made
	}
	for _, raw := range p.records {
		m, events, reason := decodeMarket(raw, at, p.closed)
		if reason != "" {
			r.dropped[reason]++
			source.Reject(ctx, reason, raw, 0)
			if !validID(m.ID) {
				m.ID = ""
			}
			r.unread[m.ID] = true
			continue
		}
		m.Received = p.hash
		keep(m)
		r.group(events, p.hash)
	}
}

// missing returns the ids of which the responses hold no record.
func (r *reading) missing(ids []string) (out []string) {
	for _, id := range ids {
		if _, read := r.at[id]; !read && !r.unread[id] && !r.unread[""] {
			out = append(out, id)
		}
	}
	return out
}

// group adds events that are new. An event is the same with each of its markets.
func (r *reading) group(events []market.Event, hash string) {
	for _, e := range events {
		if !r.grouped[e.ID] {
			r.grouped[e.ID] = true
			e.Received = hash
			r.events = append(r.events, e)
		}
	}
}

// finish returns the reading and logs what was dropped.
func (c *Client) finish(r *reading) source.Markets {
	if r.seenAt.IsZero() {
		r.seenAt = database.Stored(c.now())
	}
	if len(r.dropped) > 0 {
		c.log.Warn("polymarket: records dropped", "kept", len(r.markets), "dropped", r.dropped)
	}
	return source.Markets{Markets: r.markets, Events: r.events, Dropped: r.dropped, ObservedAt: r.seenAt}
}
