package polymarket

import (
	"context"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

const (
	// eventsPerRequest is small because the response for an event holds all its markets.
	eventsPerRequest = 20
	// eventsDeadline limits one read of events. A tick can do without it.
	eventsDeadline = 15 * time.Second
)

type wireEvent struct {
	ID          lenientjson.Text   `json:"id"`
	Slug        lenientjson.Text   `json:"slug"`
	Title       lenientjson.Text   `json:"title"`
	Description lenientjson.Text   `json:"description"`
	Category    lenientjson.Text   `json:"category"`
	EndDate     lenientjson.Text   `json:"endDate"`
	Image       lenientjson.Text   `json:"image"`
	Icon        lenientjson.Text   `json:"icon"`
	Volume      lenientjson.Number `json:"volume"`
	Volume24h   lenientjson.Number `json:"volume24hr"`
	NegRisk     lenientjson.Flag   `json:"negRisk"`
	SortBy      lenientjson.Text   `json:"sortBy"`
	Tags        wireTags           `json:"tags"`
}

// title returns the event's title without a placeholder.
func (e *wireEvent) title() string {
	return eventTitle(sanitize.Shorten(sanitize.Line(string(e.Title)), maxQuestion))
}

// event converts a wire event observed at the given time. ok is false if it has no usable id.
func (e *wireEvent) event(at time.Time) (out market.Event, ok bool) {
	out = market.Event{
		ID: name(e.ID), Slug: slug(e.Slug), Title: e.title(), UpdatedAt: at,
		Description: sanitize.Shorten(sanitize.Prose(string(e.Description)), maxDescription),
		ClosesAt:    firstTime(e.EndDate), Volume: amount(e.Volume), Volume24h: amount(e.Volume24h),
		ByPrice: strings.EqualFold(name(e.SortBy), "price"),
	}
	if out.Slug != "" {
		out.URL = publicPage(out.Slug, "")
	}
	if e.NegRisk.Known {
		out.Exclusive = &e.NegRisk.True
	}
	if tags := e.Tags.slugs(); len(tags) > 0 {
		out.Tags, out.TagsKnown = tags, true
	}
	return out, out.ID != ""
}

// position returns a market's position within its event, or nil if it has none.
func (w *wireMarket) position() *float64 {
	if p := w.Threshold; p.Known && !math.IsInf(p.Value, 0) {
		return &p.Value
	}
	return nil
}

// Events returns events by id, with their tags. It leaves out unknown ids. If a request fails, Events returns
// the error and what it has read so far.
func (c *Client) Events(ctx context.Context, ids []string) ([]market.Event, error) {
	ctx, cancel := context.WithTimeout(source.As(ctx, Name), eventsDeadline)
	defer cancel()
	var got []market.Event
	for part := range slices.Chunk(distinct(ids), eventsPerRequest) {
		for _, closed := range []bool{false, true} { // Gamma hides closed events like closed markets; see ask
			found, err := c.events(ctx, part, closed)
			if err != nil {
				return got, err
			}
			got = append(got, found...)
			part = slices.DeleteFunc(slices.Clone(part), func(id string) bool {
				return slices.ContainsFunc(found, func(e market.Event) bool { return e.ID == id })
			})
			if len(part) == 0 {
				break
			}
		}
	}
	return got, nil
}

// events makes one request for open or closed events.
func (c *Client) events(ctx context.Context, ids []string, closed bool) (found []market.Event, err error) {
	page, err := c.page(ctx, "/events/keyset", url.Values{
		"id": ids, "closed": {strconv.FormatBool(closed)}, "limit": {strconv.Itoa(pageLimit)}, "include_tag": {"true"},
	}, false)
	if err != nil {
		return nil, err
	}
	at := database.Stored(c.now().Add(-page.age))
	for _, raw := range page.records {
		var w wireEvent
		if json.Unmarshal(raw, &w) != nil {
			source.Reject(ctx, "malformed", raw, 0)
			continue
		}
		if e, ok := w.event(at); ok && slices.Contains(ids, e.ID) {
			e.Received = page.hash
			found = append(found, e)
		}
	}
	return found, nil
}
