package moderation

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/news"
)

// RedactPost erases the texts of a post from the database, and requests their erasure from the archive. The job that does
// this also removes the post from the current news. It requires a reason, which is public.
func (s *Service) RedactPost(ctx context.Context, act Act, id string) error {
	return s.redact(ctx, act, archive.Request{Table: archive.News, Record: id}, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		if err := (news.Store{}).Erase(ctx, tx, []string{id}); err != nil {
			return nil, err
		}
		e := &audit.Entry{Target: audit.NewsTarget(id), Before: "shown", After: "erased"}
		return e, generation.Move(ctx, tx, generation.Texts) // no kept copy may show them
	})
}

// RedactPrediction hides the texts of a prediction, and requests their erasure from the archive. It requires a reason,
// which is public. Refusal: 404 not_found.
func (s *Service) RedactPrediction(ctx context.Context, act Act, id uuid.UUID) error {
	request := archive.Request{Table: archive.Predictions, Record: id.String()}
	return s.redact(ctx, act, request, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		e := &audit.Entry{Target: audit.PredictionTarget(id), Before: "hidden", After: "hidden, erased from the archive"}
		_, changed, err := s.predictions.Hide(ctx, tx, id, true)
		if changed {
			e.Before = "shown"
		}
		return e, err
	})
}

// RedactAgent hides all texts of an agent, and requests their erasure from the archive. It requires a reason, which is
// public. Of a closed account it only requests the erasure. Refusal: 404 not_found.
func (s *Service) RedactAgent(ctx context.Context, act Act, id uuid.UUID) error {
	request := archive.Request{Table: archive.Agents, Record: id.String()}
	return s.redact(ctx, act, request, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		a, err := s.agents.Lock(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		e := &audit.Entry{
			Target: audit.AgentTarget(a.Handle), Before: TextsWords(a.Visibility), After: TextsWords(agent.TextsHidden) + ", erased from the archive",
		}
		if a.Closed() || a.Kind != agent.Ordinary || a.Visibility == agent.TextsHidden {
			return e, nil
		}
		hidden, err := s.agents.SetVisibility(ctx, tx, id, agent.TextsHidden, s.Now())
		if err != nil {
			return nil, err
		}
		return e, leaderboard.Relabel(ctx, tx, id, hidden.Model)
	})
}

// redact makes a change and requests an erasure from the archive in one transaction.
func (s *Service) redact(ctx context.Context, act Act, r archive.Request, run change) error {
	if err := act.requireReason(); err != nil {
		return err
	}
	r.Reason = act.Reason
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		e, err := run(ctx, tx)
		if err != nil {
			return nil, err
		}
		e.Action = audit.TextErased
		return e, archive.RequestRedaction(ctx, tx, s.Now(), true, r)
	})
	return err
}
