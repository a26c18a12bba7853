package admin

import (
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// target says what an act is about, for the page that says why it was not done.
type target struct {
	error
	name string // in the audit log
	back string
}

func (t target) Unwrap() error { return t.error }

// about notes what a failed act was about; nil stays nil.
func about(err error, name, back string) error {
	if err == nil {
		return nil
	}
	return target{err, name, back}
}

// changedMeanwhile: what the admin saw when they decided is no longer so.
func changedMeanwhile(saw, is string) error {
	return problem.New(problem.CodeChangedMeanwhile,
		fmt.Sprintf("When you opened the page this was %q; now it is %q. Nothing was changed by you.", saw, is))
}

// refused shows a refusal of an act as a page that says what has changed meanwhile
// and by whom. Other errors go on to the server.
func (d *Desk) refused(v *visit, err error) error {
	refusal, ok := errors.AsType[*problem.Error](err)
	if !ok || v.Method() != fiber.MethodPost || (refusal.Status != 409 && refusal.Status != 422) {
		return err
	}
	p := views.RefusedProps{Frame: d.frame(v, refusal.Title, ""), Detail: refusal.Detail, Back: "/admin"}
	if t, ok := errors.AsType[target](err); ok {
		p.Back = t.back
		if refusal.Status == 409 {
			entries, _, err := d.admins.Audit(v.UserContext(), d.DB.Reader, domain.AuditFilter{Target: t.name, Limit: 5})
			if err != nil {
				return err
			}
			p.Entries = d.entryProps(entries)
		}
	}
	v.Status(refusal.Status)
	return show(v.Ctx, views.Refused(p))
}
