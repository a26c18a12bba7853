package admin

import (
	"context"

	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const handlesPath = "/admin/handles"

// handles shows the handles that no new agent gets.
func (d *Desk) handles(v *visit) error {
	list, err := d.agents.ReservedHandles(v.UserContext(), d.DB.Reader)
	if err != nil {
		return err
	}
	p := views.HandlesProps{Frame: d.frame(v, "Reserved handles", "/admin/agents"), BuiltIn: agent.BuiltIn()}
	for _, h := range list {
		p.Added = append(p.Added, views.ReservedHandle{Handle: h.Handle, Note: h.Note, Author: h.Author, At: d.when(h.CreatedAt), InUse: h.InUse})
	}
	return show(v.Ctx, views.Handles(p))
}

// reserveHandle keeps a handle back from agents to come.
func (d *Desk) reserveHandle(v *visit) error {
	h := agent.ReservedHandle{Handle: v.form("handle"), Author: v.admin.Name, CreatedAt: d.Now()}
	e := d.entry(v, domain.ActHandleReserved, domain.HandleTarget(h.Handle))
	e.Before, e.After = "free", "reserved"
	return d.onHandle(v, e, "reserved", func(ctx context.Context, tx bun.Tx, note string) error {
		h.Note = note
		return d.agents.Reserve(ctx, tx, h)
	})
}

// freeHandle lets agents have a handle again.
func (d *Desk) freeHandle(v *visit) error {
	handle := v.form("handle")
	e := d.entry(v, domain.ActHandleFreed, domain.HandleTarget(handle))
	e.Before, e.After = "reserved", "free"
	return d.onHandle(v, e, "freed", func(ctx context.Context, tx bun.Tx, _ string) error {
		_, err := d.agents.Unreserve(ctx, tx, handle)
		return err
	})
}

func (d *Desk) onHandle(v *visit, e domain.Entry, word string, act func(ctx context.Context, tx bun.Tx, note string) error) error {
	var err error
	if e.Note, err = domain.CheckText("note", v.form("note"), true); err == nil {
		err = d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
			if err := act(ctx, tx, e.Note); err != nil {
				return err
			}
			return d.admins.Record(ctx, tx, e)
		})
	}
	if err != nil {
		return about(err, e.Target, handlesPath)
	}
	return goOn(v.Ctx, handlesPath, word)
}
