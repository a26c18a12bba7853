package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
)

const signInPath = "/admin/sign-in"

// The cookies. The session's is Lax, not Strict, so that a link in a message to an
// admin opens the page: pages change nothing, and every act needs its token.
const (
	sessionCookie = "pulsecast_admin"
	formCookie    = "pulsecast_admin_form" // what the sign-in form's token is made from
	nextCookie    = "pulsecast_admin_next" // where to go after signing in
	flowCookie    = "pulsecast_admin_flow" // the secret of a sign-in at the provider
)

// page lets signed-in admins see a page and leads everybody else to the sign-in.
func (d *Desk) page(h handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		unlisted(c)
		v, err := d.enter(c)
		if errors.Is(err, domain.ErrNoSession) {
			path := strings.Clone(c.OriginalURL())
			if c.Method() == fiber.MethodGet && len(path) < 1000 {
				d.setCookie(c, nextCookie, url.QueryEscape(path), 10*time.Minute, fiber.CookieSameSiteLaxMode)
			}
			return c.Redirect(signInPath, fiber.StatusSeeOther)
		}
		if err != nil {
			return err
		}
		return d.refused(v, h(v))
	}
}

// act lets signed-in admins act, from our own pages only.
func (d *Desk) act(h handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		unlisted(c)
		v, err := d.enter(c)
		if errors.Is(err, domain.ErrNoSession) {
			return problem.New(problem.CodeNotSignedIn, "Nothing was changed. Sign in at "+d.Config.BaseURL+signInPath+" and try again.")
		}
		if err != nil {
			return err
		}
		if !d.ownForm(c) || !hmac.Equal([]byte(c.FormValue("csrf")), []byte(v.csrf)) {
			return problem.New(problem.CodeForgedRequest, "Nothing was changed. This form was not sent from its own page, or is out of date; open the page again and retry.")
		}
		return d.refused(v, h(v))
	}
}

// unlisted keeps search engines away.
func unlisted(c *fiber.Ctx) {
	c.Set("X-Robots-Tag", "noindex, nofollow")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
}

// enter finds who is signed in; domain.ErrNoSession when nobody is.
func (d *Desk) enter(c *fiber.Ctx) (*visit, error) {
	token := strings.Clone(c.Cookies(sessionCookie))
	session, admin, err := d.admins.FindSession(c.UserContext(), d.DB, token, d.Now())
	if err != nil {
		return nil, err
	}
	if !d.stillFrom(admin.Issuer) {
		return nil, domain.ErrNoSession
	}
	return &visit{Ctx: c, admin: admin, session: session, csrf: tokenOf(token, "session"), address: address(c)}, nil
}

// stillFrom tells whether admins of an issuer may be here: those of a provider only
// while that provider is the configured one.
func (d *Desk) stillFrom(issuer string) bool {
	return issuer == "" || (d.People != nil && d.People.Is(issuer))
}

// tokenOf derives the token of a form from a secret that only the browser and we
// know. It is not the secret, so that a page that leaks does not give it away.
func tokenOf(secret, use string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("pulsecast admin form: " + use))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func address(c *fiber.Ctx) string { return httpserver.ClientAddr(c).String() }

// ownForm tells whether a form was sent from our own pages, as every current browser
// says by itself. A client that says nothing is no browser; it needs the token all
// the same.
func (d *Desk) ownForm(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return true
	}
	base, err := url.Parse(d.Config.BaseURL)
	return err == nil && (origin == base.Scheme+"://"+base.Host || origin == base.Scheme+"://"+c.Hostname())
}

func (d *Desk) setCookie(c *fiber.Ctx, name, value string, life time.Duration, sameSite string) {
	cookie := &fiber.Cookie{Name: name, Value: value, Path: "/admin", HTTPOnly: true, Secure: d.secure, SameSite: sameSite, MaxAge: int(life.Seconds())}
	if value == "" {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

func nowhere(*visit) error {
	return problem.NotFound("There is no admin page at this address.")
}
