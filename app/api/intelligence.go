package api

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

// MarketCodec tells the market feed how to encode and filter its records.
func MarketCodec() signal.Codec[market.Market] {
	return signal.Codec[market.Market]{
		Name: "markets", Encode: EncodeMarket,
		Text:   (*market.Market).SearchableText,
		Cursor: market.CursorAfter,
	}
}

// NewsCodec tells the news feed how to encode and filter its records.
func NewsCodec() signal.Codec[news.Item] {
	return signal.Codec[news.Item]{
		Name: "news", Encode: EncodeNews,
		Text: (*news.Item).SearchableText,
	}
}

// Intelligence serves the two lists of signals from the snapshots in memory.
type Intelligence struct {
	Markets *signal.Feed[market.Market]
	News    *signal.Feed[news.Item]
	// Admit counts a filtered list that has to be compressed, and waits for its place; see
	// httpserver.Server.AdmitFiltered. If nil, every list is admitted.
	Admit func(c *fiber.Ctx) (leave func(), err error)
}

func (h *Intelligence) admit(c *fiber.Ctx) signal.Admit {
	return func() (func(), error) {
		if h.Admit == nil {
			return free()
		}
		return h.Admit(c)
	}
}

func free() (leave func(), err error) { return func() {}, nil }

// ListMarkets serves GET /api/intelligence/markets.
func (h *Intelligence) ListMarkets(c *fiber.Ctx) error {
	return h.listMarkets(c.Context(), h.admit(c))
}

func (h *Intelligence) listMarkets(ctx *fasthttp.RequestCtx, admit signal.Admit) error {
	args := ctx.QueryArgs()
	limit, err := ParseLimit(args)
	if err != nil {
		return err
	}
	if !args.Has("category") && !args.Has("tag") && !args.Has("q") && !args.Has("closesBefore") {
		sendForm(ctx, h.Markets.Form(limit, httpserver.PreferredCoding(ctx)), signalCaching)
		return nil
	}
	f, err := parseMarketFilter(args)
	if err != nil {
		return err
	}
	return sendMatching(ctx, h.Markets, limit, f.match, admit)
}

// sendMatching answers with the first limit records of a feed that match.
func sendMatching[T any](
	ctx *fasthttp.RequestCtx, feed *signal.Feed[T], limit int, match func(s *signal.Snapshot[T], i int, record *T) bool, admit signal.Admit,
) error {
	form, err := feed.Matching(limit, httpserver.QuickCoding(ctx), match, admit)
	if err == nil {
		sendForm(ctx, form, signalCaching)
	}
	return err
}

// direct answers a list without parameters, or with only a plain limit, before the router. See
// httpserver.Server.Direct.
func direct(form func(limit int, coding string) *answer.Form) func(ctx *fasthttp.RequestCtx, query []byte) bool {
	return func(ctx *fasthttp.RequestCtx, query []byte) bool {
		limit, ok := DefaultLimit, true
		if len(query) > 0 {
			value, named := bytes.CutPrefix(query, []byte("limit="))
			if limit, ok = limitIn(value); !named || !ok {
				return false
			}
		}
		sendForm(ctx, form(limit, httpserver.PreferredCoding(ctx)), signalCaching)
		return true
	}
}

// marketFilter selects markets. A zero field selects all.
type marketFilter struct {
	category     string
	tag          string
	words        []string
	closesBefore time.Time
}

func parseMarketFilter(args *fasthttp.Args) (f marketFilter, err error) {
	if f.category, err = category(args); err != nil {
		return f, err
	}
	if f.tag, err = tag(args); err != nil {
		return f, err
	}
	if f.words, err = words(args); err != nil {
		return f, err
	}
	f.closesBefore, err = closesBefore(args)
	return f, err
}

// category returns the parameter category, one of a market, or "" if it is left out.
func category(args *fasthttp.Args) (string, error) {
	value, err := filter(args, "category", maxParameter)
	if value = strings.ToLower(value); value != "" && !slices.Contains(market.Categories, value) {
		err = problem.InvalidParameter("category", "must be one of "+strings.Join(market.Categories, ", "))
	}
	return value, err
}

