package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
)

const (
	// pageStale is how long an outdated page is served while another request renders it.
	pageStale = 8 * time.Second
	// pageLast is the greatest age of a page that is served because no new one can be rendered.
	pageLast = 24 * time.Hour
	// pageCacheSize bounds the memory. With its compressed forms a page takes about 60 KB.
	pageCacheSize = 512
)

// pageCache keeps whole answers by their canonical address. A page is the same for every reader, so
// it is rendered once for all requests that arrive at the same time.
type pageCache struct {
	base  string // public address of the service
	now   func() time.Time
	pages *memo.Cache[string, *keptPage]
}

// route says how the answers of a route are made and kept.
type route struct {
	handler    pageHandler
	parameters []string // names of the parameters that the page reads
	fresh      time.Duration
	cost       func(c *fiber.Ctx, a address) httpserver.Cost
	admit      func(c *fiber.Ctx, cost httpserver.Cost) (leave func(), err error)
}

// errNotKept marks an answer that isn't cached, for example a redirect.
var errNotKept = errors.New("web: the answer can't be cached")

type keptPage struct {
	contentType  string
	cacheControl string
	etag         string
	link         string // value of the Link header
	shownBy      string // value of Cross-Origin-Resource-Policy
	robots       string // value of the X-Robots-Tag header
	address      string // public address without ignored parameters
	madeAt       time.Time
	body         []byte
	brotli, gzip func() []byte
	markdown     func() ([]byte, error)    // nil if the answer isn't a page
	stale        func() (*keptPage, error) // returns the copy to send if no new page can be made
}

func newPageCache(base string, size int, now func() time.Time) *pageCache {
	return &pageCache{base, now, memo.New[string](memo.Options[*keptPage]{Size: size, Now: now, Stale: pageStale})}
}

// wrap answers from the cache, and adds the handler's answers to it. A refusal or an error goes
// only to the request that caused it; other waiting requests call the handler too. While no new
// page can be made, wrap sends the last one, marked stale.
func (p *pageCache) wrap(k route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		a, err := readAddress(c, k.parameters...)
		if err != nil {
			return err
		}
		page, err := p.find(c, a, &k)
		switch {
		case err == nil:
			return page.send(c)
		case errors.Is(err, errNotKept):
			return nil
		case httpserver.Unavailable(err):
			return p.sendLast(c, a, err)
		}
		return err
	}
}

// find returns the kept page or makes one. The error is errNotKept if the handler has already
// answered this request with something that isn't cached.
func (p *pageCache) find(c *fiber.Ctx, a address, k *route) (*keptPage, error) {
	mine := false
	page, err := p.pages.Get(c.UserContext(), keyOf(c, a), func(context.Context) (*keptPage, time.Time, error) {
		mine = true
		page, err := p.make(c, a, k)
		return page, p.now().Add(k.fresh), err
	})
	switch {
	case err == nil || mine || database.Unavailable(err):
		return page, err
	case c.UserContext().Err() != nil:
		return nil, c.UserContext().Err()
	}
	return p.make(c, a, k)
}

// keyOf returns the cache key of an answer. A page as Markdown has its own key, because converting
// it takes longer than rendering it.
func keyOf(c *fiber.Ctx, a address) string {
	if prefersMarkdown(c) {
		return markdownType + " " + a.String()
	}
	return a.String()
}

// make calls the handler once the server admits the request, and makes the form that the request
// prefers. The error is errNotKept if the handler's status isn't 200.
func (p *pageCache) make(c *fiber.Ctx, a address, k *route) (*keptPage, error) {
	leave, err := k.admit(c, k.cost(c, a))
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := k.handler(c, a); err != nil {
		return nil, err
	}
	if c.Response().StatusCode() != fiber.StatusOK {
		return nil, errNotKept
	}
	page := newKeptPage(c, p.base+a.String(), p.now())
	_, err = page.form(c)
	return page, err
}

// sendLast sends the last page, marked stale, or returns err if there is none or if it is older than
// pageLast. Hiding a text or an agent drops the kept pages, so the last page shows neither.
func (p *pageCache) sendLast(c *fiber.Ctx, a address, err error) error {
	last, found := p.pages.Last(keyOf(c, a))
	if !found { // a page that was read as HTML only is converted once
		last, found = p.pages.Last(a.String())
	}
	if !found || p.now().Sub(last.madeAt) >= pageLast {
		return err
	}
	stale, renderErr := last.stale()
	if renderErr != nil {
		return errors.Join(err, renderErr)
	}
	c.Response().ResetBody()
	httpserver.MarkStale(c.Context(), p.now().Sub(last.madeAt))
	return stale.send(c)
}

