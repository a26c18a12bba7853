package identity

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/sync/singleflight"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

// provider verifies keys with the central identity provider. It checks JWTs with the provider's published
// keys, and asks the provider about every other key (RFC 7662).
//
// A failure never accepts a key. The provider's statement about a key is a finding, which is cached under
// the key's hash. If the provider can't be asked, that is a fault. A fault becomes a 503 and is never
// cached.
type provider struct {
	Options
	store    agent.Store
	client   *client
	findings *memo.Cache[digest, finding]
	scopes   []string // all of them must be granted
	refresh  singleflight.Group

	endpoints atomic.Pointer[endpoints]
	keys      atomic.Pointer[keySet]

	noAudience atomic.Bool // an answer named no audience, and no scope is required
}

// finding is the provider's statement about a key: its owner's claims, or the reason for a refusal.
type finding struct {
	claims  claims
	refusal *problem.Error
	until   time.Time
}

func (f finding) refused() bool { return f.refusal != nil }

func newProvider(o Options) *provider {
	return &provider{
		Options:  o,
		store:    agent.Store{Names: o.Names},
		client:   newClient(o.Log, o.Wrap),
		findings: memo.New[digest](memo.Options[finding]{Size: keptAnswers, Now: o.Now, Minor: finding.refused}),
		scopes:   strings.Fields(o.Config.IdentityScope),
	}
}

// start reads the provider's documents, so that the first request needn't. If the provider is down, the
// service still starts.
func (p *provider) start() {
	if p.Config.IdentityClientID == "" {
		p.Log.Warn("IDENTITY_CLIENT_ID is not set: only keys that are JWTs can be verified")
	}
	p.client.background(func(ctx context.Context) {
		if _, err := p.discover(ctx); err != nil {
			p.Log.Warn("the identity provider does not answer yet", "error", err)
		}
	})
}

func (p *provider) stop() { p.client.close() }

// HowToGetKey returns a sentence that names the provider.
func (p *provider) HowToGetKey() string {
	return "Enable this service for your agent at " + p.Config.IdentityURL + " to get a key; see " + p.Config.BaseURL + "/api/quickstart."
}

// Status returns the outcome of the last exchange with the provider. The exchange about a strange key that the provider
// can't read counts only if it could read none so far; see unreadKeys.
func (p *provider) Status() Status {
	s := Status{Kind: "central", LastError: p.client.lastError()}
	s.OK = s.LastError == ""
	if p.noAudience.Load() {
		s.Warnings = append(s.Warnings, noAudienceWarning)
	}
	if p.Config.IdentityClientID == "" {
		s.Warnings = append(s.Warnings, "IDENTITY_CLIENT_ID is not set: only keys that are JWTs can be verified")
	}
	return s
}

const noAudienceWarning = "the identity provider names no audience for keys and IDENTITY_SCOPE is not set: every active key of the provider is accepted"

// Verify finds the agent of a key. It creates the agent at the first accepted key of a subject. It refuses
// keys of the local registry without asking the provider.
func (p *provider) Verify(ctx context.Context, key string, hash digest) (Answer, error) {
	now := p.Now()
	if agent.IsKey(key) {
		return Answer{Until: now.Add(keepRefused)}, p.invalid()
	}
	last, kept := p.findings.Last(hash)
	known := kept && !last.refused()
	found, err := p.findings.Get(ctx, hash, func(ctx context.Context) (finding, time.Time, error) {
		if !known {
			ctx = aboutUnknownKey(ctx, hash)
		}
		f, err := p.inquire(ctx, key, now)
		return f, f.until, err
	})
	if err != nil {
		return Answer{}, err
	}
	credential := hex.EncodeToString(hash[:])
	if found.refusal != nil {
		p.endSessions(ctx, credential)
		return Answer{Until: found.until}, found.refusal
	}
	who, err := p.agentOf(ctx, found.claims)
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Code == problem.CodeAccountClosed.Name {
		return Answer{Until: found.until}, refusal
	}
	if err != nil {
		return Answer{}, err
	}
	if who.Status != agent.Active {
		return Answer{Until: found.until, Refused: who.ID}, disabled(p.Config.BaseURL)
	}
	principal := &Principal{Agent: who, Credential: credential, ExpiresAt: found.claims.expires}
	return Answer{Principal: principal, Until: found.until}, nil
}

