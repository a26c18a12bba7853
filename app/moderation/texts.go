package moderation

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// TextsWords describes which texts of an agent the public sees.
func TextsWords(v agent.Visibility) string {
	switch v {
	case agent.ProfileHidden:
		return "profile texts hidden"
	case agent.TextsHidden:
		return "all texts hidden"
	}
	return "shown"
}

// SetTexts hides what an agent wrote, or shows it again. Predictions that were hidden one by one
// stay hidden. It requires a reason. Act.Seen is TextsWords of the state. changed is false if the
// texts are in that state already.
func (s *Service) SetTexts(ctx context.Context, act Act, handle string, to agent.Visibility) (changed bool, err error) {
	if err := act.requireReason(); err != nil {
		return false, err
	}
	return s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		if err := act.checkSeen(TextsWords(a.Visibility)); err != nil || a.Visibility == to {
			return nil, err
		}
		hidden, err := s.agents.SetVisibility(ctx, tx, a.ID, to, s.Now())
		if err != nil {
			return nil, err
		}
		e := &audit.Entry{Action: audit.TextHidden, Before: TextsWords(a.Visibility), After: TextsWords(to)}
		if !to.HidesProfile() || a.Visibility.HidesTexts() {
			e.Action = audit.TextShown
		}
		if err := s.hideArchivedOf(ctx, tx, a.ID, to); err != nil {
			return nil, err
		}
		return e, leaderboard.Relabel(ctx, tx, a.ID, hidden.Model)
	})
}

// hideArchivedOf asks the archive to erase an agent's hidden texts from the sealed days, or withdraws
// that request. An erasure can't be undone: if the texts are shown again, only days sealed later hold
// them.
func (s *Service) hideArchivedOf(ctx context.Context, tx bun.Tx, id uuid.UUID, to agent.Visibility) error {
	for _, r := range []struct {
		table  string
		hidden bool
	}{{archive.Agents, to == agent.TextsHidden}, {archive.Profiles, to == agent.ProfileHidden}} {
		if err := s.setArchived(ctx, tx, r.table, id, r.hidden); err != nil {
			return err
		}
	}
	return nil
}

// HidePrediction hides the text of a prediction. Its numbers and scores stay. It requires a reason.
// Refusals: 404 not_found, 409 changed_meanwhile if it is hidden.
func (s *Service) HidePrediction(ctx context.Context, act Act, id uuid.UUID) error {
	return s.setHidden(ctx, act, id, true, audit.Entry{Action: audit.TextHidden, Before: "shown", After: "hidden"})
}

// ShowPrediction shows the text of a prediction again. Reason and refusals are as for
// HidePrediction.
func (s *Service) ShowPrediction(ctx context.Context, act Act, id uuid.UUID) error {
	return s.setHidden(ctx, act, id, false, audit.Entry{Action: audit.TextShown, Before: "hidden", After: "shown"})
}

func (s *Service) setHidden(ctx context.Context, act Act, id uuid.UUID, hidden bool, e audit.Entry) error {
	if err := act.requireReason(); err != nil {
		return err
	}
	e.Target = audit.PredictionTarget(id)
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		_, changed, err := s.predictions.Hide(ctx, tx, id, hidden)
		if err == nil && !changed {
			err = changedMeanwhile(e.Before, e.After)
		}
		if err != nil {
			return nil, err
		}
		return &e, s.setArchived(ctx, tx, archive.Predictions, id, hidden)
	})
	return err
}

// setArchived asks the archive to erase a hidden text from the sealed days, or withdraws that
// request. An erasure can't be undone: if the text is shown again, only days sealed later hold it.
func (s *Service) setArchived(ctx context.Context, tx bun.Tx, table string, id uuid.UUID, hidden bool) error {
	if !hidden {
		return archive.WithdrawHidden(ctx, tx, table, id.String())
	}
	return archive.RequestRedaction(ctx, tx, s.Now(), true, archive.Request{Table: table, Record: id.String(), Reason: archive.Hidden})
}
