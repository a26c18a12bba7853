package admin

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// target is an error with the subject of the failed act, for the page that shows the refusal.
type target struct {
	error
	name string // as in the audit log; "" if the act has no subject yet
	back string
}

func (t target) Unwrap() error { return t.error }

// about adds the subject of a failed act to its error. It returns nil if err is nil.
func about(err error, name, back string) error {
	if err == nil {
		return nil
	}
	return target{err, name, back}
}

// refused shows the refusal of an act as a page that says who changed what in the meantime, and what the admin
// has typed. It returns other errors to the server.
func (d *Site) refused(v *visit, err error) error {
	refusal, ok := errors.AsType[*problem.Error](err)
	if !ok || v.Method() != fiber.MethodPost || (refusal.Status != 409 && refusal.Status != 422) {
		return err
	}
	p := views.RefusedProps{Frame: d.frame(v, refusal.Title, ""), Detail: refusal.Detail, Back: "/admin", Typed: typedIn(v.Ctx)}
	if t, ok := errors.AsType[target](err); ok {
		p.Back = t.back
		if refusal.Status == 409 && t.name != "" {
			if p.Entries, err = d.entriesOn(v.UserContext(), t.name, 5); err != nil {
				return err
			}
		}
	}
	v.Status(refusal.Status)
	return show(v.Ctx, views.Refused(p))
}

// typedIn returns the fields of the form that was sent.
func typedIn(c *fiber.Ctx) map[string]string {
	v, typed := &visit{Ctx: c}, map[string]string{}
	c.Request().PostArgs().VisitAll(func(name, _ []byte) { typed[string(name)] = v.form(string(name)) })
	return typed
}
