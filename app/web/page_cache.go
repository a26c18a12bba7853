package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
)

const (
	// pageStale is how long an outdated page is served while another request renders it.
	pageStale = 8 * time.Second
	// bannerFresh is how long a last page with its banner is good. A page never changes, so the
	// banner is made again only if it was evicted.
	bannerFresh = 24 * time.Hour
)

// pageBounds and pictureBounds bound the memory of pages and of pictures. A page has 6 to 220 KB, and a
// third more with its compressed forms. A picture has about 30 KB. All main pages as HTML and as
// Markdown, with their last good copies, take about 4 MB.
var (
	pageBounds    = answer.Bounds{Main: 6 << 20, Once: 4 << 20, Again: 8 << 20}
	pictureBounds = answer.Bounds{Main: 1 << 20, Once: 2 << 20, Again: 5 << 20}
)

// pageTopics are the topics of every page. All else that a page shows may be as old as the page.
var pageTopics = []generation.Topic{generation.Texts}

// pageCache keeps whole answers by their canonical address. A page is the same for every reader, so
// it is rendered once for all requests that arrive at the same time.
type pageCache struct {
	base    string // public address of the service
	now     func() time.Time
	side    func(current bool) generation.Side
	answers *answer.Cache
	forgets atomic.Uint64
}

// route says how the answers of a route are made and kept.
type route struct {
	handler    pageHandler
	parameters []string // names of the parameters that the page reads
	fresh      time.Duration
	cost       costFunc
	admit      admitFunc
}

// costFunc returns the cost of an answer that isn't in memory.
type costFunc = func(c *fiber.Ctx, a address) httpserver.Cost

// admitFunc waits until an answer may be made; see httpserver.Server.Admit.
type admitFunc = func(c *fiber.Ctx, cost httpserver.Cost) (*httpserver.Admission, error)

// pageKey is the key of an answer. A page as Markdown has its own, because converting it takes longer
// than rendering it.
type pageKey struct {
	address  string
	markdown bool
	lastFrom int64 // when a last page with its banner was made, in nanoseconds; 0 for other pages
	forgets  uint64
}

// errNotKept marks an answer that isn't cached, for example a redirect.
var errNotKept = errors.New("web: the answer can't be cached")

// pageHead is the part of a page that is sent before its body. It is the Value of a kept answer.
type pageHead struct {
	contentType  string
	cacheControl string
	etag         string
	link         string // value of the Link header
	shownBy      string // value of Cross-Origin-Resource-Policy
	robots       string // value of the X-Robots-Tag header
	page         bool   // the answer is a page, which exists as HTML and as Markdown
}

func newPageCache(base string, bounds answer.Bounds, side func(bool) generation.Side, now func() time.Time) *pageCache {
	return &pageCache{base: base, now: now, side: side, answers: answer.NewCache(answer.Options{
		Side: side, Now: now, Late: pageStale, Bounds: bounds,
	})}
}

// forget makes every kept page unreachable, and lets no running load keep its result.
func (p *pageCache) forget() { p.forgets.Add(1) }

// wrap answers from the cache, and adds the handler's answers to it. A refusal or an error goes
// only to the request that caused it; other waiting requests call the handler too. While no new
// page can be made, wrap sends the last one, marked stale.
func (p *pageCache) wrap(k route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		a, err := readAddress(c, k.parameters...)
		if err != nil {
			return err
		}
		q := p.query(a.String(), prefersMarkdown(c))
		q.Fresh, q.Main = k.fresh, k.cost(c, a) == httpserver.Shared
		page, err := p.find(c, a, &k, &q)
		switch {
		case err == nil && page.StaleSince.IsZero():
			sendPage(c, page)
			return nil
		case err == nil:
			return p.sendStale(c, &q, page, page.StaleSince, q.Fresh)
		case errors.Is(err, errNotKept):
			return nil
		case httpserver.Unavailable(err):
			return p.sendLast(c, &q, err)
		}
		return err
	}
}

