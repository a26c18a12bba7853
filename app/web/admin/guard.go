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
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const signInPath = "/admin/sign-in"

// The cookies. The session cookie is Lax, not Strict, so that an admin can follow a link in a
// message. That is safe: pages change nothing, and every act needs its token.
const (
	sessionCookie = "pulsecast_admin"
	formCookie    = "pulsecast_admin_form" // the secret that the sign-in form's token is derived from
	nextCookie    = "pulsecast_admin_next" // the page to open after sign-in
	flowCookie    = "pulsecast_admin_flow" // the secret of a sign-in at the provider
)

// page serves a page to signed-in admins and redirects other clients to the sign-in form.
func (d *Site) page(h handler) fiber.Handler {
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

// act runs an act for signed-in admins, if the form comes from our own pages.
func (d *Site) act(h handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		unlisted(c)
		v, err := d.enter(c)
		if errors.Is(err, domain.ErrNoSession) {
			return d.sessionEnded(c)
		}
		if err != nil {
			return err
		}
		if !httpserver.OwnPage(c, d.Config.BaseURL) || !hmac.Equal([]byte(c.FormValue("csrf")), []byte(v.csrf)) {
			return problem.New(problem.CodeForgedRequest, "Nothing was changed. This form is out of date or was not sent from its own page. Open the page again and retry.")
		}
		return d.refused(v, h(v))
	}
}

// sessionEnded refuses an act without a session. If the form comes from our own pages, the session has ended while the
// admin typed. The sign-in form then shows what the admin typed.
func (d *Site) sessionEnded(c *fiber.Ctx) error {
	if !httpserver.OwnPage(c, d.Config.BaseURL) {
		return problem.New(problem.CodeNotSignedIn, "Nothing was changed. Sign in at "+d.Config.BaseURL+signInPath+" and try again.")
	}
	c.Status(problem.CodeNotSignedIn.Status)
	return d.askToSignIn(c, views.SignInProps{Error: "Nothing was changed: your session has ended. Copy what you typed, sign in and try again.", Typed: typedIn(c)})
}

// unlisted keeps a page out of search engines.
func unlisted(c *fiber.Ctx) {
	c.Set("X-Robots-Tag", "noindex, nofollow")
	c.Set(fiber.HeaderReferrerPolicy, "same-origin")
}

// enter returns the visit of the signed-in admin. It returns domain.ErrNoSession if there is none.
func (d *Site) enter(c *fiber.Ctx) (*visit, error) {
	token := strings.Clone(c.Cookies(sessionCookie))
	session, admin, err := d.admins.FindSession(c.UserContext(), d.DB.Reader, token, d.Now())
	if err != nil {
		return nil, err
	}
	// While nothing can be stored, for example on a full disk, the pages show what is wrong.
	if err := d.admins.NoteUse(c.UserContext(), d.DB, session, d.Now()); database.Unavailable(err) {
		d.Log.Warn("the use of an admin's session was not stored", "admin", admin.Name, "request_id", httpserver.RequestID(c), "error", err)
	} else if err != nil {
		return nil, err
	}
	if !d.issuerAllowed(admin.Issuer) {
		return nil, domain.ErrNoSession
	}
	return &visit{Ctx: c, admin: admin, session: session, csrf: tokenOf(token, "session"), address: address(c)}, nil
}

// issuerAllowed returns whether admins of an issuer may sign in. Admins of an identity provider may
// sign in only while that provider is configured.
func (d *Site) issuerAllowed(issuer string) bool {
	return issuer == "" || (d.People != nil && d.People.Is(issuer))
}

// tokenOf derives a form's token from a secret that only the browser and this server know. The
// token isn't the secret, so a leaked page doesn't reveal the secret.
func tokenOf(secret, use string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("pulsecast admin form: " + use))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func address(c *fiber.Ctx) string { return httpserver.ClientAddr(c).String() }

func (d *Site) setCookie(c *fiber.Ctx, name, value string, life time.Duration, sameSite string) {
	cookie := &fiber.Cookie{Name: name, Value: value, Path: "/admin", HTTPOnly: true, Secure: d.secure, SameSite: sameSite, MaxAge: int(life.Seconds())}
	if value == "" {
		cookie.MaxAge, cookie.Expires = 0, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

func noSuchPage(*visit) error {
	return problem.NotFound("There is no admin page at this address.")
}
