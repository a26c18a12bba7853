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
	// pageFresh is how long a page is served before it is rendered again.
	pageFresh = 2 * time.Second
	// pageStale is how much longer it is served while another request renders it.
	pageStale = 8 * time.Second
	// pageCacheSize bounds the memory: with its compressed forms a page takes about 60 KB.
	pageCacheSize = 512
)

// pageCache keeps whole answers by address and query. A page is the same for every
// reader, so it is rendered once for all requests that arrive at the same time.
type pageCache struct {
	base  string // public address of the service
	now   func() time.Time
	pages *memo.Cache[string, *keptPage]
}

// errNotKept marks an answer that isn't cached: a redirect, for example.
var errNotKept = errors.New("web: the answer is not a page to keep")

type keptPage struct {
	contentType  string
	cacheControl string
	etag         string
	link         string // value of the Link header
	robots       string // value of the X-Robots-Tag header
	html         []byte
	brotli, gzip func() []byte
	markdown     func() ([]byte, error) // nil: the answer is no page
}

func newPageCache(base string, now func() time.Time) *pageCache {
	return &pageCache{base, now, memo.New[string](memo.Options[*keptPage]{Size: pageCacheSize, Now: now, Stale: pageStale})}
}

// wrap answers from the cache, and fills it with what the handler answers. Refusals and
// errors go only to the request that caused them: the others call the handler too.
func (p *pageCache) wrap(h fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		mine := false
		page, err := p.pages.Get(c.UserContext(), string(c.Request().
			RequestURI()), func(context.Context) (*keptPage, time.Time, error) {
			mine = true
			if err := h(c); err != nil {
				return nil, time.Time{}, err
			}
			if c.Response().StatusCode() != fiber.StatusOK {
				return nil, time.Time{}, errNotKept
			}
			return newKeptPage(c, p.base), p.now().Add(pageFresh), nil
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
		return h(c)
	}
}

func newKeptPage(c *fiber.Ctx, base string) *keptPage {
	header := &c.Response().Header
	html := append([]byte(nil), c.Response().Body()...)
	sum := sha256.Sum256(html)
	page := &keptPage{
		html: html, etag: `"` + hex.EncodeToString(sum[:8]) + `"`, link: string(header.Peek(fiber.HeaderLink)),
		robots:      string(header.Peek(robotsTag)),
		contentType: string(header.ContentType()), cacheControl: string(header.Peek(fiber.HeaderCacheControl)),
		brotli: sync.OnceValue(func() []byte {
			return fasthttp.AppendBrotliBytesLevel(nil, html, fasthttp.CompressBrotliDefaultCompression)
		}),
		gzip: sync.OnceValue(
			func() []byte { return fasthttp.AppendGzipBytesLevel(nil, html, fasthttp.CompressDefaultCompression) },
		),
	}
	if strings.HasPrefix(page.contentType, fiber.MIMETextHTML) {
		address := base + string(c.Request().RequestURI())
		page.markdown = sync.OnceValues(func() ([]byte, error) { return pageMarkdown(html, address) })
	}
	return page
}

// send answers with the form the request prefers, or with 304.
func (k *keptPage) send(c *fiber.Ctx) error {
	if k.link != "" {
		c.Set(fiber.HeaderLink, k.link)
	}
	if k.robots != "" {
		c.Set(robotsTag, k.robots)
	}
	if k.markdown != nil {
		c.Vary(fiber.HeaderAccept)
		if prefersMarkdown(c) {
			return k.sendMarkdown(c)
		}
	}
	r := httpserver.Representation{
		// Weak: the forms of a page differ in their bytes, not in what they say.
		Body: k.html, ETag: "W/" + k.etag, ContentType: k.contentType, CacheControl: k.cacheControl,
		Coding: httpserver.AcceptEncoding(c.Context(), "br", "gzip"),
	}
	switch r.Coding {
	case "br":
		r.Body = k.brotli()
	case "gzip":
		r.Body = k.gzip()
	}
	httpserver.Respond(c.Context(), r)
	return nil
}