func (p *pageCache) query(address string, markdown bool) answer.Query {
	key := pageKey{address: address, markdown: markdown, forgets: p.forgets.Load()}
	return answer.Query{Key: key, KeySize: len(address), Topics: pageTopics}
}

// find returns the kept page, or makes one once the server admits the request. The error is errNotKept if the handler has already
// answered this request with something that isn't cached.
func (p *pageCache) find(c *fiber.Ctx, a address, k *route, q *answer.Query) (*answer.Answer, error) {
	var admission *httpserver.Admission
	defer func() {
		if admission != nil {
			admission.Leave()
		}
	}()
	admit := sync.OnceValue(func() (err error) { // once, although a lost replica repeats the read
		admission, err = k.admit(c, k.cost(c, a))
		return err
	})
	produce := func(ctx context.Context) (page *answer.Answer, err error) {
		if err := admit(); err != nil {
			return nil, err
		}
		admission.Make(func() { page, err = p.make(ctx, c, a, k) })
		return page, err
	}
	mine := false
	page, err := p.answers.Load(c.UserContext(), q, func(ctx context.Context) (*answer.Answer, error) {
		mine = true
		return produce(ctx)
	})
	switch {
	case err == nil || mine || database.Unavailable(err):
		return page, err
	case c.UserContext().Err() != nil:
		return nil, c.UserContext().Err()
	}
	side := p.side(false)
	err = side.Read(c.UserContext(), func(ctx context.Context) (err error) {
		page, err = produce(ctx)
		return err
	})
	if err == nil {
		page.StaleSince = side.StaleSince
	}
	return page, err
}

// make calls the handler, whose queries go where ctx says, and makes the form that the request
// prefers. The error is errNotKept if the handler's status isn't 200.
func (p *pageCache) make(ctx context.Context, c *fiber.Ctx, a address, k *route) (*answer.Answer, error) {
	own := c.UserContext()
	defer c.SetUserContext(own)
	c.SetUserContext(ctx)
	if err := k.handler(c, a); err != nil {
		return nil, err
	}
	if c.Response().StatusCode() != fiber.StatusOK {
		return nil, errNotKept
	}
	page := newPage(c)
	if prefersMarkdown(c) && headOf(page).page {
		var err error
		if page, err = p.asMarkdown(page, a.String()); err != nil {
			return nil, err
		}
	}
	page.SentOften = k.cost(c, a) == httpserver.Shared
	preferred(c, page)
	return page, nil
}

// newPage copies the answer to a request.
func newPage(c *fiber.Ctx) *answer.Answer {
	header := &c.Response().Header
	body, contentType := bytes.Clone(c.Response().Body()), string(header.ContentType())
	return withHead(body, pageHead{
		contentType: contentType, cacheControl: string(header.Peek(fiber.HeaderCacheControl)),
		// The ETag is weak because the forms of a page have the same content in different bytes.
		etag: `W/"` + answer.Digest(body) + `"`,
		link: string(header.Peek(fiber.HeaderLink)), shownBy: string(header.Peek(resourcePolicy)),
		robots: string(header.Peek(robotsTag)), page: strings.HasPrefix(contentType, fiber.MIMETextHTML),
	})
}

func withHead(body []byte, h pageHead) *answer.Answer {
	page := answer.New(body, "") // its forms share the ETag of the head
	page.Value = &h
	return page
}

func headOf(page *answer.Answer) *pageHead { return page.Value.(*pageHead) }

// html reports whether the answer is a page as HTML.
func (h *pageHead) html() bool { return h.page && strings.HasPrefix(h.contentType, fiber.MIMETextHTML) }

// asMarkdown converts a page.
func (p *pageCache) asMarkdown(page *answer.Answer, address string) (*answer.Answer, error) {
	text, err := pageMarkdown(page.Form(answer.Identity).Body, p.base+address)
	if err != nil {
		return nil, err
	}
	h := *headOf(page)
	h.contentType, h.etag = markdownUTF8, `W/"md-`+strings.TrimPrefix(h.etag, `W/"`)
	return withHead(text, h), nil
}