// once runs a reading of the provider's documents for all callers together. The reading may take providerTimeout,
// whatever its first caller can wait, and a caller waits no longer than its own context. A check of a known key doesn't
// share the reading of an unknown one, which goes through another breaker.
func (p *provider) once(ctx context.Context, name string, read func(context.Context) (any, error)) (any, error) {
	if isAboutUnknownKey(ctx) {
		name += " for an unknown key"
	}
	reading := p.refresh.DoChan(name, func() (found any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), providerTimeout)
		defer cancel()
		defer context.AfterFunc(p.client.ctx, cancel)()
		defer func() { // a panic would end the process, because this isn't the goroutine of a request
			if e := recover(); e != nil {
				err = fmt.Errorf("panic: %v\n%s", e, debug.Stack())
			}
		}()
		return read(ctx)
	})
	select {
	case r := <-reading:
		return r.Val, r.Err
	case <-ctx.Done():
		return nil, broken(ctx.Err())
	}
}

// inquire asks about a key. An error is a fault of the provider.
func (p *provider) inquire(ctx context.Context, key string, now time.Time) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	ends, err := p.discover(ctx)
	if err != nil {
		return finding{}, unavailable(err)
	}
	var c claims
	if isJWT(key) && ends.keys != "" {
		c, err = p.verifyJWT(ctx, ends, key, now)
		if missing := c.missing(); missing != "" && c.subject != "" { // without a subject, nothing could be read
			p.Log.Warn("a JWT of the identity provider was refused because it names no "+missing, "subject", c.subject)
			err = errInvalid
		}
	} else {
		c, err = p.introspect(ctx, ends, key)
	}
	if err == nil {
		err = c.check(ends.issuer, now)
	}
	switch {
	case errors.Is(err, errUnknownSigner):
		return finding{refusal: p.invalid(), until: now.Add(keysAreFresh)}, nil
	case errors.Is(err, errInvalid):
		return finding{refusal: p.invalid(), until: now.Add(keepRefused)}, nil
	case err != nil:
		return finding{}, unavailable(err)
	}
	p.client.unread.judge()
	if !p.enabled(c) {
		return finding{refusal: p.notEnabled(), until: now.Add(keepRefused)}, nil
	}
	return finding{claims: c, until: earliest(now.Add(keepAccepted), c.expires)}, nil
}

// enabled reports whether a valid key is for this service. All scopes of IDENTITY_SCOPE must be granted. If
// IDENTITY_AUDIENCE is set, every answer that names an audience must name it. A JWT always names one.
func (p *provider) enabled(c claims) bool {
	if want := p.Config.IdentityAudience; want != "" {
		if c.hasAudience && !slices.Contains(c.audience, want) {
			return false
		}
		if !c.hasAudience && len(p.scopes) == 0 && !p.noAudience.Swap(true) {
			p.Log.Warn(noAudienceWarning)
		}
	}
	for _, scope := range p.scopes {
		if !slices.Contains(c.scopes, scope) {
			return false
		}
	}
	return true
}

// agentOf returns the agent of a subject. It creates the agent at the subject's first accepted key.
func (p *provider) agentOf(ctx context.Context, c claims) (*agent.Agent, error) {
	a, err := p.store.FindSubject(ctx, p.DB.Reader, c.issuer, c.subject)
	if err != nil {
		return nil, err
	}
	if a == nil {
		var created bool
		a, created, err = p.store.BySubject(ctx, p.DB, agent.New{
			Profile: agent.Profile{Name: c.name()}, Issuer: c.issuer, Subject: c.subject, Owner: c.owner, At: p.Now(),
		})
		if err != nil {
			return nil, err
		}
		if created {
			p.Log.Info("the first key of an agent was accepted", "agent_id", a.ID, "handle", a.Handle)
		}
	}
	if c.owner != "" && c.owner != a.Owner {
		a.Owner = c.owner
		err = p.store.SetOwner(ctx, p.DB, a.ID, c.owner)
	}
	return a, err
}

// endSessions ends the sessions of a key that the provider no longer accepts. It reads first, so that wrong
// keys don't take the database's write lock.
func (p *provider) endSessions(ctx context.Context, credential string) {
	some, err := p.store.HasSessions(ctx, p.DB.Reader, credential)
	if err == nil && some {
		err = p.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			return p.store.EndSessionsOf(ctx, tx, credential)
		})
		p.Generation.Recheck()
	}
	if err != nil {
		p.Log.Warn("sessions of a refused key stay valid until the key is next tried", "error", err)
	}
}

func (p *provider) invalid() *problem.Error { return problem.InvalidCredentials(p.HowToGetKey()) }

func (p *provider) notEnabled() *problem.Error {
	refusal := problem.New(problem.CodeNotEnabled,
		"This key is valid, but not enabled for this service. Enable it at "+p.Config.IdentityURL+", then try again.")
	refusal.Challenge = `Bearer realm="pulsecast", error="insufficient_scope", error_description="The access token is not enabled for this service"`
	return refusal
}
