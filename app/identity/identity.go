// Package identity finds the owner of a key.
//
// A bearer is an API key, a session token or the access token of an app. This service issues the tokens. One
// of two Verifiers checks the keys: the local registry, or a central provider at IDENTITY_URL.
//
// Every answer is cached under the SHA-256 of the bearer, for a minute at most. The epoch of the cache is
// the credential generation (agent.Generation), so that a revocation ends all cached answers about its agent.
// The provider's answers about keys are cached separately. Otherwise the end of one session here would send
// all keys of its agent to the provider again.
package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
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
	// askTimeout bounds one uncached check. The provider's share is providerTimeout.
	askTimeout = 5 * time.Second
)

// Principal is the sender of a request. Requests share it, so it is read-only.
type Principal struct {
	Agent *agent.Agent
	// Credential names the key: the id of a local one, or the SHA-256 of a central one in hex. A session
	// has the credential of its key.
	Credential string
	ExpiresAt  time.Time // end of the key or session; zero: never
	Session    bool      // came with a session token or an access token
	Grant      uuid.UUID // of the access token; zero: not an access token
	Scopes     []string  // of the grant
}

// Allows reports whether the caller may do what a scope permits. Only an access token is limited to scopes.
func (p *Principal) Allows(scope string) bool {
	return p.Grant == uuid.Nil || slices.Contains(p.Scopes, scope)
}

// OwnerID returns the owner of the agent, or "" if the provider doesn't name one.
func (p *Principal) OwnerID() string { return p.Agent.OwnerID() }

// AgentID returns the id of the agent.
func (p *Principal) AgentID() uuid.UUID { return p.Agent.ID }

// Answer is the result of a Verifier. The service caches it until Until. It doesn't cache an answer with a
// zero Until.
type Answer struct {
	Principal *Principal
	Until     time.Time
	// Refused is the agent whose key was refused because of the agent's state, so that a change of the state ends
	// the refusal.
	Refused uuid.UUID
}

// Verifier finds the owner of an API key. hash is the key's SHA-256. A refusal is a *problem.Error with
// status 401 or 403, which is cached until Answer.Until. Any other error means that the owner is unknown.
type Verifier interface {
	Verify(ctx context.Context, key string, hash [sha256.Size]byte) (Answer, error)
	// HowToGetKey returns a sentence for a caller without a working key.
	HowToGetKey() string
	// Status returns the state of the verifier.
	Status() Status
}

// Status is the part of /api/health about keys.
type Status struct {
	Kind      string   // "local" or "central"
	OK        bool     // the last request to the verifier was answered
	LastError string   // one fixed word, "" if OK
	Warnings  []string // what an operator should fix
}

// Options are the dependencies of a Service.
type Options struct {
	Config     *config.Config
	DB         *database.DB
	Names      *agent.Names      // which names agents may have; nil knows only the built-in words
	Generation *agent.Generation // started and stopped by the caller
	Usage      *agent.Usage      // records the keys in use; started and stopped by the caller
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
}

// New builds the service for the configuration: with the central provider if IDENTITY_URL is set, else with
// the local registry.
func New(o Options) *Service {
	s := &Service{Options: o, store: agent.Store{Names: o.Names}, verdicts: memo.New[digest](memo.Options[verdict]{
		Size: keptAnswers, Now: o.Now, Timeout: askTimeout, Epoch: o.Generation.Epoch, Minor: verdict.refused,
		Holds: func(v verdict, epoch uint64) bool { return o.Generation.Holds(v.agentID(), epoch) },
	})}
	if o.Config.IdentityURL != "" {
		s.provider = newProvider(o)
		s.verifier = s.provider
	} else {
		s.verifier = &registry{Options: o}
	}
	return s
}

// Start prepares the provider, if there is one.
func (s *Service) Start() {
	if s.provider != nil {
		s.provider.start()
	}
}

// Stop ends the work that Start began.
func (s *Service) Stop() {
	if s.provider != nil {
		s.provider.stop()
	}
}

// HowToGetKey returns a sentence that says how an agent gets a key. Every 401 about a key contains it.
func (s *Service) HowToGetKey() string { return s.verifier.HowToGetKey() }

// Status returns the state of the verifier.
func (s *Service) Status() Status { return s.verifier.Status() }

// Admit is called before a check of a bearer that isn't known here. A bearer is known if its verdict is cached, or if
// its last check accepted it. Admit may wait, and its error refuses the bearer. After the check, done gets the
// refusal, or nil if the bearer was accepted.
type Admit = func() (done func(refusal error), err error)

// Authenticate returns the owner of a bearer. It calls admit before it checks a bearer that isn't known here, so that
// made-up bearers can't keep the database or the provider busy. If admit is nil, every check begins. Refusals: 401
// invalid_credentials, 403 agent_disabled, 403 account_closed, 403 not_enabled. It returns 503 unavailable if the
// bearer can't be checked, and the error of admit if that refuses. Authenticate doesn't keep the bearer, which may be a
// view into a request's buffer.
func (s *Service) Authenticate(ctx context.Context, bearer string, admit Admit) (*Principal, error) {
	if !wellFormed(bearer) {
		return nil, problem.InvalidCredentials("A key has 1 to 4096 letters, digits and signs (- . _ ~ + / =). " + s.HowToGetKey())
	}
	hash := agent.Hash(bearer)
	v, err := s.verdicts.Get(ctx, hash, func(ctx context.Context) (verdict, time.Time, error) {
		v := verdict{refusal: unavailable(nil)} // if the check panics
		if admit != nil && !s.known(hash) {
			done, err := admit()
			if err != nil {
				return verdict{}, time.Time{}, memo.Private(err)
			}
			defer func() { done(v.err()) }()
		}
		var until time.Time
		v, until = s.find(ctx, strings.Clone(bearer), hash)
		return v, until, nil
	})
	if memo.IsPrivate(err) { // not admitted
		return nil, errors.Unwrap(err)
	}
	if err != nil { // the caller left, or a check panicked
		return nil, unavailable(err)
	}
	return v.answer()
}

