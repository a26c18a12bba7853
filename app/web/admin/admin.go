// Package admin serves the admin pages. Every address except the sign-in form requires a session.
// Without one, a page redirects to the form with 303 and an act is refused with 403. An act must
// also carry the session's CSRF token and come from our own pages. Acts are methods of package
// moderation.
package admin

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// Dependencies are what the pages need from other packages.
type Dependencies struct {
	Config     *config.Config
	Version    string
	DB         *database.DB
	Now        func() time.Time
	Log        *slog.Logger
	Usage      *agent.Usage
	Settlement *settlement.Service
	Moderation *moderation.Service
	Monitor    *monitor.Monitor
	// Tick reads a feed now, by its name, whichever node holds the lease.
	Tick map[string]func(ctx context.Context) (time.Duration, error)
	// People signs admins in at the identity provider. If nil, admins sign in with passwords only.
	People *identity.People
	// CacheKind and PingCache describe the cache. Holder is this process's name in the leases.
	CacheKind string
	PingCache func(ctx context.Context) error
	Holder    string
	Sample    func() bool
}

// Site serves the admin pages.
type Site struct {
	Dependencies
	srv     *httpserver.Server
	secure  bool // send cookies over https only
	started time.Time

	admins      domain.Store
	agents      agent.Store
	markets     market.Store
	predictions prediction.Store
	assignments assignment.Store
}

// New makes a Site.
func New(d Dependencies) *Site {
	return &Site{
		Dependencies: d, secure: strings.HasPrefix(d.Config.BaseURL, "https://"), started: d.Now(),
		predictions: prediction.Store{}.For(agent.Viewer{Admin: true}),
	}
}

// Register adds the routes.
func (d *Site) Register(srv *httpserver.Server) {
	d.srv = srv
	limit := srv.Limits.Reads()
	page := func(path string, h handler) { srv.App.Get(path, limit, d.page(h)) }
	act := func(path string, h handler) { srv.App.Post(path, limit, d.act(h)) }
	srv.App.Get("/admin/sign-in", limit, d.signInForm)
	srv.App.Post("/admin/sign-in", limit, d.signIn)
	if d.People != nil {
		srv.App.Get(providerPath, limit, d.toProvider)
		srv.App.Get(identity.CallbackPath, limit, d.fromProvider)
	}
	act("/admin/sign-out", d.signOut)
	page("/admin", d.overview)
	page("/admin/agents", d.listAgents)
	act("/admin/agents", d.createAgent)
	page("/admin/agents/:handle", d.agent)
	act("/admin/agents/:handle/status", d.setStatus)
	page("/admin/agents/:handle/texts", d.previewTexts)
	act("/admin/agents/:handle/texts", d.setTexts)
	act("/admin/agents/:handle/keys", d.issueKey)
	act("/admin/agents/:handle/keys/revoke", d.revokeKey)
	act("/admin/agents/:handle/keys/rotate", d.rotateKeys)
	act("/admin/agents/:handle/sessions", d.endSessions)
	act("/admin/agents/:handle/close", d.closeAccount)
	act("/admin/agents/:handle/notes", d.addNote)
	page("/admin/handles", d.handles)
	act("/admin/handles", d.reserveHandle)
	act("/admin/handles/free", d.freeHandle)
	page("/admin/settlement", d.settlement)
	page("/admin/settlement/find", d.find)
	page("/admin/settlement/:kind/:id", d.ruling)
	act("/admin/settlement/:kind/:id", d.rule)
	act("/admin/settlement/predictions/:id/text", d.setHidden)
	act("/admin/reports/:id", d.closeReport)
	page("/admin/assignments", d.listAssignments)
	act("/admin/assignments", d.writeAssignment)
	page("/admin/assignments/:id", d.assignment)
	act("/admin/assignments/:id", d.editAssignment)
	act("/admin/assignments/:id/close", d.closeAssignment)
	page("/admin/sources", d.sources)
	act("/admin/sources/:feed/tick", d.tick)
	page("/admin/system", d.system)
	page("/admin/audit", d.audit)
	// The guard runs first, so a client that isn't signed in can't learn which pages exist.
	page("/admin/*", noSuchPage)
	act("/admin/*", noSuchPage)
}

// visit is a request of a signed-in admin.
type visit struct {
	*fiber.Ctx
	admin   *domain.Admin
	session *domain.Session
	csrf    string
	address string
}

type handler func(v *visit) error

// frame returns the props of the layout.
func (d *Site) frame(v *visit, title, section string) views.Frame {
	return views.Frame{
		Title: title, Path: strings.Clone(v.Path()), Section: section, Admin: v.admin.Name, CSRF: v.csrf,
		Version: d.Version, Sample: d.Sample(), Done: strings.Clone(v.Query("done")), Now: d.Now(), Archived: d.Monitor.Archived(),
	}
}

// show renders a page to a buffer, so that a failed page is never sent in part.
func show(c *fiber.Ctx, page templ.Component) error {
	var out bytes.Buffer
	if err := page.Render(c.UserContext(), &out); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Response().SetBodyRaw(out.Bytes())
	return nil
}

// redirect sends the browser to a page after an act. word is the key of the page's message about
// the act, or "" for no message.
func redirect(c *fiber.Ctx, path, word string) error {
	if word != "" {
		path += "?" + url.Values{"done": {word}}.Encode()
	}
	return c.Redirect(path, fiber.StatusSeeOther)
}

// form returns a field of the form. Browsers send line breaks as CR LF; it returns LF.
func (v *visit) form(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.Clone(v.FormValue(name)), "\r\n", "\n"))
}

// by returns an Act of this admin with the reason from the form.
func (v *visit) by() moderation.Act {
	return moderation.Act{Actor: v.admin.Name, Address: v.address, Reason: v.form("note")}
}

// bySeen is like by, for a form that also holds the state that the admin saw.
func (v *visit) bySeen() moderation.Act {
	act := v.by()
	act.Seen = new(v.form("seen"))
	return act
}

// param returns a part of the path.
func (v *visit) param(name string) string { return httpserver.PathValue(v.Ctx, name) }
