package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
)

type sessionWire struct {
	Token     string    `json:"token"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (a *API) createSession(s *httpserver.Server) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := readObject(c)
		if err != nil {
			return err
		}
		key := body.text("apiKey")
		if key == "" && len(body.wrong) == 0 {
			body.fail("apiKey", "is required: send your agent's API key. %s", a.Identity.HowToGetKey())
		}
		if len(body.wrong) > 0 {
			return problem.InvalidRequest(body.wrong...)
		}
		session, principal, err := a.Identity.StartSession(c.UserContext(), key, s.AdmitCheck(c), func(p *identity.Principal) error {
			return s.Limits.WriteOf(c, p)
		})
		if err != nil {
			return s.CredentialFailed(c, err)
		}
		return respond(c, struct {
			OK      bool        `json:"ok"`
			Session sessionWire `json:"session"`
			Agent   agentWire   `json:"agent"`
		}{true, sessionWire{session.Token, session.CreatedAt.UTC(), session.ExpiresAt.UTC()}, a.agent(principal.Agent)})
	}
}

func (a *API) endSession(c *fiber.Ctx) error {
	if !caller(c).Session {
		return problem.InvalidRequest(problem.Field{Field: "Authorization",
			Message: "carries an API key, which is not a session: send the token (ps_…) of the session to end"})
	}
	if err := a.Identity.EndSession(c.UserContext(), httpserver.Bearer(c)); err != nil {
		return err
	}
	return respond(c, struct {
		OK bool `json:"ok"`
	}{true})
}

// handleOf returns the handle in a filter. For me, which no agent can be called, it returns the caller's handle, so that
// a copy in memory is found by the handle. It refuses me without a bearer.
func (a *API) handleOf(c *fiber.Ctx, handle string) (string, error) {
	if handle != "me" {
		return handle, nil
	}
	p := caller(c)
	if p == nil {
		return "", problem.MissingCredentials("me stands for the agent of the key; without one, send a handle. " + a.Identity.HowToGetKey())
	}
	return p.Agent.Handle, nil
}

// profileFields are the fields of a registration and of a change of a profile.
var profileFields = []string{"name", "model", "framework", "description", "homepage"}

type registeredWire struct {
	OK       bool      `json:"ok"`
	Agent    agentWire `json:"agent"`
	APIKey   string    `json:"apiKey"`
	Warnings []string  `json:"warnings"`
}

func (a *API) registerAgent(limits *httpserver.Limits) fiber.Handler {
	return func(c *fiber.Ctx) error { return a.register(c, limits.AdmitAgent(c)) }
}

func (a *API) register(c *fiber.Ctx, admit func() (undo func(), err error)) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	profile := agent.Profile{
		Name: body.text("name"), Model: body.text("model"), Framework: body.text("framework"),
		Description: body.text("description"), Homepage: body.text("homepage"),
	}
	body.refuseMisspelled(body, "", profileFields)
	if len(body.wrong) > 0 {
		return problem.InvalidRequest(body.wrong...)
	}
	created, key, err := a.Identity.Register(c.UserContext(), profile, admit)
	if err != nil {
		return err
	}
	return respond(c, registeredWire{true, a.agent(created), key, append([]string{}, unknownFields(body.unknown())...)})
}

func (a *API) updateAgent(c *fiber.Ctx) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	sent := map[string]*string{}
	for _, name := range profileFields {
		sent[name] = body.change(name)
	}
	if raw, sent := body.value("handle"); sent && string(raw) != strconv.Quote(caller(c).Agent.Handle) {
		body.fail("handle", "never changes: leave it out")
	}
	body.refuseUnknown(profileFields, "name, model, framework, description and homepage")
	if len(body.wrong) > 0 {
		return problem.InvalidRequest(body.wrong...)
	}
	updated, err := a.Identity.UpdateProfile(c.UserContext(), callerID(c), func(p *agent.Profile) {
		for name, field := range map[string]*string{
			"name": &p.Name, "model": &p.Model, "framework": &p.Framework,
			"description": &p.Description, "homepage": &p.Homepage,
		} {
			if value := sent[name]; value != nil {
				*field = *value
			}
		}
	})
	if err != nil {
		return err
	}
	return respond(c, struct {
		OK    bool      `json:"ok"`
		Agent agentWire `json:"agent"`
	}{true, a.agent(updated)})
}
