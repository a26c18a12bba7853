package identity

import (
	"context"
	"errors"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
)

// registry verifies the keys that this deployment issued.
type registry struct {
	Options
	store agent.Store
}

// Verify finds a key in the database. It makes one query by the key's id, or none if the checksum in the
// key is wrong.
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
		return Answer{Until: until, Refused: who.ID}, disabled(r.Config.BaseURL)
	}
	r.Usage.KeyUsed(found.ID)
	return Answer{Principal: &Principal{Agent: who, Credential: found.ID, ExpiresAt: found.ExpiresAt}, Until: until}, nil
}

// HowToGetKey says how to get a key of the registry.
func (r *registry) HowToGetKey() string {
	base := r.Config.BaseURL
	if r.Config.RegistrationOpen() {
		return `Get a key with POST ` + base + `/api/agents and the body {"name": "…"}, or at ` + base + `/agents/new.`
	}
	return "Ask the operator of " + base + " for a key. The operator creates one with: pulsecast agent create NAME."
}

// Status is always OK. Only the database can fail, and it has its own status.
func (r *registry) Status() Status { return Status{Kind: "local", OK: true} }
