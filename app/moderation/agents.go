package moderation

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// CreateAgent adds an agent to the local registry and returns its first key, which is shown only
// here. An official agent may use a reserved name. Act.Seen is what LatestCreated returned for the form.
// Otherwise a form that is sent twice would create an agent whose key is never shown. Refusals:
// 409 not_local, 409 changed_meanwhile, 422 invalid_request.
func (s *Service) CreateAgent(ctx context.Context, act Act, p agent.Profile, official bool) (made *agent.Agent, secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return nil, "", err
	}
	_, err = s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		var err error
		if made, err = s.agents.Create(ctx, tx, agent.New{Profile: p, At: s.Now(), Official: official}); err != nil {
			return nil, err
		}
		// Check this only now: Create waits for a transaction that creates an agent of the same name.
		if err := checkLatest(ctx, tx, act.Seen); err != nil {
			return nil, err
		}
		var key *agent.Key
		if secret, key, err = s.agents.IssueKey(ctx, tx, made.ID, "first key", s.Now()); err != nil {
			return nil, err
		}
		after := "key " + key.ID
		if official {
			after += ", a reserved name was allowed"
		}
		return &audit.Entry{Action: audit.AgentCreated, Target: audit.AgentTarget(made.Handle), After: after},
			generation.Move(ctx, tx, generation.Agents)
	})
	return made, secret, err
}

// LatestCreated returns the handle of the agent that CreateAgent created last, or "" if there is none.
// The account may be closed since.
func (s *Service) LatestCreated(ctx context.Context) (handle string, err error) {
	return latestCreated(ctx, s.DB.Reader)
}

func latestCreated(ctx context.Context, db bun.IDB) (string, error) {
	list, _, err := audit.List(ctx, db, audit.Filter{Action: audit.AgentCreated, Limit: 1})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return audit.AgentOf(list[0].Target), nil
}

// checkLatest refuses to create an agent if the latest one is not the one that the admin saw.
func checkLatest(ctx context.Context, tx bun.Tx, seen *string) error {
	if seen == nil {
		return nil
	}
	latest, err := latestCreated(ctx, tx)
	if err != nil || latest == *seen {
		return err
	}
	return problem.New(problem.CodeChangedMeanwhile, fmt.Sprintf(
		"The agent %s was created since you opened the page. If you want to create another one, send the form again.", latest,
	))
}

// Disable refuses an agent's keys and sessions from now on. It requires a reason. Act.Seen is the
// agent's status. changed is false if the agent is disabled already.
func (s *Service) Disable(ctx context.Context, act Act, handle string) (changed bool, err error) {
	return s.setStatus(ctx, act, handle, agent.Disabled, audit.AgentDisabled)
}

// Enable accepts an agent's keys again. Its sessions stay ended. Reason, Act.Seen and changed are
// as for Disable.
func (s *Service) Enable(ctx context.Context, act Act, handle string) (changed bool, err error) {
	return s.setStatus(ctx, act, handle, agent.Active, audit.AgentEnabled)
}

func (s *Service) setStatus(ctx context.Context, act Act, handle string, to agent.Status, action string) (bool, error) {
	if err := act.requireReason(); err != nil {
		return false, err
	}
	return s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		if err := act.checkSeen(string(a.Status)); err != nil || a.Status == to {
			return nil, err
		}
		_, err := s.agents.SetStatus(ctx, tx, a.ID, to, s.Now())
		if err == nil {
			err = prediction.AgentsChanged(ctx, tx, []uuid.UUID{a.ID})
		}
		return &audit.Entry{Action: action, Before: string(a.Status), After: string(to)}, err
	})
}

// KeysWords describes the keys of an agent, revoked ones included, as Store.ListKeys returns them. It changes with every
// new key.
func KeysWords(keys []*agent.Key) string {
	switch len(keys) {
	case 0:
		return "0 keys"
	case 1:
		return "1 key, " + keys[0].ID
	}
	return fmt.Sprintf("%d keys, the newest %s", len(keys), keys[0].ID)
}

