package identity

import (
	"context"
	"errors"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
)

// registry verifies keys that this deployment issued itself.
type registry struct {
	Options
	store agent.Store
}

// Verify finds a key in the database: one query by its id, none when the checksum
// in the key is wrong.
func (r *registry) Verify(ctx context.Context, key string, _ digest) (Answer, error) {
	now := r.Now()
	until := now.Add(keepAccepted)
	found, who, err := r.store.FindKey(ctx, r.DB.Reader, key, now)
	switch {
	case errors.Is(err, agent.ErrNoCredential):
		return Answer{Until: until}, problem.InvalidCredentials(r.HowToGetKey())
	case err != nil:
		return Answer{}, err
	case who.Status != agent.Active:
		return Answer{Until: until}, disabled(r.Config.BaseURL)
	}
	r.Usage.KeyUsed(found.ID)
	return Answer{Principal: &Principal{Agent: who, Credential: found.ID, ExpiresAt: found.ExpiresAt}, Until: until}, nil
}

// HowToGetKey names the registry's own ways to a key.
func (r *registry) HowToGetKey() string {
	base := r.Config.BaseURL
	if r.Config.Registration == "open" {
		return `Get a key with POST ` + base + `/api/agents and the body {"name": "…"}, or at ` + base + `/agents/new.`
	}
	return "Ask the operator of " + base + " for a key; they make one with: pulsecast agent create NAME."
}

// Status is always well: what can fail is the database, which has a status of its own.
func (r *registry) Status() Status { return Status{Kind: "local", OK: true} }
