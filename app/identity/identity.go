// Package identity says whose a key is. A bearer is an API key or a session token.
// Sessions are ours; keys are verified by one of two Verifiers: the local registry,
// or a central provider at IDENTITY_URL.
//
// Every answer is kept under the SHA-256 of the bearer, for a minute at most. Its epoch
// is the credential generation (agent.Generation), so that a revocation ends all of
// them. What the provider said about a key is kept apart from that: otherwise a session
// that ends here would send every key to the provider again.
package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/memo"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	keepAccepted = 60 * time.Second
	keepRefused  = 10 * time.Second
	// askTimeout bounds one uncached check: the provider's share is providerTimeout.
	askTimeout = 5 * time.Second
	// maxBearer is the longest bearer looked at, in bytes.
	maxBearer = 4096
	// purgeEvery is how often sessions that are over are deleted.
	purgeEvery = 10 * time.Minute
)

// Principal is who a request comes from. It is shared between requests: read only.
type Principal struct {
	Agent *agent.Agent
	// Credential names the key: the id of a local one, the SHA-256 of a central one in
	// hex. A session has its key's.
	Credential string
	ExpiresAt  time.Time // of the key or session; zero: never
	Session    bool      // came with a session token or an access token
	Grant      uuid.UUID // of the access token it came with; zero: none
	Scopes     []string  // of the grant
}

// Allows reports whether the caller may do what a scope stands for. Only an access token is
// limited to scopes.
func (p *Principal) Allows(scope string) bool {
	return p.Grant == uuid.Nil || slices.Contains(p.Scopes, scope)
}

// OwnerID names who the agent belongs to, "" if the provider doesn't say.
func (p *Principal) OwnerID() string {
	if p.Agent.Owner == "" {
		return ""
	}
	return p.Agent.Issuer + "\x00" + p.Agent.Owner
}

// AgentID is the id of the agent.
func (p *Principal) AgentID() uuid.UUID { return p.Agent.ID }

// Answer is what a Verifier found out. The service keeps it until Until; one with a
// zero Until isn't kept.
type Answer struct {
	Principal *Principal
	Until     time.Time
}

// Verifier says whose an API key is. hash is the key's SHA-256. A refusal is a
// *problem.Error of status 401 or 403, which is kept until Answer.Until;
// any other error means that the owner could not be found out.
type Verifier interface {
	Verify(ctx context.Context, key string, hash [sha256.Size]byte) (Answer, error)
	// HowToGetKey is a sentence for whoever came without a key that works.
	HowToGetKey() string
	// Status tells how it is doing.
	Status() Status
}

// Status is the part of /api/health about keys.
type Status struct {
	Kind      string   // "local" or "central"
	OK        bool     // the last question was answered
	LastError string   // one fixed word, "" when OK
	Warnings  []string // what an operator should set right
}

