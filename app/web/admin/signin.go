package admin

import (
	"crypto/hmac"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

func (d *Site) signInForm(c *fiber.Ctx) error {
	unlisted(c)
	if _, err := d.enter(c); err == nil {
		return c.Redirect("/admin", fiber.StatusSeeOther)
	}
	return d.askToSignIn(c, views.SignInProps{})
}

// askToSignIn shows the form. Its token belongs to a cookie of this browser, so that a page of
// another site can't sign the browser in to another account.
func (d *Site) askToSignIn(c *fiber.Ctx, p views.SignInProps) error {
	secret := strings.Clone(c.Cookies(formCookie))
	if len(secret) != len(domain.NewToken()) {
		secret = domain.NewToken()
	}
	d.setCookie(c, formCookie, secret, domain.SessionLife, fiber.CookieSameSiteStrictMode)
	p.CSRF, p.Sample, p.Done = tokenOf(secret, "sign-in"), d.Sample(), strings.Clone(c.Query("done"))
	if d.People != nil {
		p.Provider = d.People.Host()
	}
	return show(c, views.SignIn(p))
}

func (d *Site) signIn(c *fiber.Ctx) error {
	unlisted(c)
	secret := c.Cookies(formCookie)
	if secret == "" || !httpserver.OwnPage(c, d.Config.BaseURL) || !hmac.Equal([]byte(c.FormValue("csrf")), []byte(tokenOf(secret, "sign-in"))) {
		return problem.New(problem.CodeForgedRequest, "You are not signed in. This form is out of date or was not sent from its own page. Open "+d.Config.BaseURL+signInPath+" and retry.")
	}
	name := strings.Clone(c.FormValue("name"))
	token, _, err := d.admins.SignIn(
		c.UserContext(), d.DB, name, strings.Clone(c.FormValue("password")), address(c), d.Now(),
	)
	if err != nil {
		return d.turnAway(c, err, views.SignInProps{Name: name})
	}
	return d.letIn(c, token)
}

// turnAway shows the form again with the reason of the refusal.
func (d *Site) turnAway(c *fiber.Ctx, err error, p views.SignInProps) error {
	err = d.srv.CredentialFailed(c, err)
	refusal, refused := errors.AsType[*problem.Error](err)
	if !refused {
		return err
	}
	d.Log.Warn("admin sign-in refused", "code", refusal.Code, "remote", address(c), "request_id", httpserver.RequestID(c), "cause", refusal.Cause)
	c.Status(refusal.Status)
	if refusal.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(refusal.WaitSeconds()))
	}
	p.Error = refusal.Detail
	return d.askToSignIn(c, p)
}

// letIn sets the session cookie and redirects to the page that was requested before the sign-in.
func (d *Site) letIn(c *fiber.Ctx, token string) error {
	d.setCookie(c, sessionCookie, token, domain.SessionLife, fiber.CookieSameSiteLaxMode)
	d.setCookie(c, formCookie, "", 0, fiber.CookieSameSiteStrictMode)
	next := d.next(c)
	d.setCookie(c, nextCookie, "", 0, fiber.CookieSameSiteLaxMode)
	return c.Redirect(next, fiber.StatusSeeOther)
}

// next returns the page that was requested before the sign-in if it is an admin page, else the
// overview.
func (d *Site) next(c *fiber.Ctx) string {
	path, err := url.QueryUnescape(strings.Clone(c.Cookies(nextCookie)))
	if err != nil {
		return "/admin"
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.ContainsAny(path, "\\\r\n") || (u.Path != "/admin" && !strings.HasPrefix(u.Path, "/admin/")) {
		return "/admin"
	}
	return path
}

// signOut ends this session, or all sessions of this admin.
func (d *Site) signOut(v *visit) error {
	everywhere := v.form("everywhere") != ""
	if err := d.admins.SignOut(v.UserContext(), d.DB, v.admin, v.session, everywhere, v.address, d.Now()); err != nil {
		return err
	}
	d.setCookie(v.Ctx, sessionCookie, "", 0, fiber.CookieSameSiteLaxMode)
	if everywhere {
		return redirect(v.Ctx, signInPath, "signed-out")
	}
	return redirect(v.Ctx, signInPath, "")
}
