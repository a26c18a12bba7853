package moderation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/problem"
)

// minute is the layout of an assignment's times in the audit log, in UTC.
const minute = "2006-01-02 15:04"

// WriteAssignment opens an assignment. Refusal: 422 invalid_request.
func (s *Service) WriteAssignment(
	ctx context.Context, act Act, draft assignment.Draft,
) (made *assignment.Assignment, err error) {
	_, err = s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		if made, err = s.assignments.Create(ctx, tx, draft, s.Now()); err != nil {
			return nil, err
		}
		return &audit.Entry{
			Action: audit.AssignmentWritten, Target: audit.AssignmentTarget(made.ID), After: assignmentWords(made),
		}, nil
	})
	return made, err
}

// EditAssignment replaces the contents of an open assignment. Act.Seen is its AssignmentMark.
// changed is false if the draft has the same contents. Refusals: 404 not_found, 409
// assignment_closed, 409 changed_meanwhile, 422 invalid_request.
func (s *Service) EditAssignment(
	ctx context.Context, act Act, id uuid.UUID, draft assignment.Draft,
) (changed bool, err error) {
	return s.onAssignment(ctx, act, id, func(ctx context.Context, tx bun.Tx, now *assignment.Assignment) (*audit.Entry, error) {
		edited, err := s.assignments.Update(ctx, tx, id, draft, s.Now())
		if err != nil || assignmentWords(edited) == assignmentWords(now) {
			return nil, err
		}
		return &audit.Entry{Action: audit.AssignmentEdited, After: assignmentWords(edited)}, nil
	})
}

// CloseAssignment ends an open assignment at once. Act.Seen and the refusals are as for
// EditAssignment.
func (s *Service) CloseAssignment(ctx context.Context, act Act, id uuid.UUID) error {
	_, err := s.onAssignment(ctx, act, id, func(ctx context.Context, tx bun.Tx, _ *assignment.Assignment) (*audit.Entry, error) {
		return &audit.Entry{Action: audit.AssignmentClosed, After: "closed"}, s.assignments.Close(ctx, tx, id)
	})
	return err
}

func (s *Service) onAssignment(
	ctx context.Context, act Act, id uuid.UUID, run func(ctx context.Context, tx bun.Tx, now *assignment.Assignment) (*audit.Entry, error),
) (changed bool, err error) {
	return s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		now, err := s.assignments.Lock(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if now.Status != assignment.Open {
			return nil, problem.New(problem.CodeAssignmentClosed, "This assignment is closed and can't be changed.")
		}
		if act.Seen != nil && *act.Seen != AssignmentMark(now) {
			return nil, problem.New(problem.CodeChangedMeanwhile,
				"This assignment changed after you opened it. It now says: "+assignmentWords(now)+". Your change was not saved.")
		}
		entry, err := run(ctx, tx, now)
		if entry != nil {
			entry.Target, entry.Before = audit.AssignmentTarget(id), assignmentWords(now)
		}
		return entry, err
	})
}

// AssignmentMark returns a short hash of every field of an assignment that an admin sees.
func AssignmentMark(a *assignment.Assignment) string {
	sum := sha256.Sum256([]byte(string(a.Status) + "\n" + assignmentWords(a)))
	return hex.EncodeToString(sum[:8])
}

// assignmentWords describes an assignment for the audit log.
func assignmentWords(a *assignment.Assignment) string {
	parts := []string{a.Title, a.Category, "opens " + a.OpensAt.Format(minute), "due " + a.DueAt.Format(minute)}
	if a.MarketID != "" {
		parts = append(parts, "market "+a.MarketID+" "+a.Outcome)
	}
	return strings.Join(append(parts, a.Instructions), "; ")
}
