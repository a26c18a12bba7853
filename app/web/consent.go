package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// consent is one request to the consent page.
type consent struct {
	*Site
	c       *fiber.Ctx
	request *oauth.Request
	form    url.Values // nil for GET
	failed  func(error) error
	check   identity.Admit                  // bounds the check of the key
	admit   func() (undo func(), err error) // counts a new agent against the limits
}

// authorize shows the consent page and carries out the person's decision. Each request is checked
// in full, so any node can take the next one.
func (s *Site) authorize(srv *httpserver.Server) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		v := &consent{
			Site: s, c: c, failed: func(err error) error { return srv.CredentialFailed(c, err) },
			check: srv.AdmitCheck(c), admit: srv.Limits.AdmitAgent(c),
		}
		sent := string(c.Context().QueryArgs().QueryString())
		if c.Method() == fiber.MethodPost {
			sent = string(c.Body())
		}
		parameters, err := url.ParseQuery(sent)
		if err != nil {
			return problem.New(problem.CodeInvalidAuthorization,
				"The address isn't a valid request. Go back to the app and connect again.").With(err)
		}
		if c.Method() == fiber.MethodPost {
			v.form = parameters
		}
		v.request, err = s.SignIn.Begin(c.UserContext(), parameters, s.admitReading(c))
		if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
			c.Locals(invalidKey{}, invalid)
			c.Set("Cross-Origin-Opener-Policy", "unsafe-none") // as for the consent page; see show
			return invalid.Problem
		}
		if err != nil {
			return err
		}
		return v.answer()
	}
}

const (
	// readingsAtOnce is how many metadata documents of apps a node reads at a time, and readingsOfCaller how many of
	// them for one address. A host that doesn't answer takes a place for some seconds.
	readingsAtOnce   = 32
	readingsOfCaller = 4
	readingRetry     = 5 * time.Second
)

// admitReading returns a function that takes a place to read the metadata document of an app for a request.
func (s *Site) admitReading(c *fiber.Ctx) oauth.Admit {
	return func() (leave func(), err error) {
		leave, err = s.readings.Enter(c)
		switch {
		case errors.Is(err, httpserver.ErrShare):
			return nil, problem.RateLimited(fmt.Sprintf("The service is still reading the metadata documents of %d other apps for this address, or of %d for its "+
				"IPv6 /48. Wait a few seconds, then open the same address again.", readingsOfCaller, httpserver.BlockShare*readingsOfCaller), readingRetry)
		case err != nil:
			return nil, problem.Busy("The metadata documents of many apps are being read. Wait a few seconds, then open the same address again.", readingRetry).With(err)
		}
		return leave, nil
	}
}

// invalidKey is the key of the *oauth.Invalid of a request. Its page lets the person take the refusal back to the app.
type invalidKey struct{}

func (v *consent) answer() error {
	switch v.form.Get("do") {
	case "deny":
		return v.c.Redirect(v.SignIn.Deny(v.request), http.StatusSeeOther)
	case "allow":
		return v.allow()
	case "new":
		return v.makeAgent()
	}
	return v.show(v.props())
}

// allow sends the browser to the client with a code, if the key is right.
func (v *consent) allow() error {
	key := strings.TrimSpace(v.form.Get("key"))
	who, err := v.Identity.Authenticate(v.c.UserContext(), key, v.check)
	if err == nil && who.Session {
		err = problem.InvalidCredentials("Send the API key itself (pc_…), not a token.")
	}
	err = v.failed(err)
	refusal, refused := errors.AsType[*problem.Error](err)
	switch {
	case refused && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden):
		p := v.props()
		p.KeyWrong = refusal.Detail
		v.c.Status(http.StatusUnprocessableEntity)
		return v.show(p)
	case err != nil:
		return err
	}
	location, err := v.SignIn.Approve(v.c.UserContext(), v.request, who, v.granted())
	if err != nil {
		return err
	}
	return v.c.Redirect(location, http.StatusSeeOther)
}

// granted returns the scopes that the person allows.
func (v *consent) granted() []string {
	asked := v.request.Scopes
	if v.form.Get("publish") == "" && slices.Contains(asked, agent.ScopeRead) {
		return []string{agent.ScopeRead}
	}
	return asked
}

// makeAgent creates an agent and shows its key. The person can then allow the app to act for it.
func (v *consent) makeAgent() error {
	p := v.props()
	p.Name = strings.ToValidUTF8(v.form.Get("name"), "")
	made, key, err := v.Identity.Register(v.c.UserContext(), agent.Profile{Name: p.Name}, v.admit)
	refusal, refused := errors.AsType[*problem.Error](err)
	switch {
	case refused && refusal.Status == http.StatusUnprocessableEntity:
		p.NewWrong = fieldErrors(refusal)["name"]
		v.c.Status(http.StatusUnprocessableEntity)
	case err != nil:
		return err
	default:
		p.Layout.Title = made.Name + " is registered"
		p.Made = &pages.Registered{Agent: components.Agent{Handle: made.Handle, Name: made.Name}, Key: key}
	}
	return v.show(p)
}

func (v *consent) props() pages.ConsentProps {
	r := v.request
	p := pages.ConsentProps{
		Layout: v.frame("Connect an app", "An app asks to act for an agent.", oauth.AuthorizePath, ""),
		App:    r.Client.Name, Host: r.Client.Host(), BackTo: inWords(r.Redirect), Action: oauth.AuthorizePath,
		Read: slices.Contains(r.Scopes, agent.ScopeRead), Publish: slices.Contains(r.Scopes, agent.ScopePublish),
		Open: v.Config.RegistrationOpen(), How: v.Identity.HowToGetKey(),
	}
	p.NoPublish = v.form != nil && !slices.Contains(v.granted(), agent.ScopePublish)
	p.Layout.NoIndex = true
	for _, name := range oauth.Parameters {
		for _, value := range r.Parameters[name] {
			p.Repeated = append(p.Repeated, pages.Hidden{Name: name, Value: value})
		}
	}
	return p
}

// inWords describes where an address leads.
func inWords(to *url.URL) string {
	switch host := to.Hostname(); {
	case to.Scheme != "http" && to.Scheme != "https":
		return "an app on this device (" + to.Scheme + ":)"
	case to.Scheme == "http":
		return "a program on this computer (" + host + ")"
	default:
		return to.Host
	}
}

// plainHost matches hosts without characters that have a meaning in a Content-Security-Policy.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9.:-]+$`)

// show sends the page. The answer to a form may redirect to the client, so the policy must allow
// that. The opener policy lets a client keep the window that it opened, because some clients get
// their answer that way.
func (v *consent) show(p pages.ConsentProps) error {
	to := v.request.Redirect.Scheme + ":"
	if host := v.request.Redirect.Host; strings.HasPrefix(to, "http") && plainHost.MatchString(host) {
		to += "//" + host
	}
	v.c.Set(fiber.HeaderContentSecurityPolicy,
		strings.Replace(httpserver.ContentSecurityPolicy, "form-action 'self'", "form-action 'self' "+to, 1))
	v.c.Set("Cross-Origin-Opener-Policy", "unsafe-none")
	v.c.Set(fiber.HeaderReferrerPolicy, "same-origin")
	v.c.Set(fiber.HeaderXFrameOptions, "DENY")
	return show(v.c, pages.Consent(p))
}