// Options are what a Service is built from.
type Options struct {
	Config     *config.Config
	DB         *database.DB
	Names      *agent.Names      // which names agents may have; nil knows the built-in words alone
	Generation *agent.Generation // started and stopped by the caller
	Usage      *agent.Usage      // told of keys in use; started and stopped by the caller
	Log        *slog.Logger
	Now        func() time.Time
	// Wrap, if not nil, wraps the transport to the provider, to trace it.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Service authenticates bearers, and begins and ends sessions.
type Service struct {
	Options
	store    agent.Store
	verifier Verifier
	provider *provider // nil with the local registry
	verdicts *memo.Cache[digest, verdict]

	stop context.CancelFunc
	done chan struct{}
}

// New builds the service for the configuration: the central provider when
// IDENTITY_URL is set, else the local registry.
func New(o Options) *Service {
	s := &Service{Options: o, store: agent.Store{Names: o.Names}, verdicts: memo.New[digest](memo.Options[verdict]{
		Size: keptAnswers, Now: o.Now, Timeout: askTimeout, Epoch: o.Generation.Epoch, Minor: verdict.refused,
	})}
	if o.Config.IdentityURL != "" {
		s.provider = newProvider(o)
		s.verifier = s.provider
	} else {
		s.verifier = &registry{Options: o}
	}
	return s
}

// Start readies the provider and purges sessions that are over until Stop.
func (s *Service) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan struct{})
	if s.provider != nil {
		s.provider.start()
	}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(purgeEvery)
		defer tick.Stop()
		for {
			if _, err := s.store.PurgeSessions(ctx, s.DB, s.Now()); err != nil && ctx.Err() == nil {
				s.Log.Warn("sessions that are over stay until the next purge", "error", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends what Start began.
func (s *Service) Stop() {
	s.stop()
	<-s.done
	if s.provider != nil {
		s.provider.stop()
	}
}

// HowToGetKey is a sentence that tells where an agent gets a key, for every 401.
func (s *Service) HowToGetKey() string { return s.verifier.HowToGetKey() }

// Status tells how checking keys is doing.
func (s *Service) Status() Status { return s.verifier.Status() }

// Authenticate says who a bearer belongs to. Refusals: 401 invalid_credentials, 403
// agent_disabled, 403 not_enabled; 503 unavailable when it cannot be found out. The
// bearer is not kept: it may be a view into a request's buffer.
func (s *Service) Authenticate(ctx context.Context, bearer string) (*Principal, error) {
	if !wellFormed(bearer) {
		return nil, s.invalid()
	}
	hash := agent.Hash(bearer)
	v, err := s.verdicts.Get(ctx, hash, func(ctx context.Context) (verdict, time.Time, error) {
		v, until := s.find(ctx, strings.Clone(bearer), hash)
		return v, until, nil
	})
	if err != nil { // the caller left, or a check panicked
		return nil, unavailable(err)
	}
	return v.answer()
}

// find asks the database or the verifier about a bearer. It also returns how long the
// verdict holds; a zero time means it isn't kept.
func (s *Service) find(ctx context.Context, bearer string, hash digest) (v verdict, until time.Time) {
	var answer Answer
	var err error
	if agent.IsToken(bearer) {
		answer, err = s.session(ctx, bearer)
	} else {
		answer, err = s.verifier.Verify(ctx, bearer, hash)
	}
	now := s.Now()
	if err == nil {
		return verdict{principal: answer.Principal}, earliest(
			answer.Until, now.Add(keepAccepted), answer.Principal.ExpiresAt,
		)
	}
	refusal, ok := errors.AsType[*problem.Error](err)
	if !ok {
		refusal = unavailable(err)
	}
	if refusal.Status < 500 && !answer.Until.IsZero() {
		until = earliest(answer.Until, now.Add(keepRefused))
	}
	return verdict{refusal: refusal}, until
}

// session is the answer about a session token. Tokens begun with a key of the other
// kind of verifier ended when the deployment changed over.
func (s *Service) session(ctx context.Context, token string) (Answer, error) {
	now := s.Now()
	session, who, err := s.store.FindSession(ctx, s.DB.Reader, token, now)
	central := err == nil && len(session.Credential) == 2*sha256.Size
	if errors.Is(err, agent.ErrNoCredential) || (err == nil && central != (s.provider != nil)) {
		return Answer{Until: now.Add(keepRefused)}, problem.InvalidCredentials(howToRenew(token))
	}
	if err != nil {
		return Answer{}, err
	}
	if !central {
		s.Usage.KeyUsed(session.Credential)
	}
	p := &Principal{
		Agent: who, Credential: session.Credential, ExpiresAt: session.ExpiresAt, Session: true,
		Grant: session.GrantID, Scopes: strings.Fields(session.Scope),
	}
	return Answer{Principal: p, Until: now.Add(keepAccepted)}, nil
}

// howToRenew says how to get a token in place of one that has ended.
func howToRenew(token string) string {
	if agent.IsAccessToken(token) {
		return "Access tokens end after an hour, or when the agent or its key takes them back. Use the refresh token, or sign in again."
	}
	return "Sessions end after 24 hours, or with their key. Send POST /api/session with your API key for a new token."
}

// Session is a session that was just begun.
type Session struct {
	Token     string // shown once
	CreatedAt time.Time
	ExpiresAt time.Time
}

// StartSession begins a session for an API key, verified like any bearer; a session
// token begins none (401).
func (s *Service) StartSession(ctx context.Context, apiKey string) (Session, *Principal, error) {
	if agent.IsToken(apiKey) {
		return Session{}, nil, s.invalid()
	}
	p, err := s.Authenticate(ctx, apiKey)
	if err != nil {
		return Session{}, nil, err
	}
	var out Session
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		token, session, err := s.store.StartSession(ctx, tx, p.Agent.ID, p.Credential, p.ExpiresAt, s.Now())
		if err == nil {
			out = Session{Token: token, CreatedAt: session.CreatedAt, ExpiresAt: session.ExpiresAt}
		}
		return err
	})
	if errors.Is(err, agent.ErrNoCredential) {
		s.Generation.Recheck()
		return Session{}, nil, s.invalid()
	}
	if err != nil {
		return Session{}, nil, unavailable(err)
	}
	return out, p, nil
}

// EndSession ends the session of a token. 401 when it is over already, 422 when the
// bearer is an API key.
func (s *Service) EndSession(ctx context.Context, bearer string) error {
	p, err := s.Authenticate(ctx, bearer)
	if err != nil {
		return err
	}
	if !p.Session {
		return problem.InvalidRequest(problem.Field{
			Field: "Authorization", Message: "carries an API key; send the session token (ps_…) of the session to end",
		})
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return s.store.EndSession(ctx, tx, bearer) })
	if err != nil {
		return unavailable(err)
	}
	s.credentialsChanged(ctx)
	return nil
}

