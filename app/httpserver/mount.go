package httpserver

import (
	"context"

	"github.com/valyala/fasthttp"
)

// Mounted answers the requests for some paths in place of the server. It also adds everything that the
// server would add: ids, headers, the log line.
type Mounted interface {
	// Answer writes nothing and returns false for a request that the server must answer.
	Answer(fctx *fasthttp.RequestCtx) bool
	// Rest returns a path as the mounted handler sees it. AllowBody's limits apply to that path.
	Rest(path []byte) []byte
}

// Mount sets the mounted handler. Call it before Start.
func (s *Server) Mount(m Mounted) { s.mounted = m }

// Handler returns the server as a handler to mount in another server. Don't start the server as well.
// Handler checks health once, and only at this call. Call it once.
func (s *Server) Handler() fasthttp.RequestHandler {
	s.App.Handler() // builds the routes
	s.health.look(context.Background())
	close(s.health.looked)
	return s.App.Server().Handler
}
