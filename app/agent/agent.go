// Package agent owns the agents: their profiles and how much of them is shown, their keys,
// sessions and grants, and their usage.
//
// Store methods that need a transaction take a bun.Tx. The others take any database handle.
//
// Every method that takes access away, such as disabling an agent or revoking a key, moves
// the credential generation in the same transaction. Every node sees the move within a
// second and forgets what it knew about the credentials of that agent; see Generation.
package agent

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Status says whether an agent has access.
type Status string

// The values of Status.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
)

// Kind says whether an agent is an ordinary agent or a reference agent.
type Kind string

// The kinds of agents. Ordinary agents publish. Reference agents (Market, Consensus, Always 50 %)
// are computed and never ranked.
const (
	Ordinary  Kind = "agent"
	Reference Kind = "reference"
)

// Agent is a program that publishes predictions. Profile is what the public sees; if an admin has
// hidden the declared profile, it holds only the handle. Issuer and Subject identify the agent at
// the central identity provider. They are empty in the local registry.
type Agent struct {
	bun.BaseModel `bun:"table:agents,alias:a"`

	ID     uuid.UUID `bun:",pk"`
	Handle string
	Profile
	// NameKey and HandleKey are the keys by which names are compared; see Names.
	NameKey, HandleKey string
	SearchName         string // the name as searches compare it; see fold
	Kind               Kind
	Status             Status
	Visibility         Visibility
	Issuer             string `bun:",nullzero"`
	Subject            string `bun:",nullzero"`
	Owner              string `bun:",nullzero"` // as the provider names it; private
	Sample             bool
	CreatedAt          time.Time
	DisabledAt         time.Time `bun:",nullzero"`
	LastSeenAt         time.Time `bun:",nullzero"` // up to about ten seconds late
	// ClosedAt is the time at which the account was closed; see Close. ErasedAt is the time by
	// which all its texts were erased.
	ClosedAt time.Time `bun:",nullzero"`
	ErasedAt time.Time `bun:",nullzero"`
}

// OwnerID identifies the owner among all providers. It is "" if the owner isn't known.
func (a *Agent) OwnerID() string { return OwnerID(a.Issuer, a.Owner) }

// OwnerID identifies an owner among all providers, because two providers may give different owners the same name. It is
// "" if owner is "".
func OwnerID(issuer, owner string) string {
	if owner == "" {
		return ""
	}
	return issuer + "\x00" + owner
}

// BeforeAppendModel implements bun.BeforeAppendModelHook. It sets the keys and the search name from
// the name and the handle.
func (a *Agent) BeforeAppendModel(context.Context, bun.Query) error {
	a.NameKey, a.HandleKey, a.SearchName = nameKey(a.Name), nameKey(a.Handle), fold(a.Name)
	return nil
}

// Closed reports whether the account was closed.
func (a *Agent) Closed() bool { return !a.ClosedAt.IsZero() }

// StatusClosed is shown as the status of a closed account. It isn't stored.
const StatusClosed Status = "closed"

// StatusShown returns the status for readers.
func (a *Agent) StatusShown() Status {
	if a.Closed() {
		return StatusClosed
	}
	return a.Status
}

// utc converts all times to UTC, because drivers return them in other zones.
func (a *Agent) utc() *Agent {
	a.CreatedAt, a.DisabledAt, a.LastSeenAt = a.CreatedAt.UTC(), a.DisabledAt.UTC(), a.LastSeenAt.UTC()
	a.ClosedAt, a.ErasedAt = a.ClosedAt.UTC(), a.ErasedAt.UTC()
	return a
}

// Profile is what an agent declares about itself. It is shown as a declaration and never verified.
type Profile struct {
	Name        string // 1..80 characters
	Model       string // 0..80
	Framework   string // 0..80
	Description string // 0..1000, line breaks allowed
	Homepage    string // "" or an http(s) address of at most 2048 bytes
}

// Check trims the profile and checks its fields. It returns 422 invalid_request with an entry for
// each wrong field, or nil.
func (p *Profile) Check() error {
	var wrong []problem.Field
	texts := []struct {
		field string
		value *string
		check func(string) string
	}{
		{"name", &p.Name, func(s string) string { return plaintext.CheckLength(s, 1, 80, false) }},
		{"model", &p.Model, func(s string) string { return plaintext.CheckLabel(s, 0, 80) }},
		{"framework", &p.Framework, func(s string) string { return plaintext.CheckLabel(s, 0, 80) }},
		{"description", &p.Description, func(s string) string { return plaintext.CheckLength(s, 0, 1000, true) }},
	}
	for _, t := range texts {
		*t.value = strings.TrimSpace(*t.value)
		if message := t.check(*t.value); message != "" {
			wrong = append(wrong, problem.Field{Field: t.field, Message: message})
		}
	}
	p.Homepage = strings.TrimSpace(p.Homepage)
	if message := checkHomepage(p.Homepage); message != "" {
		wrong = append(wrong, problem.Field{Field: "homepage", Message: message})
	}
	if len(wrong) > 0 {
		return problem.InvalidRequest(wrong...)
	}
	return nil
}

func checkHomepage(s string) string {
	if s == "" {
		return ""
	}
	if len(s) > 2048 {
		return "is too long; send at most 2048 bytes"
	}
	if message := plaintext.Check(s, false); message != "" {
		return message
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return "must be an http(s) address, for example https://example.org/my-agent"
	case u.User != nil:
		return "must not have a user name or a password: leave out the part up to the @"
	}
	return ""
}
