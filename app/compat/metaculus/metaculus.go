// Package metaculus serves the part of Metaculus' API that the client of forecasting-tools uses, for
// yes-or-no questions. A bot written for Metaculus can forecast on this service's markets by changing
// only its base address. The package parses, calls the domain and answers, as package api does. Keys,
// limits and refusals are the same.
//
// The shapes are those that github.com/Metaculus/forecasting-tools reads and writes at commit
// 47cf3cf156ba0fa384034e43c1a5b975091c210a (July 2026) in helpers/metaculus_client.py and
// data_models/questions.py.
//
// A market is both a post and its question, which have the same number; see number. A forecast and a
// comment together become one prediction; see prediction.Publisher.AddPart.
package metaculus

import (
	"bytes"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Base is the prefix of all paths of the API.
const Base = "/compat/metaculus/api"

const (
	// CommentsPath accepts larger bodies than other paths, up to MaxComment bytes, because bots
	// send reports that are much longer than a thesis may be.
	CommentsPath = Base + comments
	MaxComment   = 512 << 10

	comments = "/comments/create/"
)

// API handles the paths below Base.
type API struct {
	Config    *config.Config
	DB        *database.DB
	Now       func() time.Time
	Publisher *prediction.Publisher

	markets     market.Store
	predictions prediction.Store
	assignments assignment.Store
}

// Register adds the routes. All of them need a key, because the client always sends one.
func (a *API) Register(s *httpserver.Server) {
	limits := s.Limits
	get := func(path string, cost httpserver.Cost, h fiber.Handler) {
		s.App.Get(Base+path, keyAsBearer, s.RequireAgent(agent.ScopeRead), limits.Reads(), s.Admitted(cost), h)
	}
	post := func(path string, h fiber.Handler) {
		s.App.Post(Base+path, keyAsBearer, s.RequireAgent(agent.ScopePublish), limits.Writes(), h)
	}
	get("/posts/", httpserver.Page, a.listPosts)
	get("/posts/:id/", httpserver.Lookup, a.getPost)
	get("/users/me", httpserver.Shared, a.getUser)
	post("/questions/forecast/", a.forecast(limits))
	s.AllowBody(CommentsPath, MaxComment)
	post(comments, a.comment)
}

// keyAsBearer treats Authorization: Token KEY, which Metaculus' clients send, like Bearer KEY.
func keyAsBearer(c *fiber.Ctx) error {
	h := &c.Request().Header
	if sent := h.PeekAll(fiber.HeaderAuthorization); len(sent) == 1 {
		if scheme, key, ok := bytes.Cut(sent[0], []byte(" ")); ok && strings.EqualFold(string(scheme), "token") {
			h.Set(fiber.HeaderAuthorization, "Bearer "+string(key))
		}
	}
	return c.Next()
}

// author returns the agent of a request.
func author(c *fiber.Ctx) *agent.Agent {
	return httpserver.PrincipalOf(c).(*identity.Principal).Agent
}

func respond(c *fiber.Ctx, status int, body any) error {
	out, err := answer.JSON(body)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Status(status).Send(out)
}

type userWire struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	IsBot    bool   `json:"is_bot"`
}

func userOf(a *agent.Agent) userWire {
	return userWire{ID: numberOf(a.ID), Username: a.Handle, IsBot: true}
}

func (a *API) getUser(c *fiber.Ctx) error { return respond(c, fiber.StatusOK, userOf(author(c))) }