// Register makes an agent with a key, while registration is open in the
// local registry; else 403 registration_closed, which says whom to ask. The key is
// shown once. admit is asked once the profile is found to be right, and may refuse: so a
// mistake in a name costs nothing of an allowance.
func (s *Service) Register(
	ctx context.Context, profile agent.Profile, admit func(context.Context) error,
) (a *agent.Agent, apiKey string, err error) {
	if s.provider != nil || s.Config.Registration != "open" {
		return nil, "", problem.New(
			problem.CodeRegistrationClosed, "Agents cannot register themselves here. "+s.HowToGetKey(),
		)
	}
	wanted := agent.New{Profile: profile, At: s.Now()}
	if err := s.store.CheckNew(ctx, s.DB.Reader, &wanted); err != nil {
		return nil, "", err
	}
	if err := admit(ctx); err != nil {
		return nil, "", err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if a, err = s.store.Create(ctx, tx, wanted); err != nil {
			return err
		}
		if apiKey, _, err = s.store.IssueKey(ctx, tx, a.ID, "registration", s.Now()); err != nil {
			return err
		}
		return generation.Moved(ctx, tx, generation.Agents)
	})
	if err != nil {
		return nil, "", err
	}
	s.Log.Info("an agent registered", "agent_id", a.ID, "handle", a.Handle)
	return a, apiKey, nil
}

func (s *Service) invalid() *problem.Error { return problem.InvalidCredentials(s.HowToGetKey()) }

// unavailable: it is not known whether the key is good.
func unavailable(cause error) *problem.Error {
	return problem.Unavailable("Keys cannot be checked right now. Yours was neither accepted nor refused; try again.", 2*time.Second).With(cause)
}

// disabled is the refusal of an agent that an admin shut out.
func disabled(base string) *problem.Error {
	return problem.New(problem.CodeAgentDisabled, "This agent was disabled by an admin. Ask the operator of "+base+" why.")
}

// earliest of some moments; a zero one is never.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
