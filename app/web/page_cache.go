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
	// pageFresh is how long a page is served before it is rendered again.
	pageFresh = 2 * time.Second
	// pageStale is how much longer it is served while another request renders it.
	pageStale = 8 * time.Second
	// pageLast is how old a page may be that is served because no other can be rendered.
	pageLast = 24 * time.Hour
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
	address      string // public
	madeAt       time.Time
	html         []byte
	brotli, gzip func() []byte
	markdown     func() ([]byte, error)    // nil: the answer is no page
	stale        func() (*keptPage, error) // for when no other can be made
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
			return p.keep(c), p.now().Add(pageFresh), nil
		})
		switch {
		case err == nil:
			return page.send(c)
		case database.Unavailable(err):
			return p.sendLast(c, err)
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

// sendLast answers with the last page that was rendered, marked stale; err if none is kept. A
// page isn't kept any longer once a text was hidden.
func (p *pageCache) sendLast(c *fiber.Ctx, err error) error {
	last, found := p.pages.Last(string(c.Request().RequestURI()))
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

func (p *pageCache) keep(c *fiber.Ctx) *keptPage {
	header := &c.Response().Header
	page := &keptPage{
		html: bytes.Clone(c.Response().Body()), link: string(header.Peek(fiber.HeaderLink)), address: p.base + string(c.Request().RequestURI()),
		contentType: string(header.ContentType()), cacheControl: string(header.Peek(fiber.HeaderCacheControl)), madeAt: p.now(),
	}
	page.complete()
	page.stale = sync.OnceValues(page.withBanner)
	return page
}

// complete sets what follows from the other fields.
func (k *keptPage) complete() {
	sum := sha256.Sum256(k.html)
	k.etag = `"` + hex.EncodeToString(sum[:8]) + `"`
	k.brotli = sync.OnceValue(func() []byte {
		return fasthttp.AppendBrotliBytesLevel(nil, k.html, fasthttp.CompressBrotliDefaultCompression)
	})
	k.gzip = sync.OnceValue(
		func() []byte { return fasthttp.AppendGzipBytesLevel(nil, k.html, fasthttp.CompressDefaultCompression) },
	)
	if k.isPage() {
		k.markdown = sync.OnceValues(func() ([]byte, error) { return pageMarkdown(k.html, k.address) })
	}
}

func (k *keptPage) isPage() bool { return strings.HasPrefix(k.contentType, fiber.MIMETextHTML) }

// withBanner returns the page for readers who can't have a new one. A page says so in a line.
func (k *keptPage) withBanner() (*keptPage, error) {
	stale := &keptPage{
		html: k.html, link: k.link, address: k.address, contentType: k.contentType, cacheControl: httpserver.StaleCaching, madeAt: k.madeAt,
	}
	if k.isPage() {
		var banner bytes.Buffer
		if err := layouts.LastGood(components.When{At: k.madeAt}).Render(context.Background(), &banner); err != nil {
			return nil, fmt.Errorf("render the banner of a stale page: %w", err)
		}
		start := []byte(layouts.BannersStart)
		stale.html = bytes.Replace(k.html, start, append(start, banner.Bytes()...), 1)
	}
	stale.complete()
	if k.isPage() {
		stale.markdown = sync.OnceValues(func() ([]byte, error) {
			text, err := k.markdown()
			note := "> This page may be out of date. The database can't be reached; this is how it was on " + components.When{At: k.madeAt}.Exact() + ".\n\n"
			return append([]byte(note), text...), err
		})
	}
	return stale, nil
}

// send answers with the form the request prefers, or with 304.
func (k *keptPage) send(c *fiber.Ctx) error {
	if k.link != "" {
		c.Set(fiber.HeaderLink, k.link)
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
