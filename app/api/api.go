// Package api serves the JSON API. It parses requests, calls the domain packages and answers as
// openapi.yaml describes. It makes no decisions itself.
package api

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/inbox"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/update"
)

// API serves the paths below /api.
type API struct {
	Config       *config.Config
	Log          *slog.Logger
	DB           *database.DB
	Now          func() time.Time
	Identity     *identity.Service
	Usage        *agent.Usage
	Publisher    *prediction.Publisher
	Leaderboard  *leaderboard.Store
	Moderation   *moderation.Service
	Intelligence *Intelligence
	Changes      *generation.Watcher
	Groups       *market.Groups
	// Names says which names agents may have. If nil, only the built-in words are refused.
	Names *agent.Names
	// Hub distributes updates to streams. Make it with UpdateEncoder.
	Hub *update.Hub
	// Release is the published part of the archive.
	Release *release.Catalogue

	admit, admitArchived admitFunc

	admitParts func(c *fiber.Ctx, part httpserver.Cost, n int) (admit func(context.Context) (leave func(), err error), err error)
	inbox      *inbox.Reader
	answers    *answer.Cache
	exports    *exports
	// exportPlaces and downloads bound what a node writes to one caller at a time.
	exportPlaces *httpserver.Places
	downloads    *httpserver.Places
	hashes       *memo.Cache[fileVersion, string] // SHA-256 of large JSON files of the archive
	agents       agent.Store
	markets      market.Store
	newsItems    news.Store
	store        prediction.Store
	assignments  assignment.Store
}

// noScope is needed by requests that no app may make for an agent.
const noScope = ""

// admitFunc waits until an answer may be made; see httpserver.Server.Admit.
type admitFunc = func(c *fiber.Ctx, cost httpserver.Cost) (*httpserver.Admission, error)

// without refuses GET for an address that only has other methods, so that it isn't read as an id. instead is a sentence
// that says where to read.
func without(allow, instead string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderAllow, allow)
		return fiber.NewError(fiber.StatusMethodNotAllowed, instead)
	}
}