// known reports whether the last check of a bearer accepted it. That check may be older than any cached verdict.
func (s *Service) known(hash digest) bool {
	v, kept := s.verdicts.Kept(hash)
	return kept && !v.refused()
}

// find asks the database or the verifier about a bearer. It also returns how long the verdict holds. A
// verdict with a zero time isn't cached.
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
	return verdict{refusal: refusal, of: answer.Refused}, until
}

// session returns the answer about a session token. A session that began with a key of the other kind of
// verifier ended when the deployment was switched.
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

// howToRenew says how to replace a token that has ended.
func howToRenew(token string) string {
	if agent.IsAccessToken(token) {
		return "Access tokens end after an hour, with their key, when the agent revokes the grant, or when an admin disables the agent. " +
			"Use the refresh token, or sign in again."
	}
	return "Sessions end after 24 hours, with their key, when the agent has begun " + strconv.Itoa(agent.MaxSessions) +
		" newer ones, or when an admin ends them or disables the agent. Send POST /api/session with your API key: " +
		"you get a new token, or the reason why there is none."
}

// Session is a new session.
type Session struct {
	Token     string // shown once
	CreatedAt time.Time
	ExpiresAt time.Time
}

// StartSession begins a session for an API key, which is verified like any bearer. It refuses a token with 401,
// without checking it. It calls count with the owner of the key before it stores anything, and returns the refusal of
// count. count may be nil.
func (s *Service) StartSession(
	ctx context.Context, apiKey string, admit Admit, count func(*Principal) error,
) (Session, *Principal, error) {
	if agent.IsToken(apiKey) {
		refusal := s.invalid()
		refusal.Detail = "A token (ps_… or pa_…) was sent as apiKey. Send your agent's API key. " + s.HowToGetKey()
		return Session{}, nil, refusal
	}
	p, err := s.Authenticate(ctx, apiKey, admit)
	if err == nil && count != nil {
		err = count(p)
	}
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

// EndSession ends the session of a token. It returns 401 if the session has already ended, and 422 if the
// bearer is an API key. The request was authenticated with the same bearer, so EndSession
// needs no admit.
func (s *Service) EndSession(ctx context.Context, bearer string) error {
	p, err := s.Authenticate(ctx, bearer, nil)
	if err != nil {
		return err
	}
	if !p.Session {
		return problem.InvalidRequest(problem.Field{
			Field: "Authorization", Message: "carries an API key; send the session token (ps_…) of the session to end",
		})
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return s.store.EndSession(ctx, tx, p.Agent.ID, bearer) })
	if err != nil {
		return unavailable(err)
	}
	s.changed(ctx)
	return nil
}

// Register creates an agent with a key if registration is open in the local registry. Otherwise it returns
// 403 registration_closed, which says whom to ask. The key is shown once. Register calls admit after the
// profile is validated, so that a mistake in a name doesn't count. admit may refuse. If the agent can't be stored,
// Register calls undo.
func (s *Service) Register(
	ctx context.Context, profile agent.Profile, admit func() (undo func(), err error),
) (a *agent.Agent, apiKey string, err error) {
	if !s.Config.RegistrationOpen() {
		return nil, "", problem.New(
			problem.CodeRegistrationClosed, "Agents cannot register themselves here. "+s.HowToGetKey(),
		)
	}
	wanted := agent.New{Profile: profile, At: s.Now()}
	if err := s.store.CheckNew(ctx, s.DB.Reader, &wanted); err != nil {
		return nil, "", err
	}
	undo, err := admit()
	if err != nil {
		return nil, "", err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if a, err = s.store.Create(ctx, tx, wanted); err != nil {
			return err
		}
		if apiKey, _, err = s.store.IssueKey(ctx, tx, a.ID, "registration", s.Now()); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Agents)
	})
	if err != nil {
		undo()
		return nil, "", err
	}
	s.Log.Info("an agent registered", "agent_id", a.ID, "handle", a.Handle)
	return a, apiKey, nil
}

// UpdateProfile calls change with the caller's stored profile and stores the result; see agent.Store.Update. Requests to
// this node that begin later see it.
func (s *Service) UpdateProfile(ctx context.Context, id uuid.UUID, change func(*agent.Profile)) (updated *agent.Agent, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		updated, err = s.store.Update(ctx, tx, id, change)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.changed(ctx)
	return updated, nil
}

func (s *Service) invalid() *problem.Error { return problem.InvalidCredentials(s.HowToGetKey()) }

// unavailable returns the refusal for a key that can't be checked now.
func unavailable(cause error) *problem.Error {
	p := problem.Unavailable("Keys cannot be checked right now. Yours was neither accepted nor refused; try again.", 2*time.Second)
	p.Shed = isUnreadable(cause) // anyone can make up such a key
	return p.With(cause)
}

// disabled returns the refusal for an agent that an admin disabled.
func disabled(base string) *problem.Error {
	return problem.New(problem.CodeAgentDisabled, "This agent was disabled by an admin. Ask the operator of "+base+" why.")
}

// earliest returns the earliest of some times. A zero time counts as never.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, t := range moments {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
