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
	// pageStale is how much longer a page is served while another request renders it.
	pageStale = 8 * time.Second
	// pageLast is how old a page may be that is served because no other can be rendered.
	pageLast = 24 * time.Hour
	// pageCacheSize bounds the memory: with its compressed forms a page takes about 60 KB.
	pageCacheSize = 512
)

// pageCache keeps whole answers by their canonical address. A page is the same for every
// reader, so it is rendered once for all requests that arrive at the same time.
type pageCache struct {
	base  string // public address of the service
	now   func() time.Time
	pages *memo.Cache[string, *keptPage]
}

// route is how the answers of a route are made and kept.
type route struct {
	handler    pageHandler
	parameters []string // that the page knows
	fresh      time.Duration
	cost       func(c *fiber.Ctx, a address) httpserver.Cost
	admit      func(c *fiber.Ctx, cost httpserver.Cost) (leave func(), err error)
}

// errNotKept marks an answer that isn't cached: a redirect, for example.
var errNotKept = errors.New("web: the answer is not a page to keep")

type keptPage struct {
	contentType  string
	cacheControl string
	etag         string
	link         string // value of the Link header
	shownBy      string // value of Cross-Origin-Resource-Policy
	robots       string // value of the X-Robots-Tag header
	address      string // public, without parameters that mean nothing
	madeAt       time.Time
	body         []byte
	brotli, gzip func() []byte
	markdown     func() ([]byte, error)    // nil: the answer is no page
	stale        func() (*keptPage, error) // for when no other can be made
}

func newPageCache(base string, size int, now func() time.Time) *pageCache {
	return &pageCache{base, now, memo.New[string](memo.Options[*keptPage]{Size: size, Now: now, Stale: pageStale})}
}

// wrap answers from the cache, and fills it with what the handler answers. Refusals and
// errors go only to the request that caused them: the others call the handler too. While the
// database can't be used, the last page that was made is sent, marked stale.
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
		case database.Unavailable(err):
			return p.sendLast(c, a, err)
		}
		return err
	}
}

// find returns the page that is kept, or makes one. The error is errNotKept if the handler has
// answered this request otherwise.
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

// keyOf is what an answer is kept under. A page as Markdown is made by itself: to convert it
// takes longer than to render it.
func keyOf(c *fiber.Ctx, a address) string {
	if prefersMarkdown(c) {
		return markdownType + " " + a.String()
	}
	return a.String()
}

// make calls the handler once the server admits the request, and makes the form that the
// request prefers. The error is errNotKept if the handler has answered otherwise.
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

// sendLast answers with the last page that was made, marked stale; err if none is kept. A
// page isn't kept any longer once a text was hidden.
func (p *pageCache) sendLast(c *fiber.Ctx, a address, err error) error {
	last, found := p.pages.Last(keyOf(c, a))
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

// newKeptPage keeps the answer to a request.
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

// complete sets what follows from the other fields.
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

// withBanner returns the page for readers who can't have a new one. A page says so in a line.
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
			note := "> This page may be out of date. The database can't be reached; this is how it was on " + components.When{At: k.madeAt}.Exact() + ".\n\n"
			return append([]byte(note), text...), err
		})
	}
	return &stale, nil
}

// resourcePolicy is the header that lets pages elsewhere show a picture.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// send answers with the form the request prefers, or with 304.
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

// form is the form that the request prefers. It is made when it is first asked for.
func (k *keptPage) form(c *fiber.Ctx) (r httpserver.Representation, err error) {
	// Weak: the forms of a page differ in their bytes, not in what they say.
	r = httpserver.Representation{Body: k.body, ETag: "W/" + k.etag, ContentType: k.contentType, CacheControl: k.cacheControl}
	if k.markdown != nil && prefersMarkdown(c) {
		r.Body, err = k.markdown()
		r.ETag, r.ContentType = `W/"md-`+k.etag[1:], markdownType+"; charset=utf-8"
		return r, err
	}
	if k.contentType != pictureType { // which is compressed already
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
