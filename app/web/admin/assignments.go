package admin

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// clock is the layout of a time in the forms, in UTC.
const clock = "2006-01-02 15:04"

func assignmentPath(id uuid.UUID) string { return "/admin/assignments/" + id.String() }

func (d *Site) listAssignments(v *visit) error {
	return d.showAssignments(v, map[string]string{"market": v.Query("market")}, nil)
}

func (d *Site) showAssignments(v *visit, values, wrong map[string]string) error {
	list, err := d.assignments.All(v.UserContext(), d.DB.Reader, 100)
	if err != nil {
		return err
	}
	p := views.AssignmentsProps{Frame: d.frame(v, "Assignments", "/admin/assignments"), Form: views.AssignmentForm{Values: values, Wrong: wrong}}
	for i := range list {
		a := &list[i]
		p.Rows = append(p.Rows, views.AssignmentRow{ID: a.ID.String(), Title: a.Title, Category: a.Category, Open: a.Status == assignment.Open,
			Daily: a.Day != "", OpensAt: a.OpensAt, DueAt: a.DueAt})
	}
	return show(v.Ctx, views.Assignments(p))
}

var assignmentFields = []string{"market", "outcome", "title", "category", "opensAt", "dueAt", "instructions"}

// readDraft reads the form. It also returns the values as they were typed.
func readDraft(v *visit) (draft assignment.Draft, values map[string]string, err error) {
	values = map[string]string{}
	for _, name := range assignmentFields {
		values[name] = v.form(name)
	}
	draft = assignment.Draft{
		MarketID: values["market"], Outcome: values["outcome"], Title: values["title"],
		Instructions: values["instructions"], Category: values["category"],
	}
	var wrong []problem.Field
	for name, into := range map[string]*time.Time{"opensAt": &draft.OpensAt, "dueAt": &draft.DueAt} {
		at, ok := readClock(values[name])
		if !ok {
			wrong = append(wrong, problem.Field{Field: name, Message: "must be a time in UTC, like 2026-11-28 09:00"})
		}
		*into = at
	}
	if len(wrong) > 0 {
		err = problem.InvalidRequest(wrong...)
	}
	return draft, values, err
}

func readClock(text string) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	for _, layout := range []string{clock, "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// wrongFields returns the messages of a 422 by the names of the form's fields. ok is false for any
// other error.
func wrongFields(err error) (wrong map[string]string, ok bool) {
	refusal, ok := errors.AsType[*problem.Error](err)
	if !ok || refusal.Status != 422 {
		return nil, false
	}
	wrong = map[string]string{}
	for _, f := range refusal.Fields {
		name := f.Field
		if name == "marketId" {
			name = "market"
		}
		wrong[name] = components.Capital(f.Message) + "."
	}
	return wrong, true
}

func (d *Site) writeAssignment(v *visit) error {
	draft, values, err := readDraft(v)
	var made *assignment.Assignment
	if err == nil {
		made, err = d.Moderation.WriteAssignment(v.UserContext(), v.by(), draft)
	}
	if wrong, ok := wrongFields(err); ok {
		v.Status(422)
		return d.showAssignments(v, values, wrong)
	}
	if err != nil {
		return err
	}
	return redirect(v.Ctx, assignmentPath(made.ID), "written")
}

func (d *Site) pathAssignment(v *visit) (*assignment.Assignment, error) {
	id, err := uuid.Parse(v.param("id"))
	if err != nil {
		return nil, problem.NotFound("There is no assignment with this id.")
	}
	a, err := d.assignments.ByID(v.UserContext(), d.DB.Reader, id)
	if err == nil && a == nil {
		err = problem.NotFound("There is no assignment with this id.")
	}
	return a, err
}

func (d *Site) assignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	return d.showAssignment(v, a, map[string]string{
		"market": a.MarketID, "outcome": a.Outcome, "title": a.Title, "category": a.Category,
		"opensAt": a.OpensAt.Format(clock), "dueAt": a.DueAt.Format(clock), "instructions": a.Instructions,
	}, nil)
}

func (d *Site) showAssignment(v *visit, a *assignment.Assignment, values, wrong map[string]string) error {
	p := views.AssignmentProps{
		Frame: d.frame(v, a.Title, "/admin/assignments"), ID: a.ID.String(), Open: a.Status == assignment.Open, Status: string(a.Status),
		OpensAt: a.OpensAt, DueAt: a.DueAt, MarketID: a.MarketID, Outcome: a.Outcome, Instructions: a.Instructions,
		Form: views.AssignmentForm{Seen: moderation.AssignmentMark(a), Values: values, Wrong: wrong},
	}
	var err error
	if p.Log, err = d.entriesOn(v.UserContext(), audit.AssignmentTarget(a.ID), logSize); err != nil {
		return err
	}
	return show(v.Ctx, views.Assignment(p))
}

func (d *Site) editAssignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	draft, values, err := readDraft(v)
	var changed bool
	if err == nil {
		changed, err = d.Moderation.EditAssignment(v.UserContext(), v.bySeen(), a.ID, draft)
	}
	if wrong, ok := wrongFields(err); ok {
		v.Status(422)
		return d.showAssignment(v, a, values, wrong)
	}
	return d.afterAct(v, changed, err, audit.AssignmentTarget(a.ID), assignmentPath(a.ID), "edited")
}

func (d *Site) closeAssignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	err = d.Moderation.CloseAssignment(v.UserContext(), v.bySeen(), a.ID)
	return d.afterAct(v, true, err, audit.AssignmentTarget(a.ID), assignmentPath(a.ID), "closed")
}
