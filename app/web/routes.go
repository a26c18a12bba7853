package web

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
)

// pageHandler sends the page at an address.
type pageHandler func(c *fiber.Ctx, a address) error

// alone adapts the handler of a page without parameters.
func alone(h fiber.Handler) pageHandler { return func(c *fiber.Ctx, _ address) error { return h(c) } }

const (
	// pageFresh is how long a page is served before it is rendered again.
	pageFresh = 2 * time.Second
	// documentFresh is the same for pages that change only with a release and for documents that
	// only programs read.
	documentFresh = time.Minute
)

// moved are addresses that readers guess, and the pages that answer them.
var moved = map[string]string{"/agents": "/leaderboard", "/events": "/markets", "/guide": "/docs"}

// Register adds the routes of the site.
func (s *Site) Register(srv *httpserver.Server) {
	// A page ignores parameters that aren't named here, so they aren't part of its cache key.
	add := func(cache *pageCache, fresh time.Duration, cost costFunc, admit admitFunc) func(string, pageHandler, ...string) {
		return func(path string, h pageHandler, parameters ...string) {
			srv.App.Get(path, srv.Limits.Reads(), cache.wrap(route{h, parameters, fresh, cost, admit}))
		}
	}
	page, document := add(s.pages, pageFresh, costOfPage, srv.Admit), add(s.pages, documentFresh, costOfPage, srv.Admit)
	archived := add(s.pages, pageFresh, costOfPage, srv.AdmitArchived)
	picture := add(s.pictures, documentFresh, costOfPicture, srv.Admit)
	// The picture of a prediction shows its reveal as soon as its page does.
	changingPicture := add(s.pictures, pageFresh, costOfPicture, srv.Admit)
	page("/", alone(s.home))
	page("/leaderboard", s.leaderboard, "window", "category", "model", "cursor")
	page("/markets", s.listMarkets, "q", "category", "tag", "closes", "state", "view", "sort", "cursor")
	page("/markets/:id", alone(s.market))
	page("/events/:id", s.event, "cursor")
	page("/news", s.listNews, "q", "community", "item", "cursor")
	page("/predictions.atom", alone(s.predictionFeed))
	page("/predictions", s.listPredictions, "q", "agent", "market", "event", "category", "status", "sort", "cursor")
	page("/predictions/:id", s.prediction, reported)
	page("/agents/new", alone(s.registerForm))
	page("/agents/:handle.atom", alone(s.agentFeed))
	picture("/agents/:handle/badge.svg", alone(s.badge))
	page("/agents/:handle", s.agent, "events", "cursor")
	page("/models", s.models, "window")
	page("/compare", s.compare, "a", "b")
	page("/assignments", alone(s.listAssignments))
	page("/method", alone(s.method))
	page("/search", s.search, "q", "in", "cursor")
	page("/changes", alone(s.changes))
	archived("/data", s.data, "before")
	s.registerGuide(document)
	s.registerDiscovery(srv)
	page("/terms", alone(s.legal("Terms", "What agents and readers agree to.", "/terms", "terms.md", s.Config.TermsFile)))
	page("/privacy", alone(s.legal("Privacy", "Which data is kept, and for how long.", "/privacy", "privacy.md", s.Config.PrivacyFile)))
	page("/contact", alone(s.legal("Contact", "How to reach the operator.", "/contact", "contact.md", "")))
	page(offlinePath, alone(s.offline))
	document("/sitemap.xml", alone(s.sitemap))
	picture("/markets/:id/card.png", alone(s.marketCard))
	changingPicture("/predictions/:id/card.png", alone(s.predictionCard))
	picture("/agents/:handle/card.png", alone(s.agentCard))
	picture(boardCard, alone(s.leaderboardCard))
	memory := srv.Limits.Snapshot()
	for from, to := range moved {
		srv.App.Get(from, memory, func(c *fiber.Ctx) error { return c.Redirect(to, fiber.StatusMovedPermanently) })
	}
	srv.App.Get("/robots.txt", memory, s.robots)
	srv.App.Get("/favicon.ico", memory, icon("favicon.ico"))
	srv.App.Get("/apple-touch-icon.png", memory, icon("apple-touch-icon.png"))
	srv.App.Get("/manifest.webmanifest", memory, s.manifest)
	srv.App.Get("/sw.js", memory, s.serviceWorker)
	srv.App.Get("/clients/:name", memory, s.clientFile)
	srv.App.Get("/static/*", memory, s.file)
	srv.App.Post("/agents/new", s.ownForms, srv.Limits.Writes(), s.register(srv.Limits))
	if s.SignIn != nil {
		s.registerSignIn(srv)
	}
	srv.App.Post("/predictions/:id/report", s.ownForms, srv.Limits.Reports(), s.report)
}

// costly lists the routes of pages that cost more than a Page if they name a subject.
var costly = map[string]httpserver.Cost{
	"/agents/:handle": httpserver.AgentPage, "/markets/:id": httpserver.SubjectPage,
	"/events/:id": httpserver.SubjectPage, "/compare": httpserver.SubjectPage,
}

// costOfPage returns the cost of a page that isn't in memory.
func costOfPage(c *fiber.Ctx, a address) httpserver.Cost {
	switch {
	case a.get("q") != "":
		return httpserver.Search
	case a.narrowed() || hasSubject(c):
		if cost := costly[c.Route().Path]; cost != 0 {
			return cost
		}
		return httpserver.Page
	}
	return httpserver.Shared
}

func costOfPicture(c *fiber.Ctx, _ address) httpserver.Cost {
	switch path := c.Route().Path; {
	case !hasSubject(c):
		return httpserver.Shared
	case strings.HasSuffix(path, ".png"):
		return httpserver.Drawing
	}
	return httpserver.Page
}

// hasSubject reports whether the page's path contains a parameter, which names what the page is about.
func hasSubject(c *fiber.Ctx) bool { return strings.Contains(c.Route().Path, ":") }
