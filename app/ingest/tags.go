package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

const (
	// eventsPerTick is how many events a tick requests.
	eventsPerTick = 100
	// askedAgainAfter is how long after a request without an answer an event is requested again.
	askedAgainAfter = time.Hour
)

// completeTags gives markets without tags those of their event. It returns the events with the tags that it
// read. An event is requested once, by whichever node ticks. If the request fails, only these tags are missing.
func (m *Markets) completeTags(
	ctx context.Context, events []market.Event, readings ...[]market.Market,
) ([]market.Event, error) {
	bare := withoutTags(readings)
	if len(bare) == 0 {
		return events, nil
	}
	known, err := m.store.EventsByID(ctx, m.DB.Reader, bare)
	if err != nil {
		return events, err
	}
	learned, err := m.askTags(ctx, known, bare)
	for i := range learned {
		known[learned[i].ID] = &learned[i]
	}
	for _, reading := range readings {
		for i := range reading {
			inherit(&reading[i], known[reading[i].EventID])
		}
	}
	return merge(events, learned), err
}

// withoutTags lists the ids of events that have markets without tags, in the order of the markets.
func withoutTags(readings [][]market.Market) (ids []string) {
	seen := map[string]bool{"": true}
	for _, reading := range readings {
		for i := range reading {
			if id := reading[i].EventID; len(reading[i].Tags) == 0 && !reading[i].Sample && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// askTags requests the events whose tags aren't known. It records the events without an answer, so that the
// next tick requests others. One answer that lacks an event doesn't prove that the source doesn't know it.
func (m *Markets) askTags(ctx context.Context, known map[string]*market.Event, ids []string) ([]market.Event, error) {
	now := database.Stored(m.Now())
	wanted := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		e := known[id]
		return e != nil && (e.TagsKnown || now.Sub(e.TagsAskedAt).Abs() < askedAgainAfter) // in the future if a clock was ahead
	})
	if wanted = wanted[:min(len(wanted), eventsPerTick)]; len(wanted) == 0 {
		return nil, nil
	}
	got, askErr := m.Source.Events(ctx, wanted)
	learned := soundEvents(got, m.dated(time.Time{}))
	answered := map[string]bool{}
	for i := range learned {
		learned[i].TagsKnown, learned[i].TagsAskedAt = true, now
		answered[learned[i].ID] = true
	}
	if askErr != nil {
		m.Log.Warn("tags of events not read", "count", len(wanted), "error", askErr)
		askErr = fmt.Errorf("read the tags of events: %w", askErr)
	}
	unanswered := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool { return answered[id] })
	return learned, errors.Join(askErr, m.store.TagsTried(ctx, m.DB, unanswered, now))
}

// inherit gives a market without tags those of its event.
func inherit(m *market.Market, e *market.Event) {
	if e == nil || len(m.Tags) > 0 || len(e.Tags) == 0 {
		return
	}
	m.Tags = e.Tags
	if category := market.CategoryOf(append(slices.Clone(e.Tags), m.Category)...); category != "" {
		m.Category = category
	}
}

// merge adds what was read about events to what the markets' responses contained.
func merge(events, learned []market.Event) []market.Event {
	at := make(map[string]int, len(events))
	for i := range events {
		at[events[i].ID] = i
	}
	for _, e := range learned {
		i, known := at[e.ID]
		if !known {
			events = append(events, e)
			continue
		}
		events[i].Tags, events[i].TagsKnown, events[i].TagsAskedAt = e.Tags, e.TagsKnown, e.TagsAskedAt
	}
	return events
}
