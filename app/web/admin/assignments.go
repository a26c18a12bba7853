package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// clock is how the forms write a moment, in UTC.
const clock = "2006-01-02 15:04"

func assignmentPath(id uuid.UUID) string { return "/admin/assignments/" + id.String() }

func (d *Desk) listAssignments(v *visit) error {
	return d.showAssignments(v, map[string]string{"market": v.Query("market")}, nil)
}

func (d *Desk) showAssignments(v *visit, values, wrong map[string]string) error {
	list, err := d.assignments.All(v.UserContext(), d.DB.Reader, 100)
	if err != nil {
		return err
	}
	t := views.Table{Empty: "No assignment yet", Heads: []views.Head{{Label: "Question"}, {Label: "Status"}, {Label: "Category", Wide: true}, {Label: "By", Wide: true}, {Label: "Opens", Wide: true}, {Label: "Due"}}}
	for i := range list {
		a := &list[i]
		by := "chosen daily"
		if a.Day == "" {
			by = "an admin"
		}
		status := views.Cell{Text: "open", Badge: "badge-open"}
		if a.Status != assignment.Open {
			status = views.Cell{Text: "closed", Badge: ""}
		}
		opens := d.moment(a.OpensAt)
		opens.Wide = true
		t.Rows = append(t.Rows, []views.Cell{{Text: a.Title, Href: assignmentPath(a.ID)}, status, {Text: a.Category, Wide: true}, {Text: by, Wide: true}, opens, d.moment(a.DueAt)})
	}
	return show(v.Ctx, views.Assignments(views.AssignmentsProps{Frame: d.frame(v, "Assignments", "/admin/assignments"), Table: t,
		Form: views.AssignmentForm{Action: "/admin/assignments", Submit: "Open it", Values: values, Wrong: wrong}}))
}

var assignmentFields = []string{"market", "outcome", "title", "category", "opensAt", "dueAt", "instructions"}

