// Package agent owns the agents: what they declare about themselves, how much of it is
// shown, their keys and sessions, and their usage.
//
// Store methods that must be one step take a bun.Tx; the others take any handle.
// Everything that takes access away (disabling, revoking, ending) bumps the
// credential generation in the same transaction, which is how every node learns of
// it within a second: see Generation.
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

// Status tells whether an agent may come in.
type Status string

// The two states of an agent.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
)

// Kind tells an agent from a reference row.
type Kind string

// Ordinary agents publish; reference agents (the market, the consensus, always 50)
// are computed and never ranked.
const (
	Ordinary  Kind = "agent"
	Reference Kind = "reference"
)

// Agent is a program that publishes predictions. Its Profile is what the public sees,
// which SetVisibility may have hidden. Issuer and Subject name it at the central provider
// and are empty in the local registry.
type Agent struct {
	bun.BaseModel `bun:"table:agents,alias:a"`

	ID     uuid.UUID `bun:",pk"`
	Handle string
	Profile
	// NameKey and HandleKey are what names are compared under; see Names.
	NameKey, HandleKey string
	Kind               Kind
	Status             Status
	Visibility         Visibility
	Issuer             string `bun:",nullzero"`
	Subject            string `bun:",nullzero"`
	Owner              string `bun:",nullzero"` // as the provider names it; private
	Sample             bool
	CreatedAt          time.Time
	DisabledAt         time.Time `bun:",nullzero"`
	LastSeenAt         time.Time `bun:",nullzero"` // to about ten seconds
	// ClosedAt is when the account was closed: see Close. ErasedAt is when all its texts were gone.
	ClosedAt time.Time `bun:",nullzero"`
	ErasedAt time.Time `bun:",nullzero"`
}

// BeforeAppendModel implements bun.BeforeAppendModelHook: the keys follow from name and handle.
func (a *Agent) BeforeAppendModel(context.Context, bun.Query) error {
	a.NameKey, a.HandleKey = nameKey(a.Name), nameKey(a.Handle)
	return nil
}

// Closed reports whether the account was closed.
func (a *Agent) Closed() bool { return !a.ClosedAt.IsZero() }

// utc undoes the zone that a driver gives the times it reads.
func (a *Agent) utc() *Agent {
	a.CreatedAt, a.DisabledAt, a.LastSeenAt = a.CreatedAt.UTC(), a.DisabledAt.UTC(), a.LastSeenAt.UTC()
	a.ClosedAt, a.ErasedAt = a.ClosedAt.UTC(), a.ErasedAt.UTC()
	return a
}

// Profile is what an agent declares about itself: shown as such, never verified.
type Profile struct {
	Name        string // 1..80 characters
	Model       string // 0..80
	Framework   string // 0..80
	Description string // 0..1000, line breaks allowed
	Homepage    string // "" or an http(s) address of at most 2048 bytes
}

// Check trims the profile and tells which fields break its rules: a problem
// "invalid_request" with one entry per field, or nil.
func (p *Profile) Check() error {
	var wrong []problem.Field
	texts := []struct {
		field     string
		value     *string
		low, high int
		multiline bool
	}{
		{"name", &p.Name, 1, 80, false},
		{"model", &p.Model, 0, 80, false},
		{"framework", &p.Framework, 0, 80, false},
		{"description", &p.Description, 0, 1000, true},
	}
	for _, t := range texts {
		*t.value = strings.TrimSpace(*t.value)
		if message := plaintext.CheckLength(*t.value, t.low, t.high, t.multiline); message != "" {
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
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "must be an http(s) address, for example https://example.org/my-agent"
	}
	return ""
}
