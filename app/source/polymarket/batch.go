package polymarket

import (
	"context"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
)

// batch collects the markets of one read over all its pages, each id once. All have the time of the first
// response, so that one read is one observation.
type batch struct {
	markets []market.Market
	at      map[string]int // from id to index in markets
	events  []market.Event
	grouped map[string]bool // ids of the events so far
	dropped source.Dropped
	now     func() time.Time
	seenAt  time.Time
}

func (c *Client) newBatch() *batch {
	return &batch{at: map[string]int{}, grouped: map[string]bool{}, dropped: source.Dropped{}, now: c.now}
}

// addOpen adds open markets. Pages shift while they are read, so a market may come twice; the first one is
// kept.
func (b *batch) addOpen(ctx context.Context, p page) {
	b.each(ctx, p, func(m market.Market) {
		if m.Closed {
			b.dropped["closed"]++
			return
		}
		if _, twice := b.at[m.ID]; !twice {
			b.put(m)
		}
	})
}

// addAsked adds the requested markets. A later response replaces an earlier one about the same market.
func (b *batch) addAsked(ctx context.Context, p page, ids []string) {
	b.each(ctx, p, func(m market.Market) {
		if !slices.Contains(ids, m.ID) {
			b.dropped["not_asked"]++
			return
		}
		if i, twice := b.at[m.ID]; twice {
			b.markets[i] = m
			return
		}
		b.put(m)
	})
}

func (b *batch) put(m market.Market) {
	b.at[m.ID] = len(b.markets)
	b.markets = append(b.markets, m)
}

func (b *batch) each(ctx context.Context, p page, keep func(market.Market)) {
	if b.seenAt.IsZero() {
		b.seenAt = b.now().UTC().Truncate(time.Microsecond)
	}
	for _, raw := range p.records {
		m, events, reason := decodeMarket(raw, b.seenAt)
		if reason != "" {
			b.dropped[reason]++
			source.Reject(ctx, reason, raw, 0)
			continue
		}
		m.Received = p.hash
		keep(m)
		b.group(events, p.hash)
	}
}

// group adds events that are new. An event is the same with each of its markets.
func (b *batch) group(events []market.Event, hash string) {
	for _, e := range events {
		if !b.grouped[e.ID] {
			b.grouped[e.ID] = true
			e.Received = hash
			b.events = append(b.events, e)
		}
	}
}

// finish returns the reading and logs what was dropped.
func (c *Client) finish(b *batch) source.Markets {
	if b.seenAt.IsZero() {
		b.seenAt = c.now().UTC().Truncate(time.Microsecond)
	}
	if len(b.dropped) > 0 {
		c.log.Warn("polymarket: records dropped", "kept", len(b.markets), "dropped", b.dropped)
	}
	return source.Markets{Markets: b.markets, Events: b.events, Dropped: b.dropped, ObservedAt: b.seenAt}
}
