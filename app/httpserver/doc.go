// Package httpserver is the Fiber app on which the API and the pages register their routes. It also
// does the work that all routes share: request ids, the access log, errors as problem+json or as a
// page, 404 and 405, CORS, security headers, compression, credentials, rate limits, the edge filter,
// health, and starting and stopping without losing a request.
//
// # Layers
//
// The outermost layer is a fasthttp handler (Server.serve) and not a Fiber middleware, because two
// kinds of answers never pass Fiber's middleware. Fiber renders errors after the chain has unwound,
// and it never sees requests that fasthttp cannot parse. With this layer both get the same ids,
// headers and log lines as all other answers.
//
// # Routing
//
// Paths are case-sensitive. A path with and without a trailing slash is the same path. Don't
// register a catch-all. A request that matches no route ends in Fiber's router, which distinguishes
// an unknown path (404) from a known path with another method (405 with Allow). A catch-all would
// hide the difference. OPTIONS of a known path is answered from the same information. Middleware that
// can refuse (credentials, limits, the edge filter) goes on the routes themselves and not on a group,
// so that an unknown path stays a 404.
//
// # Cross-origin use
//
// Pages of any origin may read every answer under /api. There are no ambient credentials there,
// because no cookie is ever read. So "Access-Control-Allow-Origin: *" gives a page nothing that its
// author could not fetch directly. A page must put a key into the Authorization header itself.
package httpserver