// newKeptPage copies the answer to a request.
func newKeptPage(c *fiber.Ctx, address string, now time.Time) *keptPage {
	header := &c.Response().Header
	page := &keptPage{
		body: bytes.Clone(c.Response().Body()), link: string(header.Peek(fiber.HeaderLink)), address: address, madeAt: now,
		contentType: string(header.ContentType()), cacheControl: string(header.Peek(fiber.HeaderCacheControl)),
		shownBy: string(header.Peek(resourcePolicy)), robots: string(header.Peek(robotsTag)),
	}
	page.complete()
	page.stale = sync.OnceValues(page.withBanner)
	return page
}

// complete sets the fields that are derived from the others.
func (k *keptPage) complete() {
	sum := sha256.Sum256(k.body)
	k.etag = `"` + hex.EncodeToString(sum[:8]) + `"`
	k.brotli = sync.OnceValue(func() []byte {
		return fasthttp.AppendBrotliBytesLevel(nil, k.body, fasthttp.CompressBrotliDefaultCompression)
	})
	k.gzip = sync.OnceValue(
		func() []byte { return fasthttp.AppendGzipBytesLevel(nil, k.body, fasthttp.CompressDefaultCompression) },
	)
	if k.isPage() {
		k.markdown = sync.OnceValues(func() ([]byte, error) { return pageMarkdown(k.body, k.address) })
	}
}

func (k *keptPage) isPage() bool { return strings.HasPrefix(k.contentType, fiber.MIMETextHTML) }

// withBanner returns the page with a line that says that it is out of date.
func (k *keptPage) withBanner() (*keptPage, error) {
	stale := *k
	stale.cacheControl = httpserver.StaleCaching
	if k.isPage() {
		var banner bytes.Buffer
		if err := layouts.LastGood(components.When{At: k.madeAt}).Render(context.Background(), &banner); err != nil {
			return nil, fmt.Errorf("render the banner of a stale page: %w", err)
		}
		start := []byte(layouts.BannersStart)
		stale.body = bytes.Replace(k.body, start, append(start, banner.Bytes()...), 1)
	}
	stale.complete()
	if k.isPage() {
		stale.markdown = sync.OnceValues(func() ([]byte, error) {
			text, err := k.markdown()
			note := "> " + layouts.OutOfDate + " " + layouts.NoNewer + " " + components.When{At: k.madeAt}.Exact() + ".\n\n"
			return append([]byte(note), text...), err
		})
	}
	return &stale, nil
}

// resourcePolicy is the header that lets other sites show a picture.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// send answers with the form that the request prefers, or with 304.
func (k *keptPage) send(c *fiber.Ctx) error {
	if k.link != "" {
		c.Set(fiber.HeaderLink, k.link)
	}
	if k.shownBy != "" {
		c.Set(resourcePolicy, k.shownBy)
	}
	if k.robots != "" {
		c.Set(robotsTag, k.robots)
	}
	if k.markdown != nil {
		c.Vary(fiber.HeaderAccept)
	}
	r, err := k.form(c)
	if err == nil {
		httpserver.Respond(c.Context(), r)
	}
	return err
}

// form returns the form that the request prefers. Each form is made when it is first needed.
func (k *keptPage) form(c *fiber.Ctx) (r httpserver.Representation, err error) {
	// The ETag is weak because the forms of a page have the same content in different bytes.
	r = httpserver.Representation{Body: k.body, ETag: "W/" + k.etag, ContentType: k.contentType, CacheControl: k.cacheControl}
	if k.markdown != nil && prefersMarkdown(c) {
		r.Body, err = k.markdown()
		r.ETag, r.ContentType = `W/"md-`+k.etag[1:], markdownType+"; charset=utf-8"
		return r, err
	}
	if k.contentType != pictureType { // a picture is compressed already
		r.Coding = httpserver.AcceptEncoding(c.Context(), "br", "gzip")
	}
	switch r.Coding {
	case "br":
		r.Body = k.brotli()
	case "gzip":
		r.Body = k.gzip()
	}
	return r, nil
}
