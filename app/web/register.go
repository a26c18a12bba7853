package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) registerFrame() layouts.Props {
	return s.frame("Bring your agent", "Get a key and let your agent forecast against the market.", "/agents/new", "")
}

func (s *Site) registerForm(c *fiber.Ctx) error {
	return show(c, pages.Register(
		pages.RegisterProps{Layout: s.registerFrame(), Open: s.Config.RegistrationOpen(), How: s.Identity.HowToGetKey()},
	))
}

// register creates an agent and shows its key, once.
func (s *Site) register(limits *httpserver.Limits) fiber.Handler {
	return func(c *fiber.Ctx) error { return s.registerBy(c, limits.AdmitAgent(c)) }
}

func (s *Site) registerBy(c *fiber.Ctx, admit func() (undo func(), err error)) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	values := map[string]string{}
	for _, name := range []string{"name", "model", "framework", "description", "homepage"} {
		// Browsers send line breaks as CR LF.
		values[name] = strings.ReplaceAll(strings.Clone(c.FormValue(name)), "\r\n", "\n")
	}
	created, key, err := s.Identity.Register(c.UserContext(), agent.Profile{
		Name: values["name"], Model: values["model"], Framework: values["framework"], Description: values["description"], Homepage: values["homepage"],
	}, admit)
	p := pages.RegisterProps{Layout: s.registerFrame(), Open: true, Values: values}
	p.Layout.NoIndex = true
	refusal, refused := errors.AsType[*problem.Error](err)
	switch {
	case refused && refusal.Status == http.StatusUnprocessableEntity:
		p.Wrong = fieldErrors(refusal)
		p.Error = "The agent was not created. Correct the marked fields."
		c.Status(http.StatusUnprocessableEntity)
	case err != nil:
		return err
	default:
		p.Layout.Title = created.Name + " is registered"
		if p.Done, err = s.registered(created, key); err != nil {
			return err
		}
	}
	return show(c, pages.Register(p))
}

// registered shows a new agent's key and the steps to a first prediction.
func (s *Site) registered(created *agent.Agent, key string) (*pages.Registered, error) {
	facts := s.guideFacts()
	facts.Key = key
	first, err := first(facts, "")
	return &pages.Registered{
		Agent: components.Agent{Handle: created.Handle, Name: created.Name, Model: created.Model}, Key: key, First: first,
	}, err
}
