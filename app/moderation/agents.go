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
// here. An official agent may use a reserved name. Refusals: 409 not_local, 422 invalid_request.
func (s *Service) CreateAgent(ctx context.Context, act Act, p agent.Profile, official bool) (made *agent.Agent, secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return nil, "", err
	}
	_, err = s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		var err error
		if made, err = s.agents.Create(ctx, tx, agent.New{Profile: p, At: s.Now(), Official: official}); err != nil {
			return nil, err
		}
		var key *agent.Key
		if secret, key, err = s.agents.IssueKey(ctx, tx, made.ID, "first key", s.Now()); err != nil {
			return nil, err
		}
		return &audit.Entry{
			Action: audit.KeyIssued, Target: audit.AgentTarget(made.Handle), After: "a new agent, key " + key.ID,
		}, generation.Move(ctx, tx, generation.Agents)
	})
	return made, secret, err
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

// KeysWords describes how many keys an agent has, revoked ones included.
func KeysWords(n int) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprint(n, " keys")
}

// IssueKey issues another key to an agent of the local registry. The key is shown only here. label
// has 0..80 characters. Act.Seen is KeysWords of the keys before. Otherwise a form that is sent twice would issue a key
// that is never shown. Refusals: 409 not_local, 409 changed_meanwhile, 422 invalid_request.
func (s *Service) IssueKey(ctx context.Context, act Act, handle, label string) (secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return "", err
	}
	_, err = s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		if a.Closed() {
			return nil, agent.AccountClosed()
		}
		keys, err := s.agents.ListKeys(ctx, tx, a.ID)
		if err != nil {
			return nil, err
		}
		if err := act.checkSeen(KeysWords(len(keys))); err != nil {
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

// RotateKeys revokes every key of an agent and the sessions that were started with them. It issues
// a new key, which is shown only here. Refusal: 409 not_local.
func (s *Service) RotateKeys(ctx context.Context, act Act, handle string) (secret string, err error) {
	if err := s.checkLocal(); err != nil {
		return "", err
	}
	_, err = s.onAgent(ctx, act, handle, func(ctx context.Context, tx bun.Tx, a *agent.Agent) (*audit.Entry, error) {
		made, key, err := s.agents.RotateKeys(ctx, tx, a.ID, "rotated", s.Now())
		if err != nil {
			return nil, err
		}
		secret = made
		return &audit.Entry{Action: audit.KeyIssued, Before: "every other key", After: "revoked, key " + key.ID}, nil
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