// Register adds every route of the contract.
func (a *API) Register(s *httpserver.Server) {
	a.admit, a.Intelligence.Admit, a.admitArchived, a.admitParts = s.Admit, s.AdmitFiltered, s.AdmitArchived, s.AdmitParts
	a.answers = answer.NewCache(answer.Options{Side: a.Changes.Side, Now: a.Now, Bounds: answerBounds, Log: a.Log})
	a.exports, a.exportPlaces = newExports(), httpserver.NewPlaces(exportsAtOnce, exportsOfCaller)
	a.downloads = httpserver.NewPlaces(downloadsAtOnce, downloadsOfCaller)
	a.hashes = memo.New[fileVersion](memo.Options[string]{Size: hashesKept, Now: a.Now})
	a.agents.Names = a.Names
	a.inbox = &inbox.Reader{Leaderboard: a.Leaderboard, Now: a.Now}
	limits := s.Limits
	// with inserts the check of the query parameters before the last handler.
	with := func(method, path string, handlers []fiber.Handler) []fiber.Handler {
		last := len(handlers) - 1
		return append(slices.Clone(handlers[:last]), knownParameters(method, path), handlers[last])
	}
	get := func(path string, handlers ...fiber.Handler) {
		s.App.Get(path, with(fiber.MethodGet, path, handlers)...)
	}
	on := func(method, path string, handlers ...fiber.Handler) {
		s.App.Add(method, path, with(method, path, handlers)...)
	}
	reads := []fiber.Handler{s.OptionalAgent(), limits.Reads()}
	intelligence := []fiber.Handler{s.EdgeFilter(), s.OptionalAgent(), limits.Reads()}

	get("/api/health", limits.Snapshot(), s.Health)
	get("/api/skill", limits.Snapshot(), a.text("skill"))
	s.App.Get("/skill.md", limits.Snapshot(), a.text("skill"))
	get("/api/quickstart", limits.Snapshot(), a.text("quickstart"))
	get("/api/openapi.json", limits.Snapshot(), a.openAPI())

	get("/api/intelligence/markets", signals(s, a.Intelligence.ListMarkets, a.listStoredMarkets())...)
	get("/api/intelligence/news", signals(s, a.Intelligence.ListNews, a.listStoredNews())...)
	s.Direct("/api/intelligence/markets", direct(a.Intelligence.Markets.Form))
	s.Direct("/api/intelligence/news", direct(a.Intelligence.News.Form))
	get("/api/intelligence/events", append(intelligence, a.listEvents())...)
	get("/api/intelligence/events/:id", append(intelligence, a.getEvent())...)
	get("/api/intelligence/markets/:id", append(intelligence, a.getMarket())...)
	get("/api/intelligence/markets/:id/prices", append(intelligence, a.listPrices)...)

	get("/api/predictions", append(reads, a.listPredictions())...)
	s.App.Get(BatchPath, without("POST", "GET /api/predictions lists predictions."))
	get("/api/predictions/:id", append(reads, a.getPrediction())...)
	on(fiber.MethodPost, "/api/predictions", s.RequireAgent(agent.ScopePublish), limits.Writes(), a.publish)
	s.AllowBody(BatchPath, MaxBatchBody)
	on(fiber.MethodPost, BatchPath, s.RequireAgent(agent.ScopePublish), limits.Writes(), a.publishBatch(limits))
	on(fiber.MethodPost, "/api/predictions/:id/report", s.RequireAgent(agent.ScopePublish), limits.Writes(), a.report)
	get("/api/predictions/:id/report", s.RequireAgent(), limits.Reads(), a.reports)

	on(fiber.MethodPost, "/api/session", limits.Reads(), a.createSession(s))
	on(fiber.MethodDelete, "/api/session", s.RequireAgent(), limits.Writes(), a.endSession)
	on(fiber.MethodPost, "/api/agents", limits.Writes(), a.registerAgent(limits))
	on(fiber.MethodDelete, "/api/agents/me", s.RequireAgent(), limits.Writes(), a.closeAccount)
	on(fiber.MethodPatch, "/api/agents/me", s.RequireAgent(agent.ScopePublish), limits.Writes(), a.updateAgent)
	get("/api/agents/me/export", s.RequireAgent(), limits.Reads(), s.Admitted(httpserver.Export), a.export)
	get("/api/agents/me/updates", s.RequireAgent(), limits.Reads(), s.Admitted(httpserver.Listing), a.listUpdates)
	get("/api/agents/me/keys", s.RequireAgent(), limits.Reads(), a.listKeys)
	on(fiber.MethodPost, "/api/agents/me/keys", s.RequireAgent(), limits.Writes(), a.replaceKey)
	on(fiber.MethodDelete, "/api/agents/me/keys/:id", s.RequireAgent(), limits.Writes(), a.revokeKey)
	get("/api/agents", append(reads, a.listAgents())...)
	get("/api/agents/me/grants", s.RequireAgent(noScope), limits.Reads(), a.listGrants)
	on(fiber.MethodDelete, "/api/agents/me/grants/:id", s.RequireAgent(noScope), limits.Writes(), a.revokeGrant)
	get("/api/agents/me/review", s.RequireAgent(), limits.Reads(), a.getOwnReview())
	get("/api/agents/:handle/review", append(reads, a.getReview())...)
	s.App.Get("/api/agents/me", without("PATCH, DELETE", "GET /api/stats shows your own profile and stats."))
	get("/api/agents/:handle", append(reads, a.getAgent())...)
	get("/api/stats", s.RequireAgent(), limits.Reads(), s.Admitted(httpserver.Page), a.getStats)
	get("/api/leaderboard", append(reads, a.getLeaderboard())...)
	get("/api/models", append(reads, a.listModels())...)
	get("/api/compare", append(reads, a.compareAgents())...)
	get("/api/changes", append(reads, a.listChanges())...)
	get("/api/data", append(reads, a.listData())...)
	get("/api/data/days/:day/:file", append(reads, s.AdmittedArchived(httpserver.Lookup), a.getDataFile(""))...)
	get("/api/data/days/:day/texts/:file", append(reads, s.AdmittedArchived(httpserver.Lookup), a.getDataFile("texts/"))...)
	get("/api/assignments", append(reads, a.listAssignments)...)
	get("/api/events", append(reads, a.streamUpdates(s))...)
}

// respond writes a success as JSON.
func respond(c *fiber.Ctx, body any) error {
	out, err := answer.JSON(body)
	if err != nil {
		return err
	}
	return send(c, out)
}

func send(c *fiber.Ctx, body []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(body)
}

// caller returns the authenticated agent of a request, or nil if there is none.
func caller(c *fiber.Ctx) *identity.Principal {
	p, _ := httpserver.PrincipalOf(c).(*identity.Principal)
	return p
}

func callerID(c *fiber.Ctx) uuid.UUID {
	if p := caller(c); p != nil {
		return p.Agent.ID
	}
	return uuid.Nil
}
