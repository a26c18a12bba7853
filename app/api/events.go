package api

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
)

// eventSummaryWire is an event in a list.
type eventSummaryWire struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Slug      *string  `json:"slug"`
	Category  *string  `json:"category"`
	Tags      []string `json:"tags"`
	Volume    *float64 `json:"volume"`
	Volume24h *float64 `json:"volume24h"`
	EndDate   *string  `json:"endDate"`
	Exclusive *bool    `json:"exclusive"`
	URL       string   `json:"url"`
	SourceURL *string  `json:"sourceUrl"`
	Sample    bool     `json:"sample"`
}

// listedEventWire is a row of the list: an event with its likeliest open markets.
type listedEventWire struct {
	eventSummaryWire
	OpenMarkets int          `json:"openMarkets"`
	Likeliest   []marketWire `json:"likeliest"`
}

// eventDetailWire is one event without its markets.
type eventDetailWire struct {
	eventSummaryWire
	Description *string    `json:"description"`
	Markets     int        `json:"markets"`
	OpenMarkets int        `json:"openMarkets"`
	PriceSum    *float64   `json:"priceSum"`
	Overround   *float64   `json:"overround"`
	UpdatedAt   *time.Time `json:"updatedAt"`
}

// eventMarketWire is a market of an event.
type eventMarketWire struct {
	marketWire
	Prices       []float64      `json:"prices"`
	AwaitsResult bool           `json:"awaitsResult"`
	Consensus    *consensusWire `json:"consensus"`
}

// eventURL is the address of an event's page.
func (a *API) eventURL(id string) string { return a.Config.BaseURL + "/events/" + url.PathEscape(id) }

func (a *API) eventSummary(e *market.Event, markets []market.Market) eventSummaryWire {
	category, tags := e.Subject(markets)
	return eventSummaryWire{
		ID: e.ID, Title: e.Name(markets), Slug: textOrNull(e.Slug), Category: textOrNull(category), Tags: orEmpty(tags),
		Volume: amount(e.Volume), Volume24h: amount(e.Volume24h), EndDate: timeOrNull(e.ClosesAt), Exclusive: e.Exclusive,
		URL: a.eventURL(e.ID), SourceURL: textOrNull(e.URL), Sample: len(markets) > 0 && markets[0].Sample,
	}
}

func (a *API) listEvents() fiber.Handler {
	return cached(a, operation[market.GroupFilter]{
		parse: parseEvents, read: a.readEvents, topics: []generation.Topic{generation.Markets}, cost: costOfEvents,
	})
}

func costOfEvents(f market.GroupFilter) httpserver.Cost {
	return shared(f == market.GroupFilter{EventsOnly: true, Sort: market.ByVolume, Limit: DefaultLimit}, httpserver.Search)
}

func parseEvents(c *fiber.Ctx) (f market.GroupFilter, err error) {
	args := c.Context().QueryArgs()
	f.EventsOnly = true
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	query, err := words(args)
	if err != nil {
		return f, err
	}
	f.Q = strings.Join(query, " ")
	if f.Cursor, err = text(args, "cursor", maxParameter); err != nil {
		return f, err
	}
	if f.Category, err = category(args); err != nil {
		return f, err
	}
	if f.Tag, err = tag(args); err != nil {
		return f, err
	}
	if f.ClosesBefore, err = closesBefore(args); err != nil {
		return f, err
	}
	f.Sort, err = marketSort(args)
	return f, err
}

