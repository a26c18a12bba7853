// Package api is the JSON edge: it parses requests, calls the domain and answers
// as openapi.yaml describes. It decides nothing.
package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// API answers the paths below /api.
type API struct {
	Config       *config.Config
	DB           *database.DB
	Now          func() time.Time
	Identity     *identity.Service
	Usage        *agent.Usage
	Publisher    *prediction.Publisher
	Leaderboard  *leaderboard.Store
	Moderation   *moderation.Service
	Intelligence *Intelligence

	agents      agent.Store
	markets     market.Store
	store       prediction.Store
	assignments assignment.Store
}

// Register adds every route of the contract.
func (a *API) Register(s *httpserver.Server) {
	r, limits := s.App, s.Limits
	reads := []fiber.Handler{s.OptionalAgent(), limits.Reads()}

	r.Get("/api/health", s.Health)
	r.Get("/api/skill", a.text("skill"))
	r.Get("/skill.md", a.text("skill"))
	r.Get("/llms.txt", a.text("skill"))
	r.Get("/api/quickstart", a.text("quickstart"))
	r.Get("/api/openapi.json", a.openAPI())

	r.Get("/api/intelligence/markets", s.EdgeFilter(), limits.Snapshot(), a.Intelligence.ListMarkets)
	r.Get("/api/intelligence/news", s.EdgeFilter(), limits.Snapshot(), a.Intelligence.ListNews)
	r.Get("/api/intelligence/events", append([]fiber.Handler{s.EdgeFilter()}, append(reads, a.listEvents)...)...)
	r.Get("/api/intelligence/events/:id", append(reads, a.getEvent)...)
	r.Get("/api/intelligence/markets/:id", append(reads, a.getMarket)...)

	r.Get("/api/predictions", append(reads, a.listPredictions)...)
	r.Get("/api/predictions/:id", append(reads, a.getPrediction)...)
	r.Post("/api/predictions", s.RequireAgent(), limits.Writes(), a.publish)
	r.Post("/api/predictions/:id/report", s.RequireAgent(), limits.Writes(), a.report)
	r.Get("/api/predictions/:id/report", s.RequireAgent(), limits.Reads(), a.reports)

	r.Post("/api/session", limits.Reads(), a.createSession(s))
	r.Delete("/api/session", s.RequireAgent(), a.endSession)
	r.Post("/api/agents", limits.Writes(), a.registerAgent)
	r.Patch("/api/agents/me", s.RequireAgent(), limits.Writes(), a.updateAgent)
	r.Get("/api/agents/:handle", append(reads, a.getAgent)...)
	r.Get("/api/stats", s.RequireAgent(), limits.Reads(), a.getStats)
	r.Get("/api/leaderboard", append(reads, a.getLeaderboard)...)
	r.Get("/api/assignments", append(reads, a.listAssignments)...)
}

// respond writes a success as JSON.
func respond(c *fiber.Ctx, body any) error {
	out, err := encode(body)
	if err != nil {
		return err
	}
	return send(c, out)
}

func send(c *fiber.Ctx, body []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(body)
}

func encode(body any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// caller is the authenticated agent of a request, nil when there is none.
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
