package web

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/httpserver"
)

const (
	// keptFor is how long a page is served without being made again. It is the same
	// for everybody, so one rush of readers costs one rendering.
	keptFor = 2 * time.Second
	// staleFor is how old a page may be served while somebody else makes it anew.
	staleFor = 10 * time.Second
	// keptPages bounds the memory: with its compressed forms a page is about 60 KB.
	keptPages = 512
)

// pageCache keeps whole answers by their address with its query. A page is made by one
// asker at a time: when it has grown old, the others are served the old one meanwhile.
type pageCache struct {
	now  func() time.Time
	kept *lru.Cache[string, *keptPage]

	mu     sync.Mutex
	making map[string]*making
	epoch  int // moves with forget
}

// forget drops every page: a text in it may have been hidden.
func (p *pageCache) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.kept.Purge()
}

// making is a page that somebody is at work on.
type making struct {
	epoch int           // at its begin; a page of an older one is not kept
	done  chan struct{} // closed at its end
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
	return &pageCache{now: now, kept: kept, making: map[string]*making{}}
}

// wrap answers from the cache, and fills it with what the handler answered.
func (p *pageCache) wrap(h fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		address := string(c.Request().RequestURI())
		if page := p.notOlder(address, keptFor); page != nil {
			return page.send(c)
		}
		m, mine := p.begin(address)
		if mine {
			defer p.end(address, m)
			return p.fill(c, address, m, h)
		}
		if page := p.notOlder(address, staleFor); page != nil {
			return page.send(c)
		}
		select {
		case <-m.done:
		case <-c.UserContext().Done():
			return c.UserContext().Err()
		}
		if page := p.notOlder(address, staleFor); page != nil {
			return page.send(c)
		}
		return h(c) // what the other asker got is not kept: a refusal or an error
	}
}

// notOlder is the kept page of an address; nil when there is none so young.
func (p *pageCache) notOlder(address string, age time.Duration) *keptPage {
	if page, ok := p.kept.Get(address); ok && p.now().Sub(page.made) < age {
		return page
	}
	return nil
}

// begin tells whether the caller is the one to make a page, or who else is.
func (p *pageCache) begin(address string) (m *making, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, busy := p.making[address]; busy {
		return m, false
	}
	m = &making{epoch: p.epoch, done: make(chan struct{})}
	p.making[address] = m
	return m, true
}

func (p *pageCache) end(address string, m *making) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.making, address)
	close(m.done)
}

// fill makes a page and keeps it, with the form that was asked for at hand.
func (p *pageCache) fill(c *fiber.Ctx, address string, m *making, h fiber.Handler) error {
	if err := h(c); err != nil || c.Response().StatusCode() != fiber.StatusOK {
		return err
	}
	page := p.keep(c)
	err := page.send(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.epoch == p.epoch {
		p.kept.Add(address, page)
	}
	return err
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

// send answers with the form the request prefers, or with 304.
func (k *keptPage) send(c *fiber.Ctx) error {
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
