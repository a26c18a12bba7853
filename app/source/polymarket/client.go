// Package polymarket reads prediction markets from Polymarket: Gamma for the
// markets, the order book's API (CLOB) for winners.
package polymarket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

// Name is the Source of every market this client reads.
const Name = "polymarket"

const (
	pageLimit = 100  // Gamma silently limits a page to this
	maxURL    = 8000 // in bytes; Gamma rejects longer addresses from somewhere above 8 KB
	// maxFailures is how many batches of ids may fail in one read. To find one bad id among a hundred takes 8 failures.
	// unansweredFailures is how many may fail before one is answered, because then the ids are hardly the cause.
	maxFailures        = 16
	unansweredFailures = 4
	// readDeadline limits one read with all its pages, so that it ends before the next tick a minute later.
	readDeadline = 45 * time.Second
)

// Config configures a Client. The addresses are bases without a path.
type Config struct {
	GammaURL string
	ClobURL  string
	Fetch    *fetch.Client
	Logger   *slog.Logger
	Now      func() time.Time
}

// Client is a source.MarketSource. It is safe for concurrent use.
type Client struct {
	gamma, clob string
	fetch       *fetch.Client
	log         *slog.Logger
	now         func() time.Time
}

var _ source.MarketSource = (*Client)(nil)

