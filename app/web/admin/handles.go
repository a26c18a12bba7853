package admin

import (
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const handlesPath = "/admin/handles"

// handles shows the handles that new agents can't get.
func (d *Site) handles(v *visit) error {
	list, err := d.agents.ReservedHandles(v.UserContext(), d.DB.Reader)
	if err != nil {
		return err
	}
	p := views.HandlesProps{Frame: d.frame(v, "Reserved handles", "/admin/agents"), BuiltIn: agent.BuiltIn()}
	for _, h := range list {
		p.Added = append(p.Added, views.ReservedHandle{
			Handle: h.Handle, Note: h.Note, Author: h.Author, At: h.CreatedAt, InUse: h.InUse,
		})
	}
	return show(v.Ctx, views.Handles(p))
}

func (d *Site) reserveHandle(v *visit) error {
	handle := v.form("handle")
	if err := d.Moderation.ReserveHandle(v.UserContext(), v.by(), handle); err != nil {
		return about(err, audit.HandleTarget(handle), handlesPath)
	}
	return redirect(v.Ctx, handlesPath, "reserved")
}

func (d *Site) freeHandle(v *visit) error {
	handle := v.form("handle")
	if err := d.Moderation.FreeHandle(v.UserContext(), v.by(), handle); err != nil {
		return about(err, audit.HandleTarget(handle), handlesPath)
	}
	return redirect(v.Ctx, handlesPath, "freed")
}
