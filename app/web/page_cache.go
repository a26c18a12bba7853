package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/memo"
)

const (
	// pageStale is how much longer a page is served while another request renders it.
	pageStale = 8 * time.Second
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
	body         []byte
	brotli, gzip func() []byte
	markdown     func() ([]byte, error) // nil: the answer is no page
}

func newPageCache(base string, size int, now func() time.Time) *pageCache {
	return &pageCache{base, now, memo.New[string](memo.Options[*keptPage]{Size: size, Now: now, Stale: pageStale})}
}

// wrap answers from the cache, and fills it with what the handler answers. Refusals and
// errors go only to the request that caused them: the others call the handler too.
func (p *pageCache) wrap(k route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		a, err := readAddress(c, k.parameters...)
		if err != nil {
			return err
		}
		var page *keptPage
		mine := false
		page, err = p.pages.Get(c.UserContext(), keyOf(c, a), func(context.Context) (*keptPage, time.Time, error) {
			mine = true
			page, err := p.make(c, a, &k)
			return page, p.now().Add(k.fresh), err
		})
		switch {
		case err == nil:
			return page.send(c)
		case mine && errors.Is(err, errNotKept):
			return nil
		case mine:
			return err
		case c.UserContext().Err() != nil:
			return c.UserContext().Err()
		}
		if page, err = p.make(c, a, &k); errors.Is(err, errNotKept) {
			return nil
		} else if err != nil {
			return err
		}
		return page.send(c)
	}
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
	page := newKeptPage(c, p.base+a.String())
	_, err = page.form(c)
	return page, err
}

// newKeptPage keeps the answer to a request. address is the public one, without parameters that
// mean nothing.
func newKeptPage(c *fiber.Ctx, address string) *keptPage {
	header := &c.Response().Header
	body := append([]byte(nil), c.Response().Body()...)
	sum := sha256.Sum256(body)
	page := &keptPage{
		body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`, link: string(header.Peek(fiber.HeaderLink)),
		contentType: string(header.ContentType()), cacheControl: string(header.Peek(fiber.HeaderCacheControl)),
		shownBy: string(header.Peek(resourcePolicy)),
		brotli: sync.OnceValue(func() []byte {
			return fasthttp.AppendBrotliBytesLevel(nil, body, fasthttp.CompressBrotliDefaultCompression)
		}),
		gzip: sync.OnceValue(
			func() []byte { return fasthttp.AppendGzipBytesLevel(nil, body, fasthttp.CompressDefaultCompression) },
		),
	}
	if strings.HasPrefix(page.contentType, fiber.MIMETextHTML) {
		page.markdown = sync.OnceValues(func() ([]byte, error) { return pageMarkdown(body, address) })
	}
	return page
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
