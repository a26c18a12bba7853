package httpserver

import (
	"context"

	"github.com/valyala/fasthttp"
)

// Mounted answers the requests for some paths in place of the server, with all that this one
// would add: ids, headers, the log line.
type Mounted interface {
	// Answer returns false, with nothing written, for a request that the server is to answer.
	Answer(fctx *fasthttp.RequestCtx) bool
	// Rest returns a path as what is mounted sees it. AllowBody is asked for that one.
	Rest(path []byte) []byte
}

// Mount sets what is mounted. Call it before Start.
func (s *Server) Mount(m Mounted) { s.mounted = m }

// Handler returns the server as a handler to be mounted. The server is not to be started then.
// Health looks once, now. Call it once.
func (s *Server) Handler() fasthttp.RequestHandler {
	s.App.Handler() // builds the routes
	s.health.look(context.Background())
	close(s.health.looked)
	return s.App.Server().Handler
}