// sendLast sends the last page with a banner, or returns err if there is none or if it is a day old.
// Hiding a text or an agent drops the kept pages, so the last page shows neither.
func (p *pageCache) sendLast(c *fiber.Ctx, q *answer.Query, err error) error {
	key := q.Key.(pageKey)
	last, madeAt := p.answers.LastGood(q)
	if last == nil && key.markdown { // a page that was read as HTML only is converted once
		html := *q
		html.Key = pageKey{address: key.address, forgets: key.forgets}
		last, madeAt = p.answers.LastGood(&html)
	}
	if last == nil {
		return err
	}
	if bannerErr := p.sendStale(c, q, last, madeAt, bannerFresh); bannerErr != nil {
		return errors.Join(err, bannerErr)
	}
	return nil
}

// sendStale sends a page with a banner that says since when it may be out of date. The page with the banner is good for
// the time in fresh.
func (p *pageCache) sendStale(c *fiber.Ctx, q *answer.Query, page *answer.Answer, since time.Time, fresh time.Duration) error {
	marked, key := *q, q.Key.(pageKey)
	key.lastFrom = since.UnixNano()
	marked.Key, marked.Fresh = key, fresh
	stale, err := p.answers.Load(c.UserContext(), &marked, func(context.Context) (made *answer.Answer, err error) {
		if made = page; key.markdown && headOf(made).html() {
			if made, err = p.asMarkdown(made, key.address); err != nil {
				return nil, err
			}
		}
		return withBanner(made, key.markdown, since)
	})
	if err != nil {
		return err
	}
	c.Response().ResetBody()
	httpserver.MarkStale(c.Context(), p.now().Sub(since))
	sendPage(c, stale)
	return nil
}

// withBanner returns the page with a line that says that it is out of date.
func withBanner(page *answer.Answer, markdown bool, madeAt time.Time) (*answer.Answer, error) {
	h := *headOf(page)
	h.cacheControl = httpserver.StaleCaching
	body := page.Form(answer.Identity).Body
	switch {
	case !h.page:
	case markdown:
		note := "> " + layouts.OutOfDate + " " + layouts.NoNewer + " " + components.When{At: madeAt}.Exact() + ".\n\n"
		body = append([]byte(note), body...)
		h.etag = `W/"md-` + answer.Digest(body) + `"`
	default:
		var banner bytes.Buffer
		if err := layouts.LastGood(components.When{At: madeAt}).Render(context.Background(), &banner); err != nil {
			return nil, fmt.Errorf("render the banner of a stale page: %w", err)
		}
		start := []byte(layouts.BannersStart)
		body = bytes.Replace(body, start, append(start, banner.Bytes()...), 1)
		h.etag = `W/"` + answer.Digest(body) + `"`
	}
	return withHead(body, h), nil
}

// resourcePolicy is the header that lets other sites show a picture.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// sendPage answers with the form that the request prefers, or with 304.
func sendPage(c *fiber.Ctx, page *answer.Answer) {
	h := headOf(page)
	if h.link != "" {
		c.Set(fiber.HeaderLink, h.link)
	}
	if h.shownBy != "" {
		c.Set(resourcePolicy, h.shownBy)
	}
	if h.robots != "" {
		c.Set(robotsTag, h.robots)
	}
	if h.page {
		c.Vary(fiber.HeaderAccept)
	}
	form := preferred(c, page)
	httpserver.Respond(c.Context(), httpserver.Representation{
		Body: form.Body, Coding: form.Coding, ETag: h.etag, ContentType: h.contentType, CacheControl: h.cacheControl,
	})
}

// preferred returns the form that the request prefers.
func preferred(c *fiber.Ctx, page *answer.Answer) *answer.Form {
	if headOf(page).contentType == pictureType { // it is compressed already
		return page.Form(answer.Identity)
	}
	return httpserver.Preferred(page, httpserver.QuickCoding(c.Context()))
}
