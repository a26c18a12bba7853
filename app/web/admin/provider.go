package admin

import (
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// providerPath is where a sign-in at the identity provider starts. It is a link and not a form,
// because the pages' security policy forbids forms that end at another host.
const providerPath = signInPath + "/provider"

// toProvider starts a sign-in at the identity provider. The flow's secret goes into a cookie that
// is Lax, not Strict, because the browser comes back to us from the provider's page.
func (d *Site) toProvider(c *fiber.Ctx) error {
	unlisted(c)
	if !httpserver.OwnPage(c, d.Config.BaseURL) {
		return redirect(c, signInPath, "") // a page of another site can't start a sign-in
	}
	if _, err := d.enter(c); err == nil {
		return redirect(c, "/admin", "")
	}
	secret, err := d.admins.BeginFlow(c.UserContext(), d.DB, address(c), d.Now())
	if err != nil {
		return d.turnAway(c, err, views.SignInProps{})
	}
	to, err := d.People.Begin(c.UserContext(), secret, c.Query("again") != "")
	if err != nil {
		return d.turnAway(c, err, views.SignInProps{})
	}
	d.setCookie(c, flowCookie, secret, domain.FlowLife, fiber.CookieSameSiteLaxMode)
	return c.Redirect(to, fiber.StatusSeeOther)
}

// fromProvider completes a sign-in. Only the browser that started the flow has its cookie, and only
// the first return uses it.
func (d *Site) fromProvider(c *fiber.Ctx) error {
	unlisted(c)
	query := func(name string) string { return strings.Clone(c.Query(name)) }
	secret := strings.Clone(c.Cookies(flowCookie))
	back := identity.Return{State: query("state"), Code: query("code"), Error: query("error"), Issuer: query("iss")}
	if !d.People.Owns(secret, back) {
		return d.turnAway(c, flowOver(), views.SignInProps{})
	}
	d.setCookie(c, flowCookie, "", 0, fiber.CookieSameSiteLaxMode)
	err := d.admins.EndFlow(c.UserContext(), d.DB, secret, d.Now())
	if errors.Is(err, domain.ErrNoFlow) {
		return d.turnAway(c, flowOver(), views.SignInProps{})
	}
	if err != nil {
		return err
	}
	who, err := d.People.Finish(c.UserContext(), secret, back)
	if err != nil {
		refusal := problem.As(err)
		return d.turnAway(c, err, views.SignInProps{Again: refusal.Status == fiber.StatusForbidden})
	}
	token, admin, err := d.admins.SignInPerson(c.UserContext(), d.DB, who, address(c), d.Now())
	if err != nil {
		return err
	}
	d.Log.Info("an admin signed in at the identity provider", "admin", admin.Name, "remote", address(c))
	return d.letIn(c, token)
}

// flowOver returns the error for a return from the provider that belongs to no flow of this
// browser.
func flowOver() error {
	return problem.New(problem.CodeSignInOver,
		"You were not signed in. This sign-in was started in another browser, was used already, or took more than ten minutes. Start again.")
}
