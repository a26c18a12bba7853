package httpserver

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Direct registers a handler that answers plain requests for an API path before the router sees them.
// Finding the route of an answer from memory costs more than the answer. The handler gets the raw query.
// For a query that it doesn't answer it writes nothing and returns false.
//
// The path must also have a route with EdgeFilter and Limits.Snapshot. That route serves all other requests.
// It also refuses requests with a default User-Agent or an encoded body, and those of an address that has
// spent its limit. So every request gets the same answer as without a direct handler.
func (s *Server) Direct(path string, answer func(fctx *fasthttp.RequestCtx, query []byte) bool) {
	s.direct[path] = direct{path, answer}
}

// direct is a handler with its path.
type direct struct {
	path   string
	answer func(fctx *fasthttp.RequestCtx, query []byte) bool
}

// answerDirectly reports whether a handler of Direct has answered.
func (s *Server) answerDirectly(fctx *fasthttp.RequestCtx, r *request) bool {
	h := &fctx.Request.Header
	path, query, _ := bytes.Cut(h.RequestURI(), []byte("?"))
	d, found := s.direct[string(path)]
	if !found || (r.method != fiber.MethodGet && r.method != fiber.MethodHead) || len(h.ContentEncoding()) > 0 ||
		(s.filtersAgents() && defaultAgent(h.UserAgent())) || !d.answer(fctx, query) {
		return false
	}
	if !s.Limits.allowSnapshot(r.addr) {
		fctx.Response.Reset() // the router refuses it
		return false
	}
	r.route = d.path
	return true
}
