package api

import (
	"cmp"
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// beyondSnapshot reports whether a request for a list of signals needs the database: for a later page,
// another order, or closed markets.
func beyondSnapshot(c *fiber.Ctx) bool {
	args := c.Context().QueryArgs()
	return args.Has("cursor") || args.Has("sort") || args.Has("status")
}

// signals returns the handlers of a list of signals. Requests within the snapshot are answered from it and
// limited per node. All others are read from the database, and count as reads.
func signals(s *httpserver.Server, snapshot, stored fiber.Handler) []fiber.Handler {
	when := func(beyond bool, h fiber.Handler) fiber.Handler {
		return func(c *fiber.Ctx) error {
			if beyondSnapshot(c) == beyond {
				return h(c)
			}
			return c.Next()
		}
	}
	return []fiber.Handler{
		s.EdgeFilter(), when(false, s.Limits.Snapshot()), when(true, s.OptionalAgent()), when(true, s.Limits.Reads()),
		func(c *fiber.Ctx) error {
			if beyondSnapshot(c) {
				return stored(c)
			}
			return snapshot(c)
		},
	}
}

func (a *API) listStoredMarkets() fiber.Handler {
	return cached(a, operation[market.Filter]{
		parse: parseStoredMarkets, read: a.readStoredMarkets, topics: []generation.Topic{generation.Markets},
		cost: func(f market.Filter) httpserver.Cost { return worded(f.Q) },
	})
}

func parseStoredMarkets(c *fiber.Ctx) (f market.Filter, err error) {
	args := c.Context().QueryArgs()
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	narrow, err := parseMarketFilter(args)
	if err != nil {
		return f, err
	}
	f.Category, f.Tag, f.Q = narrow.category, narrow.tag, strings.Join(narrow.words, " ")
	f.ClosesBefore = narrow.closesBefore
	if f.Sort, err = marketSort(args); err != nil {
		return f, err
	}
	status, err := choice(args, "status", "open", "closed")
	if err != nil {
		return f, err
	}
	f.Closed = status == "closed"
	f.Cursor, err = text(args, "cursor", maxParameter)
	return f, err
}

// marketSort reads the parameter sort of a list of markets or events.
func marketSort(args *fasthttp.Args) (market.Sort, error) {
	sort, err := choice(args, "sort", string(market.ByVolume), string(market.ByClosing), string(market.ByNewest))
	return cmp.Or(market.Sort(sort), market.ByVolume), err
}

func (a *API) readStoredMarkets(ctx context.Context, f market.Filter) (any, error) {
	page, next, err := a.markets.List(ctx, a.DB.Reader, f)
	if err != nil {
		return nil, err
	}
	list := make([]marketWire, len(page))
	for i := range page {
		list[i] = toMarketWire(&page[i])
	}
	asOf, stale := a.observed()
	return struct {
		OK         bool         `json:"ok"`
		Markets    []marketWire `json:"markets"`
		NextCursor *string      `json:"nextCursor"`
		AsOf       *string      `json:"asOf"`
		Stale      bool         `json:"stale"`
	}{true, list, textOrNull(next), asOf, stale}, nil
}

// newsByAge is the order of the news in the database.
const newsByAge = "newest"

// listStoredNews has no topics, because its answers may be some seconds old, like those from the snapshot.
func (a *API) listStoredNews() fiber.Handler {
	return cached(a, operation[news.Filter]{
		parse: parseStoredNews, read: a.readStoredNews, cost: func(f news.Filter) httpserver.Cost { return worded(f.Q) },
	})
}

func parseStoredNews(c *fiber.Ctx) (f news.Filter, err error) {
	args := c.Context().QueryArgs()
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	if f.Community, err = community(args); err != nil {
		return f, err
	}
	query, err := words(args)
	if err != nil {
		return f, err
	}
	f.Q = strings.Join(query, " ")
	if _, err = choice(args, "sort", newsByAge); err != nil {
		return f, err
	}
	f.Cursor, err = text(args, "cursor", maxParameter)
	return f, err
}

func (a *API) readStoredNews(ctx context.Context, f news.Filter) (any, error) {
	feed := a.Intelligence.News
	f.Live = feed.Current().Live() // live news replaces all samples
	page, next, err := a.newsItems.List(ctx, a.DB.Reader, f)
	if err != nil {
		return nil, err
	}
	return struct {
		OK         bool       `json:"ok"`
		News       []newsWire `json:"news"`
		NextCursor *string    `json:"nextCursor"`
		AsOf       *string    `json:"asOf"`
		Stale      bool       `json:"stale"`
	}{true, newsWires(page), textOrNull(next), timeOrNull(feed.Current().AsOf), feed.Stale()}, nil
}
