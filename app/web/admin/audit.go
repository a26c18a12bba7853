package admin

import (
	"context"
	"net/url"
	"strings"
	"time"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

var auditActions = []views.Choice{
	{Value: "", Label: "Everything"},
	{Value: domain.ActSignIn, Label: "Sign-in"},
	{Value: domain.ActAgentDisabled, Label: "Agent disabled"},
	{Value: domain.ActAgentEnabled, Label: "Agent enabled"},
	{Value: domain.ActKeyIssued, Label: "Key issued"},
	{Value: domain.ActKeyRevoked, Label: "Key revoked"},
	{Value: domain.ActSessionsEnded, Label: "Sessions ended"},
	{Value: domain.ActRuling, Label: "Ruling"},
	{Value: domain.ActTextHidden, Label: "Text hidden"},
	{Value: domain.ActTextShown, Label: "Text shown again"},
	{Value: domain.ActReportClosed, Label: "Report closed"},
	{Value: domain.ActAssignmentWritten, Label: "Assignment written"},
	{Value: domain.ActAssignmentEdited, Label: "Assignment edited"},
	{Value: domain.ActAssignmentClosed, Label: "Assignment closed"},
	{Value: domain.ActHandleReserved, Label: "Handle reserved"},
	{Value: domain.ActHandleFreed, Label: "Handle freed"},
	{Value: domain.ActTick, Label: "Source read"},
	{Value: domain.ActAdminCreated, Label: "Admin created"},
}

func (d *Desk) audit(v *visit) error {
	q, err := readQuery(v.Ctx, "actor", "action", "target", "from", "to", "cursor")
	if err != nil {
		return err
	}
	f := domain.AuditFilter{Actor: q.get("actor"), Action: q.get("action"), Target: q.get("target"), Cursor: q.get("cursor"), Limit: pageSize}
	if f.From, err = dayOf(q, "from"); err != nil {
		return err
	}
	if f.To, err = dayOf(q, "to"); err != nil {
		return err
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // the day is meant whole
	}
	if v.Query("format") == "csv" {
		return d.exportAudit(v, f)
	}
	list, next, err := d.admins.Audit(v.UserContext(), d.DB.Reader, f)
	if err != nil {
		return err
	}
	p := views.AuditProps{Frame: d.frame(v, "Audit log", "/admin/audit"), Values: map[string]string{}, Table: d.entryProps(list), Pages: q.pages(next), CSV: q.with("format", "csv")}
	for name := range q.values {
		p.Values[name] = q.get(name)
	}
	for _, c := range auditActions {
		c.Selected = c.Value == f.Action
		p.Actions = append(p.Actions, c)
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
		return at, problem.InvalidParameter(name, "must be a day like 2026-11-21")
	}
	return at, nil
}

func (d *Desk) exportAudit(v *visit, f domain.AuditFilter) error {
	out := [][]string{{"when", "who", "what", "target", "before", "after", "reason", "address"}}
	f.Cursor, f.Limit = "", 1000
	for len(out) <= exportSize {
		list, next, err := d.admins.Audit(v.UserContext(), d.DB.Reader, f)
		if err != nil {
			return err
		}
		for _, e := range list {
			out = append(out, []string{e.CreatedAt.Format(time.RFC3339), e.Actor, e.Action, e.Target, e.Before, e.After, e.Note, e.Address})
		}
		if next == "" {
			break
		}
		f.Cursor = next
	}
	return sendCSV(v.Ctx, "audit.csv", out)
}

// logOf is what was done to one thing last.
func (d *Desk) logOf(ctx context.Context, target string) (views.Table, error) {
	list, _, err := d.admins.Audit(ctx, d.DB.Reader, domain.AuditFilter{Target: target, Limit: 20})
	return d.entryProps(list), err
}

func (d *Desk) entryProps(list []domain.Entry) views.Table {
	t := views.Table{Empty: "Nothing yet", Heads: []views.Head{{Label: "What"}, {Label: "On"}, {Label: "Who"}, {Label: "Change"}, {Label: "Reason", Wide: true}, {Label: "When"}, {Label: "From", Wider: true}}}
	for i := range list {
		e := &list[i]
		change := e.After
		if e.Before != "" {
			change = e.Before + " → " + e.After
		}
		t.Rows = append(t.Rows, []views.Cell{{Text: e.Words()}, {Text: e.Target, Href: targetPath(e.Target)}, {Text: e.Actor}, {Text: change},
			{Text: e.Note, Wide: true}, d.moment(e.CreatedAt), {Text: e.Address, Tone: "nowrap", Wider: true}})
	}
	return t
}

// targetPath is the page of what an entry is about; "" when there is none.
func targetPath(target string) string {
	kind, id, _ := strings.Cut(target, ":")
	switch kind {
	case "agent":
		return "/admin/agents/" + url.PathEscape(id)
	case "prediction":
		return "/admin/settlement/predictions/" + url.PathEscape(id)
	case "market":
		return "/admin/settlement/markets/" + url.PathEscape(id)
	case "assignment":
		return "/admin/assignments/" + url.PathEscape(id)
	case "feed":
		return "/admin/sources"
	case "admin":
		return "/admin/system"
	}
	return ""
}
