package api

import (
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/release"
)

const (
	// maxPriceSpan bounds the period of one request, and maxPricePoints bounds the points of one answer.
	maxPriceSpan   = 31 * 24 * time.Hour
	maxPricePoints = 3000
	// defaultPriceSpan is the period of a request that names none.
	defaultPriceSpan = 24 * time.Hour
	// pricesTimeout bounds reading prices. It is longer than for other answers, because the archive may be far away.
	pricesTimeout = 8 * time.Second
	// priceMark begins the cursors of prices.
	priceMark = "price"
)

type pricesWire struct {
	OK         bool          `json:"ok"`
	Market     string        `json:"market"`
	Outcomes   []string      `json:"outcomes"`
	From       time.Time     `json:"from"`
	To         time.Time     `json:"to"`
	Full       bool          `json:"full"`
	Prices     []readingWire `json:"prices"`
	NextCursor *string       `json:"nextCursor"`
}

// readingWire is one reading of an open market.
type readingWire struct {
	priceWire
	Liquidity *float64 `json:"liquidity"`
	Volume    *float64 `json:"volume"`
}

// pricesQuery asks for the readings of a market. To is zero for a period that ends now, and From for the 24 hours
// before To, so that such requests are equal whenever they are made.
type pricesQuery struct{ release.HistoryFilter }

// filter returns the period as of now.
func (q pricesQuery) filter(now time.Time) release.HistoryFilter {
	f := q.HistoryFilter
	if f.To.IsZero() {
		f.To = now.UTC().Truncate(time.Microsecond)
	}
	if f.From.IsZero() {
		f.From = f.To.Add(-defaultPriceSpan)
	}
	return f
}

var priceTopics = []generation.Topic{generation.Markets, generation.Archive}

// listPrices answers with the readings of a market at full resolution.
func (a *API) listPrices(c *fiber.Ctx) error {
	args := c.Context().QueryArgs()
	q, err := parsePrices(httpserver.PathValue(c, "id"), args, a.Now())
	if err != nil {
		return err
	}
	query, err := a.query(c, q, priceTopics)
	if err != nil {
		return err
	}
	made := a.answers.Find(&query)
	if made == nil {
		made, err = a.answers.Load(c.UserContext(), &query, func(ctx context.Context) (*answer.Answer, error) { return a.makePrices(ctx, c, q) })
		if err != nil {
			return a.sendLastGood(c, &query, err)
		}
	}
	a.sendFound(c, made, caching(c))
	return nil
}

// makePrices admits the work in two parts, because the cost of the second one depends on the result of the first.
// It never holds two places.
func (a *API) makePrices(ctx context.Context, c *fiber.Ctx, q pricesQuery) (*answer.Answer, error) {
	now := a.Now()
	f := q.filter(now)
	m, days, err := a.findPrices(ctx, c, &f, now)
	if err != nil {
		return nil, err
	}
	admit := a.admit
	if len(days) > 0 {
		admit = a.admitArchived
	}
	admission, err := admit(c, httpserver.Listing+httpserver.Cost(len(days))*httpserver.ArchivedDay)
	if err != nil {
		return nil, err
	}
	defer admission.Leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pricesTimeout)
	defer cancel()
	h, err := a.Release.History(ctx, &f, days, now)
	if err != nil {
		return nil, archiveError(err)
	}
	made, err := encoded(prices(m, &f, h))
	if err == nil {
		httpserver.Preferred(made, httpserver.QuickCoding(c.Context())) // compresses it before it leaves its place
	}
	return made, err
}

// findPrices returns the market, and the sealed days that hold its prices.
func (a *API) findPrices(ctx context.Context, c *fiber.Ctx, f *release.HistoryFilter, now time.Time) (*market.Market, []archive.SealedDay, error) {
	admission, err := a.admit(c, httpserver.Lookup)
	if err != nil {
		return nil, nil, err
	}
	defer admission.Leave()
	m, found, err := a.markets.ByID(ctx, a.DB.Reader, f.Market)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, errNoMarket()
	}
	days, err := a.Release.Archived(ctx, f, now)
	return m, days, err
}

func prices(m *market.Market, f *release.HistoryFilter, h *release.History) pricesWire {
	w := pricesWire{OK: true, Market: m.ID, Outcomes: m.Outcomes, From: f.From, To: f.To, Full: h.Full, Prices: make([]readingWire, len(h.Prices))}
	for i, p := range h.Prices {
		w.Prices[i] = readingWire{priceWire{At: p.ObservedAt, Prices: p.Prices, Bid: p.BestBid, Ask: p.BestAsk}, p.Liquidity, p.Volume}
	}
	if !h.Next.IsZero() {
		next := cursor.Encode(priceMark, cursor.Time(h.Next))
		w.NextCursor = &next
	}
	return w
}

// parsePrices reads a query that is valid as of now.
func parsePrices(id string, args *fasthttp.Args, now time.Time) (q pricesQuery, err error) {
	q.Market, q.Limit = id, maxPricePoints
	var from, to, every, after string
	for _, p := range []struct {
		name string
		to   *string
	}{{"from", &from}, {"to", &to}, {"every", &every}} {
		if *p.to, err = filter(args, p.name, maxParameter); err != nil {
			return q, err
		}
	}
	if after, err = text(args, "cursor", maxParameter); err != nil {
		return q, err
	}
	if q.To, err = parseMoment("to", to); err != nil {
		return q, err
	}
	if q.From, err = parseMoment("from", from); err != nil {
		return q, err
	}
	f := q.filter(now)
	switch {
	case !f.From.Before(f.To):
		return q, problem.InvalidParameter("from", "must be before to")
	case f.To.Sub(f.From) > maxPriceSpan:
		return q, problem.InvalidParameter("from", "must be at most 31 days before to; send several requests for more")
	}
	if q.Every, err = parseEvery(every); err != nil || after == "" {
		return q, err
	}
	parts, err := cursor.Decode(after, 2)
	if err != nil || parts[0] != priceMark {
		return q, cursor.Invalid()
	}
	at, err := cursor.ParseTime(parts[1])
	if err != nil || at.Before(f.From) || !at.Before(f.To) {
		return q, cursor.Invalid()
	}
	q.From = at
	return q, nil
}

// parseMoment returns the time in a parameter, or the zero time if it is left out.
func parseMoment(name, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := parseTime(value)
	if err != nil || at.Year() < 2000 || at.Year() > 9999 {
		return at, problem.InvalidParameter(name, "must be a time such as 2026-11-21T12:00:00Z")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// parseEvery reads a whole number of minutes, hours or days.
func parseEvery(value string) (time.Duration, error) {
	wrong := problem.InvalidParameter("every", "must be a whole number of minutes, hours or days up to 31 days, such as 10m, 1h or 1d; leave it out for every reading")
	if value == "" {
		return 0, nil
	}
	var n int
	var unit string
	if _, err := fmt.Sscanf(value, "%d%s", &n, &unit); err != nil || n < 1 || n > 31*24*60 || fmt.Sprintf("%d%s", n, unit) != value {
		return 0, wrong
	}
	size, ok := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[unit]
	if !ok || time.Duration(n)*size > maxPriceSpan {
		return 0, wrong
	}
	return time.Duration(n) * size, nil
}
