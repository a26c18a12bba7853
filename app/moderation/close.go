package moderation

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// eraseAtOnce is how many predictions CloseAccount erases before it returns. The rest of a larger
// account are withheld at once and erased within minutes.
const eraseAtOnce = 10_000

// Closed says what closing an account did.
type Closed struct {
	Agent *agent.Agent // with its neutral handle
	agent.ClosedCount
	Predictions int64 // number of predictions whose texts were erased
	Reports     int64 // number of reports whose texts were erased
	Answers     int64 // number of deleted answers that were stored under an Idempotency-Key
	// Complete is false if some texts are not erased yet. They are withheld until then.
	Complete bool
}

// CloseOwnAccount closes the account of the agent that asks. See CloseAccount. confirm must be the
// agent's handle, else 422 invalid_request.
func (s *Service) CloseOwnAccount(ctx context.Context, me *agent.Agent, confirm, address string) (*Closed, error) {
	if confirm != me.Handle {
		return nil, problem.InvalidRequest(problem.Field{Field: "confirm", Message: fmt.Sprintf(
			"must be %q, the handle of the account to close. Closing can't be undone: download GET /api/agents/me/export first", me.Handle,
		)})
	}
	return s.closeAccount(ctx, Act{Actor: audit.Agent, Address: address}, me.Handle)
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
	var published int64
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		found, err := s.agents.ByHandle(ctx, tx, handle)
		if err != nil {
			return nil, err
		}
		if found.Kind != agent.Ordinary {
			return nil, problem.NotFound("This is a reference agent: it is computed and has no account.")
		}
		// Publishing locks the tally too. So each prediction is either stored by now or will be
		// refused.
		if err := prediction.LockTallies(ctx, tx, []uuid.UUID{found.ID}); err != nil {
			return nil, err
		}
		tallies, err := prediction.Tallies(ctx, tx, []uuid.UUID{found.ID})
		if err != nil {
			return nil, err
		}
		published = tallies[found.ID].Total
		if c.Agent, c.ClosedCount, err = s.agents.Close(ctx, tx, found.ID, s.Now()); err != nil {
			return nil, err
		}
		if c.Answers, err = prediction.ForgetAnswersOf(ctx, tx, found.ID); err != nil {
			return nil, err
		}
		if err := leaderboard.Relabel(ctx, tx, found.ID, ""); err != nil {
			return nil, err
		}
		if c.Reports, err = s.forgetReports(ctx, tx, found.ID); err != nil {
			return nil, err
		}
		if _, err := tx.NewDelete().Model((*Note)(nil)).Where("agent_id = ?", found.ID).Exec(ctx); err != nil {
			return nil, fmt.Errorf("delete notes: %w", err)
		}
		return &audit.Entry{Action: audit.AccountClosed, Target: audit.AgentTarget(c.Agent.Handle), Before: "open", After: "closed"}, nil
	})
	if err != nil {
		return nil, err
	}
	n, complete, err := prediction.Erase(ctx, s.DB, c.Agent.ID, eraseAtOnce, s.Now())
	if err != nil { // the account is closed; maintenance erases the rest
		s.Log.Warn("texts of a closed account are erased later", "agent_id", c.Agent.ID, "error", err)
	}
	c.Predictions, c.Complete = int64(n), complete
	if complete { // maintenance may have erased some of them meanwhile
		c.Predictions = published
	}
	s.recheck(ctx)
	return c, nil
}

// forgetReports erases the texts of the reports by an agent and about its predictions. It returns
// how many there were.
func (s *Service) forgetReports(ctx context.Context, tx bun.Tx, agentID uuid.UUID) (int64, error) {
	res, err := tx.NewUpdate().Model((*Report)(nil)).Set("text = '', answer = '', status = 'closed'").
		Set("reader = CASE WHEN reader IS NULL THEN NULL ELSE '' END").
		Set("closed_at = COALESCE(closed_at, ?)", database.Now(s.Now())).Set("closed_by = COALESCE(closed_by, ?)", audit.Agent).
		Where("reporter_id = ? OR author_id = ?", agentID, agentID).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("erase reports: %w", err)
	}
	return res.RowsAffected()
}