// closesBefore returns the parameter closesBefore in UTC, or the zero time if it is left out.
func closesBefore(args *fasthttp.Args) (time.Time, error) {
	value, found, err := single(args, "closesBefore")
	if err != nil || !found {
		return time.Time{}, err
	}
	at, err := parseTime(string(value))
	if err != nil {
		return time.Time{}, problem.InvalidParameter(
			"closesBefore", "must be an RFC 3339 time such as 2027-01-31T00:00:00Z (write + as %2B)",
		)
	}
	return at.UTC(), nil
}

func (f *marketFilter) match(s *signal.Snapshot[market.Market], i int, m *market.Market) bool {
	return (f.category == "" || m.Category == f.category) &&
		(f.tag == "" || slices.Contains(m.Tags, f.tag)) &&
		(f.closesBefore.IsZero() || (!m.ClosesAt.IsZero() && m.ClosesAt.Before(f.closesBefore))) &&
		hasAll(s.Text(i), f.words)
}

// ListNews serves GET /api/intelligence/news.
func (h *Intelligence) ListNews(c *fiber.Ctx) error {
	return h.listNews(c.Context(), h.admit(c))
}

func (h *Intelligence) listNews(ctx *fasthttp.RequestCtx, admit signal.Admit) error {
	args := ctx.QueryArgs()
	limit, err := ParseLimit(args)
	if err != nil {
		return err
	}
	if !args.Has("community") && !args.Has("q") {
		sendForm(ctx, h.News.Form(limit, httpserver.PreferredCoding(ctx)), signalCaching)
		return nil
	}
	wanted, err := community(args)
	if err != nil {
		return err
	}
	query, err := words(args)
	if err != nil {
		return err
	}
	match := func(s *signal.Snapshot[news.Item], i int, item *news.Item) bool {
		return (wanted == "" || item.Community == wanted) && hasAll(s.Text(i), query)
	}
	return sendMatching(ctx, h.News, limit, match, admit)
}

// community returns the parameter community, or "" if it is left out.
func community(args *fasthttp.Args) (string, error) {
	value, found, err := single(args, "community")
	if err != nil {
		return "", err
	}
	wanted := strings.ToLower(string(value))
	if found && !slices.Contains(news.Communities, wanted) {
		return "", problem.InvalidParameter("community", "must be one of "+strings.Join(news.Communities, ", "))
	}
	return wanted, nil
}

// signalCaching lets caches reuse an answer for far less than the time between two readings, and revalidate
// it by its ETag after that. Shared caches may keep it because it is the same for every caller. Vary
// therefore names only Accept-Encoding. The edge filter in front also reads User-Agent and Authorization,
// but refusals aren't cached.
const signalCaching = "public, max-age=5, stale-while-revalidate=30"

// maxTag is the longest tag, in characters.
const maxTag = 200

// tag returns the parameter tag in the form in which tags are stored, or "" if it is left out.
func tag(args *fasthttp.Args) (string, error) {
	value, err := filter(args, "tag", maxTag)
	return market.TagSlug(value), err
}

// maxQuery is the longest q, in characters.
const maxQuery = 200

// words returns the different words of the parameter q, folded for comparison.
func words(args *fasthttp.Args) ([]string, error) {
	q, err := text(args, "q", maxQuery)
	if err != nil {
		return nil, err
	}
	words, wrong := plaintext.Words(q)
	if plaintext.Wordless(q) {
		wrong = "has no letters or digits to look for: send a word, or leave the parameter out"
	}
	if wrong != "" {
		return nil, problem.InvalidParameter("q", wrong)
	}
	return words, nil
}

// text returns a parameter of at most the given number of characters, or "" if it is left out.
func text(args *fasthttp.Args, name string, most int) (string, error) {
	value, _, err := single(args, name)
	if err != nil {
		return "", err
	}
	s := string(value)
	if wrong := plaintext.CheckLength(s, 0, most, false); wrong != "" {
		return "", problem.InvalidParameter(name, wrong)
	}
	return s, nil
}

func hasAll(text string, words []string) bool {
	for _, w := range words {
		if !plaintext.HasWord(text, w) {
			return false
		}
	}
	return true
}