// readDraft reads the form; the values are given back as they were typed.
func readDraft(v *visit) (draft assignment.Draft, values map[string]string, err error) {
	values = map[string]string{}
	for _, name := range assignmentFields {
		values[name] = v.form(name)
	}
	draft = assignment.Draft{MarketID: values["market"], Outcome: values["outcome"], Title: values["title"], Instructions: values["instructions"], Category: values["category"]}
	var wrong []problem.Field
	for name, into := range map[string]*time.Time{"opensAt": &draft.OpensAt, "dueAt": &draft.DueAt} {
		at, ok := readClock(values[name])
		if !ok {
			wrong = append(wrong, problem.Field{Field: name, Message: "must be a moment in UTC like 2026-11-28 09:00"})
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

// wrongFields are the messages of a 422 by the form's names; ok is false for any
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

func (d *Desk) writeAssignment(v *visit) error {
	draft, values, err := readDraft(v)
	var made *assignment.Assignment
	if err == nil {
		err = d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) (err error) {
			if made, err = d.assignments.Create(ctx, tx, draft, d.Now()); err != nil {
				return err
			}
			e := d.entry(v, domain.ActAssignmentWritten, domain.AssignmentTarget(made.ID))
			e.After = words(made)
			return d.admins.Record(ctx, tx, e)
		})
	}
	if wrong, ok := wrongFields(err); ok {
		v.Status(422)
		return d.showAssignments(v, values, wrong)
	}
	if err != nil {
		return err
	}
	return goOn(v.Ctx, assignmentPath(made.ID), "written")
}

// words is what an assignment says, for the audit log.
func words(a *assignment.Assignment) string {
	parts := []string{a.Title, a.Category, "opens " + a.OpensAt.Format(clock), "due " + a.DueAt.Format(clock)}
	if a.MarketID != "" {
		parts = append(parts, "market "+a.MarketID+" "+a.Outcome)
	}
	return strings.Join(append(parts, a.Instructions), "; ")
}

// mark stands for what an admin saw of an assignment.
func mark(a *assignment.Assignment) string {
	sum := sha256.Sum256([]byte(string(a.Status) + "\n" + words(a)))
	return hex.EncodeToString(sum[:8])
}

func (d *Desk) pathAssignment(v *visit) (*assignment.Assignment, error) {
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

func (d *Desk) assignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	return d.showAssignment(v, a, map[string]string{
		"market": a.MarketID, "outcome": a.Outcome, "title": a.Title, "category": a.Category,
		"opensAt": a.OpensAt.Format(clock), "dueAt": a.DueAt.Format(clock), "instructions": a.Instructions,
	}, nil)
}

func (d *Desk) showAssignment(v *visit, a *assignment.Assignment, values, wrong map[string]string) error {
	p := views.AssignmentProps{
		Frame: d.frame(v, a.Title, "/admin/assignments"), Open: a.Status == assignment.Open,
		Form:  views.AssignmentForm{Action: assignmentPath(a.ID), Submit: "Change it", Seen: mark(a), Values: values, Wrong: wrong},
		Close: views.Button{Action: assignmentPath(a.ID) + "/close", Label: "Close it now", Danger: true, Fields: []components.Field{{Name: "seen", Value: mark(a)}}},
		Facts: []views.Fact{{Name: "Status", Cell: views.Cell{Text: string(a.Status)}}, {Name: "Opens", Cell: d.moment(a.OpensAt)}, {Name: "Due", Cell: d.moment(a.DueAt)}},
	}
	if a.MarketID != "" {
		p.Facts = append(p.Facts, views.Fact{Name: "Market", Cell: views.Cell{Text: a.MarketID, Href: marketPath(a.MarketID)}}, views.Fact{Name: "Outcome", Cell: views.Cell{Text: a.Outcome}})
	}
	if !p.Open {
		p.Facts = append(p.Facts, views.Fact{Name: "Instructions", Cell: views.Cell{Text: a.Instructions}})
	}
	var err error
	if p.Log, err = d.logOf(v.UserContext(), domain.AssignmentTarget(a.ID)); err != nil {
		return err
	}
	return show(v.Ctx, views.Assignment(p))
}

// onAssignment runs an act on an assignment that is still as the admin saw it.
func (d *Desk) onAssignment(v *visit, a *assignment.Assignment, action string, act func(ctx context.Context, tx bun.Tx) (after string, err error)) error {
	return d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
		now, err := d.assignments.Lock(ctx, tx, a.ID)
		if err != nil {
			return err
		}
		if now.Status != assignment.Open {
			return problem.New(problem.CodeAssignmentClosed, "This assignment is closed and stays as it is. Nothing was changed by you.")
		}
		if v.form("seen") != mark(now) {
			return problem.New(problem.CodeChangedMeanwhile, "Somebody changed this assignment since you opened it; now it says: "+words(now)+". Nothing was changed by you.")
		}
		e := d.entry(v, action, domain.AssignmentTarget(a.ID))
		e.Before = words(now)
		if e.After, err = act(ctx, tx); err != nil {
			return err
		}
		return d.admins.Record(ctx, tx, e)
	})
}

func (d *Desk) editAssignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	draft, values, err := readDraft(v)
	if err == nil {
		err = d.onAssignment(v, a, domain.ActAssignmentEdited, func(ctx context.Context, tx bun.Tx) (string, error) {
			changed, err := d.assignments.Update(ctx, tx, a.ID, draft, d.Now())
			if err != nil {
				return "", err
			}
			return words(changed), nil
		})
	}
	if wrong, ok := wrongFields(err); ok {
		v.Status(422)
		return d.showAssignment(v, a, values, wrong)
	}
	if err != nil {
		return about(err, domain.AssignmentTarget(a.ID), assignmentPath(a.ID))
	}
	return goOn(v.Ctx, assignmentPath(a.ID), "edited")
}

func (d *Desk) closeAssignment(v *visit) error {
	a, err := d.pathAssignment(v)
	if err != nil {
		return err
	}
	err = d.onAssignment(v, a, domain.ActAssignmentClosed, func(ctx context.Context, tx bun.Tx) (string, error) {
		return "closed", d.assignments.Close(ctx, tx, a.ID)
	})
	if err != nil {
		return about(err, domain.AssignmentTarget(a.ID), assignmentPath(a.ID))
	}
	return goOn(v.Ctx, assignmentPath(a.ID), "closed")
}