func (a *API) readEvents(ctx context.Context, f market.GroupFilter) (any, error) {
	page, next, err := a.Groups.List(ctx, a.DB.Reader, f)
	if err != nil {
		return nil, err
	}
	events := make([]listedEventWire, len(page))
	for i := range page {
		g := &page[i]
		events[i] = listedEventWire{a.eventSummary(g.Event, g.Markets), g.Total, make([]marketWire, len(g.Markets))}
		for j := range g.Markets {
			events[i].Likeliest[j] = toMarketWire(&g.Markets[j])
		}
	}
	asOf, stale := a.observed()
	return struct {
		OK         bool              `json:"ok"`
		Events     []listedEventWire `json:"events"`
		NextCursor *string           `json:"nextCursor"`
		AsOf       *string           `json:"asOf"`
		Stale      bool              `json:"stale"`
	}{true, events, textOrNull(next), asOf, stale}, nil
}

// observed returns the time of the last reading of the markets, and whether it is stale.
func (a *API) observed() (asOf *string, stale bool) {
	return timeOrNull(a.Intelligence.Markets.Current().AsOf), a.Intelligence.Markets.Stale()
}

// eventQuery asks for the page of an event's markets after a place. publisher is as in marketQuery.
type eventQuery struct {
	id        string
	after     market.Place
	limit     int
	publisher uuid.UUID
}

func (a *API) getEvent() fiber.Handler {
	return cached(a, operation[eventQuery]{
		parse: a.parseEvent, read: a.readEvent,
		// The consensus in the answer contains the latest predictions.
		topics: []generation.Topic{generation.Markets, generation.Consensus, generation.Predictions},
		cost:   costs[eventQuery](httpserver.Search),
	})
}

func (a *API) parseEvent(c *fiber.Ctx) (q eventQuery, err error) {
	args := c.Context().QueryArgs()
	q.id = httpserver.PathValue(c, "id")
	if q.limit, err = ParseLimit(args); err != nil {
		return q, err
	}
	after, err := text(args, "cursor", maxParameter)
	if err != nil {
		return q, err
	}
	if q.after, err = market.ParsePlace(after); err != nil {
		return q, err
	}
	_, q.publisher, err = a.viewer(c)
	return q, err
}

func (a *API) readEvent(ctx context.Context, q eventQuery) (any, error) {
	db := a.DB.Reader
	e, found, err := a.markets.EventByID(ctx, db, q.id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, problem.NotFound("There is no event with this id. Ids are in GET /api/intelligence/events.")
	}
	siblings, err := a.markets.Siblings(ctx, db, e)
	if err != nil {
		return nil, err
	}
	ids, _, next := siblings.Page(q.after, q.limit)
	markets, err := a.markets.InOrder(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	opinions, err := a.consensusOf(ctx, ids, q.publisher)
	if err != nil {
		return nil, err
	}
	list := make([]eventMarketWire, len(markets))
	for i := range markets {
		m := &markets[i]
		list[i] = eventMarketWire{toMarketWire(m), orEmpty(m.Prices), m.AwaitsResult(a.Now()), consensus(opinions[m.ID])}
	}
	asOf, stale := a.observed()
	return struct {
		OK         bool              `json:"ok"`
		Event      *eventDetailWire  `json:"event"`
		Markets    []eventMarketWire `json:"markets"`
		NextCursor *string           `json:"nextCursor"`
		AsOf       *string           `json:"asOf"`
		Stale      bool              `json:"stale"`
	}{true, a.eventDetail(e, siblings), list, textOrNull(next), asOf, stale}, nil
}

func (a *API) eventDetail(e *market.Event, s *market.Siblings) *eventDetailWire {
	w := &eventDetailWire{
		eventSummaryWire: a.eventSummary(e, s.Markets), Description: textOrNull(e.Description),
		Markets: len(s.IDs), OpenMarkets: s.Open, PriceSum: s.Sum,
	}
	if e.Volume == nil {
		w.Volume = amount(s.Volume)
	}
	if e.ClosesAt.IsZero() {
		w.EndDate = timeOrNull(s.ClosesAt)
	}
	if over, known := s.Overround(e); known {
		w.Overround = &over
	}
	if !e.UpdatedAt.IsZero() {
		at := e.UpdatedAt.UTC()
		w.UpdatedAt = &at
	}
	return w
}
