package moderation

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Closed says what closing an account did.
type Closed struct {
	Agent *agent.Agent // with its neutral handle
	agent.ClosedCount
	Erased
	// Complete is false if something is not erased yet. The texts are withheld until EraseClosed has erased it.
	Complete bool
}

// CloseOwnAccount closes the account of the agent that asks. See CloseAccount. confirm must be the
// agent's handle, else 422 invalid_request. The audit log doesn't get the agent's address, because it is kept for ever.
func (s *Service) CloseOwnAccount(ctx context.Context, me *agent.Agent, confirm string) (*Closed, error) {
	if confirm != me.Handle {
		return nil, problem.InvalidRequest(problem.Field{Field: "confirm", Message: fmt.Sprintf(
			"must be %q, the handle of the account to close. Closing can't be undone: download GET /api/agents/me/export first", me.Handle,
		)})
	}
	return s.closeAccount(ctx, Act{Actor: audit.Agent}, me.Handle)
}

// CloseAccount closes an agent's account for good: see agent.Store.Close and prediction.Erase.
// Reports by the agent and about its predictions lose their texts and are closed. Admins' notes on
// it are deleted. Scores, boards, the ledger and the audit log stay. It requires a reason.
// Refusals: 404 not_found, 403 account_closed.
func (s *Service) CloseAccount(ctx context.Context, act Act, handle string) (*Closed, error) {
	if err := act.requireReason(); err != nil {
		return nil, err
	}
	return s.closeAccount(ctx, act, handle)
}

func (s *Service) closeAccount(ctx context.Context, act Act, handle string) (*Closed, error) {
	c := &Closed{}
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		found, err := s.agents.ByHandle(ctx, tx, handle)
		if err != nil {
			return nil, err
		}
		if found.Kind != agent.Ordinary {
			return nil, problem.NotFound("This is a reference agent: it is computed and has no account.")
		}
		// Publishing locks the tally too. So a prediction and its answer are stored by now, or its request will be
		// refused.
		if err := prediction.LockTallies(ctx, tx, []uuid.UUID{found.ID}); err != nil {
			return nil, err
		}
		if c.Agent, c.ClosedCount, err = s.agents.Close(ctx, tx, found.ID, s.Now()); err != nil {
			return nil, err
		}
		if err := leaderboard.Relabel(ctx, tx, found.ID, ""); err != nil {
			return nil, err
		}
		if _, err := tx.NewDelete().Model((*Note)(nil)).Where("agent_id = ?", found.ID).Exec(ctx); err != nil {
			return nil, fmt.Errorf("delete notes: %w", err)
		}
		err = archive.RequestRedaction(ctx, tx, s.Now(), true,
			archive.Request{Table: archive.Agents, Record: found.ID.String(), Reason: archive.Closed})
		if err != nil {
			return nil, err
		}
		return &audit.Entry{Action: audit.AccountClosed, Target: audit.AgentTarget(c.Agent.Handle), Before: "open", After: "closed"}, nil
	})
	if err != nil {
		return nil, err
	}
	c.Erased, c.Complete, err = erase(ctx, s.DB, c.Agent.ID, eraseAtOnce, s.Now())
	if err != nil { // the account is closed; upkeep erases the rest
		s.Log.Warn("texts of a closed account are erased later", "agent_id", c.Agent.ID, "error", err)
	}
	s.recheck(context.WithoutCancel(ctx)) // erasing may have taken all of the request's time
	return c, nil
}
