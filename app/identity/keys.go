package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Keys returns the keys of the caller, newest first, including revoked and expired ones.
func (s *Service) Keys(ctx context.Context, p *Principal) ([]*agent.Key, error) {
	if err := s.ownKeys(p); err != nil {
		return nil, err
	}
	return s.store.ListKeys(ctx, s.DB.Reader, p.Agent.ID)
}

// ReplaceKey makes a new key for the caller, which is shown once. The key of the request expires after a
// grace period. A grace of 0 revokes it at once.
func (s *Service) ReplaceKey(
	ctx context.Context, p *Principal, label string, grace time.Duration,
) (made agent.Replacement, err error) {
	if err := s.ownKeys(p); err != nil {
		return made, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		made, err = s.store.ReplaceKey(ctx, tx, p.Agent.ID, p.Credential, label, grace, s.Now())
		return err
	})
	if errors.Is(err, agent.ErrNoCredential) { // revoked a moment ago
		s.Generation.Recheck()
		return made, s.invalid()
	}
	if err != nil {
		return made, err
	}
	s.changed(ctx)
	s.Log.Info("an agent replaced its key", "agent_id", p.Agent.ID, "key_id", made.Key.ID, "grace", grace)
	return made, nil
}

// RevokeKey ends one of the caller's keys and the sessions begun with it. It returns 404 if the caller has
// no such key. The key of the request can be revoked too.
func (s *Service) RevokeKey(ctx context.Context, p *Principal, keyID string) error {
	if err := s.ownKeys(p); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		return s.store.RevokeKey(ctx, tx, p.Agent.ID, keyID, s.Now())
	})
	if err != nil {
		return err
	}
	s.changed(ctx)
	s.Log.Info("an agent revoked a key", "agent_id", p.Agent.ID, "key_id", keyID)
	return nil
}

// Grants returns the grants of the caller, newest first.
func (s *Service) Grants(ctx context.Context, p *Principal) ([]*agent.Grant, error) {
	return s.store.ListGrants(ctx, s.DB.Reader, p.Agent.ID, s.Now())
}

// RevokeGrant ends one of the caller's grants and its tokens. It returns 404 if the caller has no such
// grant.
func (s *Service) RevokeGrant(ctx context.Context, p *Principal, id uuid.UUID) error {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		return s.store.RevokeGrant(ctx, tx, p.Agent.ID, id)
	})
	if err != nil {
		return err
	}
	s.changed(ctx)
	s.Log.Info("an agent revoked a grant", "agent_id", p.Agent.ID, "grant_id", id)
	return nil
}

// ownKeys refuses callers whose keys this service doesn't issue. It also refuses session tokens, because a
// leaked token must not give access to a long-lived key.
func (s *Service) ownKeys(p *Principal) error {
	if s.provider != nil {
		return problem.New(problem.CodeNotLocal, "Keys are made and revoked at "+s.Config.IdentityURL+", not here.")
	}
	if p.Session {
		return problem.InvalidRequest(problem.Field{
			Field: "Authorization", Message: "carries a token (ps_… or pa_…); send an API key (pc_…) to manage keys",
		})
	}
	return nil
}

// changed makes a change of credentials or of an agent effective on this node at once. If the database doesn't answer,
// the node still drops its cached answers.
func (s *Service) changed(ctx context.Context) {
	if err := s.Generation.Check(ctx); err != nil {
		s.Log.Warn("an agent or a credential changed; other nodes will see it when the database answers", "error", err)
	}
}
