package web

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/signal"
)

const (
	// keptFor is how long a page is served without being made again. It is the same
	// for everybody, so one rush of readers costs one rendering.
	keptFor = 2 * time.Second
	// keptPages bounds the memory: with its compressed forms a page is about 60 KB.
	keptPages = 512
)

// pageCache keeps whole answers by their address with its query.
type pageCache struct {
	now  func() time.Time
	kept *lru.Cache[string, *keptPage]
	// epoch moves with forget, so that a page that was being made is not kept.
	epoch atomic.Uint64
}

// forget drops every page: a text in it may have been hidden.
func (p *pageCache) forget() {
	p.epoch.Add(1)
	p.kept.Purge()
}

type keptPage struct {
	made         time.Time
	contentType  string
	cacheControl string
	etag         string
	html         []byte
	brotli, gzip func() []byte
}

func newPageCache(now func() time.Time) *pageCache {
	kept, err := lru.New[string, *keptPage](keptPages)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &pageCache{now: now, kept: kept}
}

// wrap answers from the cache, and fills it with what the handler answered.
func (p *pageCache) wrap(h fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		address := string(c.Request().RequestURI())
		if page, ok := p.kept.Get(address); ok && p.now().Sub(page.made) < keptFor {
			return page.send(c)
		}
		epoch := p.epoch.Load()
		if err := h(c); err != nil || c.Response().StatusCode() != fiber.StatusOK {
			return err
		}
		page := p.keep(c)
		if epoch == p.epoch.Load() {
			p.kept.Add(address, page)
		}
		return page.send(c)
	}
}

func (p *pageCache) keep(c *fiber.Ctx) *keptPage {
	header := &c.Response().Header
	html := append([]byte(nil), c.Response().Body()...)
	sum := sha256.Sum256(html)
	return &keptPage{
		made: p.now(), html: html, etag: `"` + hex.EncodeToString(sum[:8]) + `"`,
		contentType: string(header.ContentType()), cacheControl: string(header.Peek(fiber.HeaderCacheControl)),
		brotli: sync.OnceValue(func() []byte {
			return fasthttp.AppendBrotliBytesLevel(nil, html, fasthttp.CompressBrotliDefaultCompression)
		}),
		gzip: sync.OnceValue(func() []byte { return fasthttp.AppendGzipBytesLevel(nil, html, fasthttp.CompressDefaultCompression) }),
	}
}

// send answers with the form the client takes, or with 304 when it has the page.
func (k *keptPage) send(c *fiber.Ctx) error {
	header := &c.Response().Header
	header.SetContentType(k.contentType)
	header.Set(fiber.HeaderCacheControl, k.cacheControl)
	header.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	// Weak: the forms differ in their bytes, not in what they say.
	header.Set(fiber.HeaderETag, "W/"+k.etag)
	if signal.Matches(c.Request().Header.Peek(fiber.HeaderIfNoneMatch), k.etag) {
		c.Response().ResetBody()
		c.Status(fiber.StatusNotModified)
		return nil
	}
	body, coding := k.html, httpserver.Negotiate(c.Request().Header.Peek(fiber.HeaderAcceptEncoding), "br", "gzip")
	switch coding {
	case "br":
		body = k.brotli()
	case "gzip":
		body = k.gzip()
	}
	if coding != "" {
		header.SetContentEncoding(coding)
	}
	c.Response().SetBodyRaw(body)
	return nil
}
