package admin

import (
	"context"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// logSize is how many entries the page of one subject shows.
const logSize = 20

func (d *Site) audit(v *visit) error {
	q, err := readQuery(v.Ctx, "actor", "action", "target", "from", "to", "cursor")
	if err != nil {
		return err
	}
	f := audit.Filter{Actor: q.get("actor"), Action: q.get("action"), Target: q.get("target"), Cursor: q.get("cursor"), Limit: pageSize}
	if f.From, err = dayOf(q, "from"); err != nil {
		return err
	}
	if f.To, err = dayOf(q, "to"); err != nil {
		return err
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // include the last day
	}
	if v.Query("format") == "csv" {
		return d.exportAudit(v, f)
	}
	list, next, err := audit.List(v.UserContext(), d.DB.Reader, f)
	if err != nil {
		return err
	}
	p := views.AuditProps{Frame: d.frame(v, "Audit log", "/admin/audit"), Values: map[string]string{}, Actions: audit.Actions(),
		Pages: q.pages(next), CSV: q.with("format", "csv")}
	if p.Entries, err = d.entryProps(v.UserContext(), list); err != nil {
		return err
	}
	for name := range q.values {
		p.Values[name] = q.get(name)
	}
	return show(v.Ctx, views.Audit(p))
}

func dayOf(q query, name string) (time.Time, error) {
	text := q.get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, problem.InvalidParameter(name, "must be a day, like 2026-11-21")
	}
	return at, nil
}

func (d *Site) exportAudit(v *visit, f audit.Filter) error {
	head := []string{"when", "who", "what", "target", "before", "after", "reason", "address"}
	f.Limit = 1000
	out, err := export(head, func(cursor string) (rows [][]string, next string, err error) {
		f.Cursor = cursor
		list, next, err := audit.List(v.UserContext(), d.DB.Reader, f)
		for _, e := range list {
			rows = append(rows, []string{
				e.CreatedAt.Format(time.RFC3339), e.Actor, e.Action, e.Target, e.Before, e.After, e.Note, e.Address,
			})
		}
		return rows, next, err
	})
	if err != nil {
		return err
	}
	return sendCSV(v.Ctx, "audit.csv", out)
}

// entriesOn reads the newest entries about one target.
func (d *Site) entriesOn(ctx context.Context, target string, limit int) ([]views.Entry, error) {
	list, _, err := audit.List(ctx, d.DB.Reader, audit.Filter{Target: target, Limit: limit})
	if err != nil {
		return nil, err
	}
	return d.entryProps(ctx, list)
}

// entryProps maps entries. It looks up their agents with one query, because the handle of a closed account is gone.
func (d *Site) entryProps(ctx context.Context, list []audit.Entry) ([]views.Entry, error) {
	var handles []string
	for i := range list {
		if handle := audit.AgentOf(list[i].Target); handle != "" && !slices.Contains(handles, handle) {
			handles = append(handles, handle)
		}
	}
	used, err := d.agents.InUse(ctx, d.DB.Reader, handles)
	if err != nil {
		return nil, err
	}
	out := make([]views.Entry, len(list))
	for i := range list {
		e := &list[i]
		handle := audit.AgentOf(e.Target)
		out[i] = views.Entry{
			Words: e.Words(), Target: e.Target, Gone: handle != "" && !slices.Contains(used, handle), Actor: e.Actor,
			Before: e.Before, After: e.After, Reason: e.Note, Address: e.Address, At: e.CreatedAt,
		}
	}
	return out, nil
}