// New returns a client. A nil Fetch, Logger or Now has a default.
func New(cfg Config) *Client {
	c := &Client{
		gamma: strings.TrimRight(cfg.GammaURL, "/"), clob: strings.TrimRight(cfg.ClobURL, "/"), now: cfg.Now,
		fetch: cmp.Or(cfg.Fetch, fetch.New(fetch.Options{})), log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c
}

// Top returns the n open markets with the highest volume (n is at least 1), highest first, unknown volume last,
// ties by id. If any page fails, the whole read fails. Reason "empty" means that there was no usable market,
// and "cursor" that the pages didn't end.
func (c *Client) Top(ctx context.Context, n int) (source.Markets, error) {
	ctx, cancel := context.WithTimeout(source.As(ctx, Name), readDeadline)
	defer cancel()
	n = max(n, 1)
	got := c.newReading()
	filter := url.Values{
		"order": {"volumeNum"}, "ascending": {"false"}, "closed": {"false"},
		"limit": {strconv.Itoa(pageLimit)}, "include_tag": {"true"},
	}
	// A short page isn't necessarily the last one, so many more than n/100 pages are allowed.
	maxPages := 20 + 4*(n/pageLimit)
	cursors := map[string]bool{}
	for pages := 1; ; pages++ {
		page, err := c.page(ctx, "/markets/keyset", filter, false)
		if err != nil {
			return source.Markets{}, err
		}
		if pages == 1 && len(page.records) == 0 {
			break
		}
		got.addOpen(ctx, page)
		next := page.cursor
		if len(got.markets) >= n || next == "" || cursors[next] {
			break
		}
		if pages == maxPages {
			return source.Markets{}, &source.Error{Reason: "cursor", Err: errors.New("gamma: the pages do not end")}
		}
		cursors[next] = true
		filter.Set("after_cursor", next)
	}
	if len(got.markets) == 0 {
		return source.Markets{}, &source.Error{Reason: "empty", Err: errors.New("gamma: no usable open market")}
	}
	slices.SortStableFunc(got.markets, market.CompareVolume)
	got.markets = got.markets[:min(n, len(got.markets))]
	return c.finish(got), nil
}

// ByID returns markets by id, open or closed, in the order of ids. Missing holds the ids that the source doesn't know.
// With an error, both cover only the ids that it answered for.
func (c *Client) ByID(ctx context.Context, ids []string) (source.Markets, error) {
	ctx, cancel := context.WithTimeout(source.As(ctx, Name), readDeadline)
	defer cancel()
	got := c.newReading()
	ids = distinct(ids)
	answered, err := c.askAll(ctx, got, ids)
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortStableFunc(got.markets, func(a, b market.Market) int { return place[a.ID] - place[b.ID] })
	read := c.finish(got)
	read.Missing = got.missing(answered)
	return read, err
}

// askAll adds the markets with the ids, and returns the ids that were answered for. A batch that fails doesn't end the
// read: callers ask first for the markets that were unread for longest, so its ids would come first again each time, and
// no others would be read. Its halves are asked for after all other batches, so that a bad id costs only itself. The
// error is that of the failure that ended the read, which has the pause that the source asks for, or else the first one.
func (c *Client) askAll(ctx context.Context, got *reading, ids []string) (answered []string, err error) {
	queue := c.batches(ids)
	whole := len(queue)
	for asked, failures := 0, 0; asked < len(queue); asked++ {
		batch := queue[asked]
		failure := c.ask(ctx, got, batch, asked >= whole)
		switch {
		case failure == nil:
			answered = append(answered, batch...)
			continue
		case ctx.Err() != nil || concernsAll(failure):
			return answered, failure
		}
		if failures++; err == nil {
			err = failure
		}
		if failures == maxFailures || (len(answered) == 0 && failures == unansweredFailures) {
			break
		}
		if half := len(batch) / 2; half > 0 {
			queue = append(queue, batch[:half], batch[half:])
		}
	}
	return answered, err
}

// concernsAll reports whether a failure is one of the source, so that any other request would fail as well.
func concernsAll(failure error) bool {
	switch source.Reason(failure) {
	case "refused", "unreachable", "http_429":
		return true
	}
	return source.RetryAfter(failure) > 0
}

// ask adds the markets with some ids. Without closed=true, Gamma hides closed markets even from a request by id.
// Closed ones are requested second, so that a market which closes between the two requests is seen as closed.
// With once, a failed request isn't sent again.
func (c *Client) ask(ctx context.Context, got *reading, ids []string, once bool) error {
	for _, closed := range []bool{false, true} {
		page, err := c.page(ctx, "/markets", url.Values{
			"id": ids, "closed": {strconv.FormatBool(closed)}, "limit": {strconv.Itoa(pageLimit)}, "include_tag": {"true"},
		}, once)
		if err != nil {
			return err
		}
		page.closed = closed
		got.addAsked(ctx, page, ids)
	}
	return nil
}

// batches splits ids so that a request asks for at most one page and its address stays short enough.
func (c *Client) batches(ids []string) [][]string {
	room := maxURL - len(c.gamma) - 100
	var out [][]string
	start, size := 0, 0
	for i, id := range ids {
		cost := len("&id=") + len(url.QueryEscape(id))
		if i > start && (i-start == pageLimit || size+cost > room) {
			out = append(out, ids[start:i])
			start, size = i, 0
		}
		size += cost
	}
	if start < len(ids) {
		out = append(out, ids[start:])
	}
	return out
}

// distinct removes repeated and invalid ids. This also keeps a single id from making an address too long.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if validID(id) && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

type page struct {
	records []json.RawMessage
	cursor  string
	hash    string        // of the response
	age     time.Duration // of the response, when it arrived
	closed  bool          // the state of the markets that were asked for
}

// page asks for a page of "/markets…" or "/events…".
func (c *Client) page(ctx context.Context, path string, query url.Values, once bool) (page, error) {
	var raw json.RawMessage
	req := fetch.Request{URL: c.gamma + path + "?" + query.Encode(), Once: once}
	resp, err := c.fetch.JSON(ctx, req, &raw)
	if err != nil {
		return page{}, err
	}
	list, _, _ := strings.Cut(path[1:], "/")
	p, err := decodePage(raw, list)
	if err != nil {
		fetch.Reject(ctx, req, "parse", resp.Raw, 0)
		return page{}, &source.Error{Reason: "parse", Err: err}
	}
	p.hash, p.age = resp.Hash(), resp.Age
	return p, nil
}

// decodePage decodes both of Gamma's formats: a bare array, and an object with a cursor and the named list.
func decodePage(raw []byte, list string) (p page, err error) {
	if len(raw) > 0 && raw[0] == '[' {
		return p, json.Unmarshal(raw, &p.records)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return p, err
	}
	if json.Unmarshal(object[list], &p.records) != nil || p.records == nil {
		return p, errors.New("gamma: an answer without " + list)
	}
	if cursor, ok := object["next_cursor"]; ok {
		err = json.Unmarshal(cursor, &p.cursor)
	}
	return p, err
}
