package httpserver

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// ContentSecurityPolicy is the policy of every page. It allows nothing inline and nothing from other sites.
const ContentSecurityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type header struct{ name, value []byte }

func fixed(name, value string) header { return header{[]byte(name), []byte(value)} }

var (
	everywhere = []header{
		fixed("X-Content-Type-Options", "nosniff"),
	}
	apiHeaders = []header{
		fixed("Access-Control-Allow-Origin", "*"),
		// The headers of the OpenAPI document, and those of a redirect and of a copy during an outage.
		fixed("Access-Control-Expose-Headers", "Accept-Ranges, Age, Allow, Cache-Status, Content-Disposition, Content-Range, "+
			"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"),
	}
	pageHeaders = []header{
		fixed("Content-Security-Policy", ContentSecurityPolicy),
		fixed("Referrer-Policy", "strict-origin-when-cross-origin"),
		fixed("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
		fixed("Cross-Origin-Opener-Policy", "same-origin"),
	}
	transport = fixed("Strict-Transport-Security", "max-age=31536000")
	noStore   = fixed("Cache-Control", "no-store")
	requestID = []byte("X-Request-Id")

	// The draft's own spelling, which fasthttp's normal form would change.
	rateLimit       = []byte("RateLimit")
	rateLimitPolicy = []byte("RateLimit-Policy")
)

// decorate adds the headers that depend only on the kind of path. It keeps a header that the handler has
// set.
func (s *Server) decorate(fctx *fasthttp.RequestCtx, r *request) {
	h := &fctx.Response.Header
	path := fctx.URI().PathOriginal()
	h.SetCanonical(requestID, r.id)
	setMissing(h, everywhere)
	if s.https {
		h.SetCanonical(transport.name, transport.value)
	}
	switch {
	case !machine(path):
		setMissing(h, pageHeaders)
	case bytes.HasPrefix(path, []byte("/api")), bytes.HasPrefix(path, []byte("/compat")), bytes.HasPrefix(path, []byte("/oauth")), bytes.HasPrefix(path, []byte("/.well-known")):
		setMissing(h, apiHeaders)
	}
	if machine(path) || private(path) {
		if len(h.PeekBytes(noStore.name)) == 0 {
			h.SetCanonical(noStore.name, noStore.value)
		}
	}
}

// decorateDirect is decorate for an API answer that has none of these headers yet except Cache-Control. It
// doesn't look for them.
func (s *Server) decorateDirect(h *fasthttp.ResponseHeader, r *request) {
	h.SetCanonical(requestID, r.id)
	if s.https {
		h.SetCanonical(transport.name, transport.value)
	}
	for _, f := range everywhere {
		h.SetCanonical(f.name, f.value)
	}
	for _, f := range apiHeaders {
		h.SetCanonical(f.name, f.value)
	}
}

func setMissing(h *fasthttp.ResponseHeader, headers []header) {
	for _, f := range headers {
		if len(h.PeekBytes(f.name)) == 0 {
			h.SetCanonical(f.name, f.value)
		}
	}
}

// private reports whether only a signed-in person may see a path.
func private(path []byte) bool {
	rest, ok := bytes.CutPrefix(path, []byte("/admin"))
	return ok && (len(rest) == 0 || rest[0] == '/')
}