// IssueKey issues another key to an agent of the local registry. The key is shown only here. label
// has 0..80 characters. Act.Seen is KeysWords of the keys before. Otherwise a form that is sent twice would issue a key
// that is never shown. Refusals: 409 not_local, 409 changed_meanwhile, 422 invalid_request.
func (s *Service) IssueKey(ctx context.Context, act Act, handle, label string) (secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return "", err
	}
	_, err = s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		if err := s.checkKeys(ctx, tx, act, a); err != nil {
			return nil, err
		}
		made, key, err := s.agents.IssueKey(ctx, tx, a.ID, label, s.Now())
		if err != nil {
			return nil, err
		}
		secret = made
		after := "key " + key.ID
		if key.Label != "" {
			after += " (" + key.Label + ")"
		}
		return &audit.Entry{Action: audit.KeyIssued, After: after}, nil
	})
	return secret, err
}

// RevokeKey ends a key and the sessions that were started with it. Refusals: 404 not_found, and 409
// changed_meanwhile if the key is revoked already.
func (s *Service) RevokeKey(ctx context.Context, act Act, handle, keyID string) error {
	_, err := s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		keys, err := s.agents.ListKeys(ctx, tx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.ID == keyID && !k.RevokedAt.IsZero() {
				return nil, changedMeanwhile("a key that works", "revoked")
			}
		}
		err = s.agents.RevokeKey(ctx, tx, a.ID, keyID, s.Now())
		return &audit.Entry{Action: audit.KeyRevoked, Before: "key " + keyID, After: "revoked"}, err
	})
	return err
}

// checkKeys refuses to issue a key if the account is closed, or if the agent has got a key that the admin's page did not
// show.
func (s *Service) checkKeys(ctx context.Context, tx bun.Tx, act Act, a *agent.Agent) error {
	if a.Closed() {
		return agent.AccountClosed()
	}
	keys, err := s.agents.ListKeys(ctx, tx, a.ID)
	if err != nil {
		return err
	}
	return act.checkSeen(KeysWords(keys))
}

// RotateKeys revokes every key of an agent and the sessions that were started with them. It issues
// a new key, which is shown only here. Act.Seen is as for IssueKey. Refusals: 403 account_closed,
// 409 not_local, 409 changed_meanwhile.
func (s *Service) RotateKeys(ctx context.Context, act Act, handle string) (secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return "", err
	}
	_, err = s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		if err := s.checkKeys(ctx, tx, act, a); err != nil {
			return nil, err
		}
		made, key, err := s.agents.RotateKeys(ctx, tx, a.ID, "rotated", s.Now())
		if err != nil {
			return nil, err
		}
		secret = made
		return &audit.Entry{Action: audit.KeysReplaced, Before: "every key", After: "key " + key.ID}, nil
	})
	return secret, err
}

// EndSessions ends every session of an agent. changed is false if it has none.
func (s *Service) EndSessions(ctx context.Context, act Act, handle string) (changed bool, err error) {
	return s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		n, err := s.agents.EndAgentSessions(ctx, tx, a.ID)
		if err != nil || n == 0 {
			return nil, err
		}
		before := fmt.Sprintf("%d sessions", n)
		if n == 1 {
			before = "1 session"
		}
		return &audit.Entry{Action: audit.SessionsEnded, Before: before, After: "none"}, nil
	})
}

// onAgent locks an agent and runs a change on it. A reference agent is 404 not_found because it is
// computed and can't be moderated.
func (s *Service) onAgent(
	ctx context.Context, act Act, handle string, run func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error),
) (changed bool, err error) {
	return s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		found, err := s.agents.ByHandle(ctx, tx, handle)
		if err != nil {
			return nil, err
		}
		if found.Kind != agent.Ordinary {
			return nil, problem.NotFound("This is a reference agent: it is computed and has no keys or sessions.")
		}
		a, err := s.agents.Lock(ctx, tx, found.ID)
		if err != nil {
			return nil, err
		}
		entry, err := run(ctx, tx, a)
		if entry != nil {
			entry.Target = audit.AgentTarget(a.Handle)
		}
		return entry, err
	})
}

// checkLocal refuses to issue a key if an identity provider issues them.
func (s *Service) checkLocal() error {
	if s.IdentityURL == "" {
		return nil
	}
	return problem.New(problem.CodeNotLocal, "IDENTITY_URL is set: agents and keys come from "+s.IdentityURL+", not from this registry.")
}
