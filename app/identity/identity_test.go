package identity_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
)

var store agent.Store

// clock is a time that tests move.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.ns.Store(time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// log is a node's log. It is searched for secrets when the test ends.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// node is a running service with the parts that a test controls.
type node struct {
	*identity.Service
	db         *database.DB
	generation *agent.Generation
	usage      *agent.Usage
	clock      *clock
	log        *log

	mu      sync.Mutex
	secrets []string // every credential that the node saw or issued
}

// secret records a credential that the log must never contain.
func (n *node) secret(s string) {
	n.mu.Lock()
	n.secrets = append(n.secrets, s)
	n.mu.Unlock()
}

const secretOfOurs = "our/client secret+9"

func newNode(t testing.TB, db *database.DB, cfg config.Config) *node {
	t.Helper()
	cfg.BaseURL = "https://pulsecast.example"
	n := &node{db: db, clock: newClock(), log: new(log)}
	logger := slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n.generation = agent.NewGeneration(db.Reader, logger)
	n.usage = agent.NewUsage(db, logger, n.clock.now)
	n.Service = identity.New(identity.Options{
		Config: &cfg, DB: db, Generation: n.generation, Usage: n.usage, Log: logger, Now: n.clock.now,
	})
	n.Start()
	t.Cleanup(func() {
		n.Stop()
		n.secret(string(cfg.IdentityClientSecret))
		written := n.log.String()
		for _, secret := range n.secrets {
			// Shorter ones are common words. The test's own keys are longer.
			if len(secret) >= 12 && strings.Contains(written, secret) {
				t.Error("the log holds a secret")
			}
		}
	})
	return n
}

// ask authenticates and describes the result: the handle, or the status and code.
func (n *node) ask(t testing.TB, bearer string) string {
	t.Helper()
	n.secret(bearer)
	p, err := n.Authenticate(t.Context(), bearer, nil)
	if err != nil {
		refusal := problem.As(err)
		if len(bearer) >= 12 && strings.Contains(refusal.Error(), bearer) {
			t.Error("an error holds the key")
		}
		if refusal.Status == 401 && !strings.Contains(refusal.Challenge, `error="invalid_token"`) {
			t.Errorf("challenge %q", refusal.Challenge)
		}
		if refusal.Status == 503 && refusal.RetryAfter < time.Second {
			t.Errorf("503 without Retry-After")
		}
		return http.StatusText(refusal.Status) + " " + refusal.Code
	}
	return p.Agent.Handle
}

const (
	invalid    = "Unauthorized invalid_credentials"
	isDisabled = "Forbidden agent_disabled"
	notEnabled = "Forbidden not_enabled"
	noAnswer   = "Service Unavailable unavailable"
)

func (n *node) want(t testing.TB, bearer, want string) {
	t.Helper()
	if got := n.ask(t, bearer); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// recheck does the watcher's regular check, which runs every 400 ms.
func (n *node) recheck(t testing.TB) {
	t.Helper()
	if err := n.generation.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (n *node) inTx(t testing.TB, fn func(ctx context.Context, tx bun.Tx) error) {
	t.Helper()
	if err := n.db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (n *node) setStatus(t testing.TB, handle string, status agent.Status) {
	t.Helper()
	a, err := store.ByHandle(t.Context(), n.db, handle)
	if err != nil {
		t.Fatal(err)
	}
	n.inTx(t, func(ctx context.Context, tx bun.Tx) error {
		_, err := store.SetStatus(ctx, tx, a.ID, status, n.clock.now())
		return err
	})
}

func (n *node) register(t testing.TB, name string) (*agent.Agent, string) {
	t.Helper()
	a, key, err := n.Register(t.Context(), agent.Profile{Name: name}, admitted)
	if err != nil {
		t.Fatal(err)
	}
	return a, key
}

func (n *node) session(t testing.TB, key string) identity.Session {
	t.Helper()
	s, _, err := n.StartSession(t.Context(), key, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.secret(s.Token)
	return s
}

var openRegistry = config.Config{Registration: "open"}

func TestLocalKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		one, two := newNode(t, db, openRegistry), newNode(t, db, openRegistry)
		a, key := one.register(t, "Ada")
		one.want(t, key, "ada")
		two.want(t, key, "ada")
		for name, bearer := range map[string]string{
			"empty": "", "prefix": "pc_", "cut": key[:len(key)-1], "another": "pc_aaaaaaaaaaaa_" + key[16:],
			"opaque": "abc", "too long": strings.Repeat("a", 4097), "space": key + " ", "line break": key + "\n",
			"quote": `"` + key + `"`, "not ASCII": "é" + key, "token": "ps_" + key[3:], "JWT": "e30.e30.e30",
		} {
			if got := one.ask(t, bearer); got != invalid {
				t.Errorf("%s: %s", name, got)
			}
		}
		if err := one.usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys, err := store.ListKeys(t.Context(), db, a.ID)
		if err != nil || !keys[0].LastUsedAt.Equal(one.clock.now()) {
			t.Errorf("last used %v, %v", keys[0].LastUsedAt, err)
		}
		one.setStatus(t, "ada", agent.Disabled)
		for _, n := range []*node{one, two} {
			n.want(t, key, "ada") // cached until the watcher runs
			n.recheck(t)
			n.want(t, key, isDisabled)
		}
		one.setStatus(t, "ada", agent.Active)
		two.recheck(t)
		two.want(t, key, "ada")
		one.inTx(t, func(ctx context.Context, tx bun.Tx) error {
			return store.RevokeKey(ctx, tx, a.ID, keys[0].ID, one.clock.now())
		})
		two.recheck(t)
		two.want(t, key, invalid)
	})
}

// counter counts the queries of a database.
type counter struct{ n atomic.Int64 }

func (c *counter) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	c.n.Add(1)
	return ctx
}

func (c *counter) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestChangesForgetOneAgent checks that a change of an agent forgets the verdicts on its keys and sessions, also a
// refusal, and those on no others.
func TestChangesForgetOneAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		queries := new(counter)
		counted := &database.DB{DB: db.DB.WithQueryHook(queries), Reader: db.Reader.WithQueryHook(queries), Kind: db.Kind, Breaker: db.Breaker}
		n := newNode(t, counted, openRegistry)
		_, adas := n.register(t, "Ada")
		bob, bobs := n.register(t, "Bob")
		token := n.session(t, adas).Token
		unknown := "pc_aaaaaaaaaaaa_" + adas[16:]
		asked := func(want string, bearer string, most int64) {
			t.Helper()
			queries.n.Store(0)
			n.want(t, bearer, want)
			if got := queries.n.Load(); got != most {
				t.Errorf("%d queries about a bearer of %s, want %d", got, want, most)
			}
		}
		all := func(bobsQueries int64, of string) {
			t.Helper()
			asked("ada", adas, 0)
			asked("ada", token, 0)
			asked(invalid, unknown, 0)
			asked(of, bobs, bobsQueries)
			asked(of, bobs, 0)
		}
		n.recheck(t)
		n.want(t, token, "ada")
		n.want(t, adas, "ada")
		n.want(t, unknown, invalid)
		n.want(t, bobs, "bob")
		all(0, "bob")
		n.inTx(t, func(ctx context.Context, tx bun.Tx) error { return store.EndSession(ctx, tx, bob.ID, "ps_none") })
		n.recheck(t)
		all(1, "bob")
		n.setStatus(t, "bob", agent.Disabled)
		n.recheck(t)
		all(1, isDisabled)
		n.setStatus(t, "bob", agent.Active)
		n.recheck(t)
		all(1, "bob")
	})
}

func TestQueriesOfACheck(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		other := newNode(t, dbtest.Open(t, database.SQLite), openRegistry)
		_, stranger := other.register(t, "Ada")
		maker := newNode(t, db, openRegistry)
		_, key := maker.register(t, "Ada")
		token := maker.session(t, key).Token
		queries := new(counter)
		hooked := db.DB.WithQueryHook(queries)
		counted := &database.DB{DB: hooked, Reader: db.Reader.WithQueryHook(queries), Kind: db.Kind, Breaker: db.Breaker}
		n := newNode(t, counted, openRegistry)
		for _, c := range []struct {
			name, bearer, want string
			queries            int64
		}{
			{"good key", key, "ada", 1},
			{"kept key", key, "ada", 0},
			{"key of another deployment", stranger, invalid, 1},
			{"the same again", stranger, invalid, 0},
			{"malformed key", key[:len(key)-1], invalid, 0},
			{"session", token, "ada", 1},
			{"malformed token", token[:len(token)-1], invalid, 0},
		} {
			before := queries.n.Load()
			n.want(t, c.bearer, c.want)
			if got := queries.n.Load() - before; got != c.queries {
				t.Errorf("%s: %d queries, want %d", c.name, got, c.queries)
			}
		}
	})
}

func TestNodesHearOfIt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		one, two := newNode(t, db, openRegistry), newNode(t, db, openRegistry)
		two.generation.Start()
		defer two.generation.Stop()
		_, key := one.register(t, "Ada")
		token := one.session(t, key).Token
		two.want(t, key, "ada")
		two.want(t, token, "ada")
		one.setStatus(t, "ada", agent.Disabled)
		began := time.Now()
		two.eventually(t, key, isDisabled)
		two.eventually(t, token, invalid) // the first check may have forgotten only the key
		t.Logf("the other node knew after %s", time.Since(began))
	})
}

func TestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	n := newNode(t, db, openRegistry)
	_, key := n.register(t, "Ada")
	n.want(t, key, "ada")
	// The generation isn't moved, so only the time limit ends the cached answer.
	if _, err := db.ExecContext(t.Context(), "UPDATE agents SET status = 'disabled'"); err != nil {
		t.Fatal(err)
	}
	n.clock.advance(59 * time.Second)
	n.want(t, key, "ada")
	n.clock.advance(time.Second)
	n.want(t, key, isDisabled)
	if _, err := db.ExecContext(t.Context(), "UPDATE agents SET status = 'active'"); err != nil {
		t.Fatal(err)
	}
	n.clock.advance(9 * time.Second)
	n.want(t, key, isDisabled)
	n.clock.advance(time.Second)
	n.want(t, key, "ada")
}

func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), dbtest.URL(t, database.SQLite))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, db, openRegistry)
	_, key := n.register(t, "Ada")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	n.want(t, key, noAnswer)
	n.want(t, key[:len(key)-1], invalid)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		one, two := newNode(t, db, openRegistry), newNode(t, db, openRegistry)
		a, key := one.register(t, "Ada")
		s := one.session(t, key)
		if !s.ExpiresAt.Equal(s.CreatedAt.Add(24*time.Hour)) || !s.CreatedAt.Equal(one.clock.now()) {
			t.Errorf("%+v", s)
		}
		p, err := two.Authenticate(t.Context(), s.Token, nil)
		if err != nil || !p.Session || p.Agent.ID != a.ID || !p.ExpiresAt.Equal(s.ExpiresAt) {
			t.Fatalf("%+v, %v", p, err)
		}
		_, _, err = one.StartSession(t.Context(), s.Token, nil, nil)
		if problem.As(err).Code != "invalid_credentials" {
			t.Errorf("a session began with a session: %v", err)
		}
		if err := one.EndSession(t.Context(), key); problem.As(err).Status != 422 {
			t.Errorf("ending a key: %v", err)
		}
		if err := one.EndSession(t.Context(), s.Token); err != nil {
			t.Fatal(err)
		}
		one.want(t, s.Token, invalid)
		if err := one.EndSession(t.Context(), s.Token); problem.As(err).Status != 401 {
			t.Errorf("ending it again: %v", err)
		}
		two.recheck(t)
		two.want(t, s.Token, invalid)

		s = one.session(t, key)
		two.want(t, s.Token, "ada")
		one.setStatus(t, "ada", agent.Disabled)
		two.recheck(t)
		two.want(t, s.Token, invalid)
		if _, _, err := one.StartSession(t.Context(), key, nil, nil); problem.As(err).Status != 401 && problem.As(err).Status != 403 {
			t.Errorf("a disabled agent began a session: %v", err)
		}
		one.setStatus(t, "ada", agent.Active)
		one.recheck(t)
		s = one.session(t, key)
		one.want(t, s.Token, "ada")
		one.clock.advance(24 * time.Hour)
		one.want(t, s.Token, invalid)
	})
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	cases := []struct {
		cfg       config.Config
		says, how string
	}{
		{config.Config{Registration: "closed"}, "operator", "pulsecast agent create NAME"},
		{config.Config{IdentityURL: "http://127.0.0.1:1", IdentityScope: "x", Registration: "open"}, "http://127.0.0.1:1", "Enable this service for your agent at http://127.0.0.1:1"},
	}
	for _, c := range cases {
		n := newNode(t, db, c.cfg)
		_, _, err := n.Register(t.Context(), agent.Profile{Name: "Ada"}, admitted)
		p := problem.As(err)
		if p.Status != 403 || p.Code != "registration_closed" || !strings.Contains(p.Detail, c.says) || !strings.Contains(n.HowToGetKey(), c.how) {
			t.Errorf("%v; %s", err, n.HowToGetKey())
		}
	}
	n := newNode(t, db, openRegistry)
	if how := n.HowToGetKey(); !strings.Contains(how, "POST https://pulsecast.example/api/agents") {
		t.Error(how)
	}
	if _, _, err := n.Register(t.Context(), agent.Profile{Name: "\x00"}, admitted); problem.As(err).Status != 422 {
		t.Error(err)
	}
	list, _, err := store.List(t.Context(), db, agent.Filter{Kind: agent.Ordinary, Limit: 1})
	if err != nil || len(list) != 0 {
		t.Errorf("refused, yet stored: %v %v", list, err)
	}
	if s := n.Status(); !s.OK || s.Kind != "local" {
		t.Errorf("%+v", s)
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(t, db, openRegistry)
		_, key := n.register(t, "Ada")
		wrong := key[:len(key)-1] + "x"
		if wrong == key {
			wrong = key[:len(key)-1] + "y"
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 20 {
					n.want(t, key, "ada")
					n.want(t, wrong, invalid)
					n.generation.Recheck()
				}
			})
		}
		wg.Wait()
		leaving, leave := context.WithCancel(t.Context())
		leave()
		n.clock.advance(time.Hour)
		if _, err := n.Authenticate(leaving, key, nil); err != nil && problem.As(err).Status != 503 {
			t.Errorf("a caller that left got %v", err)
		}
		n.want(t, key, "ada")
	})
}

func BenchmarkAuthenticateCached(b *testing.B) {
	n := newNode(b, dbtest.Open(b, database.SQLite), openRegistry)
	_, key := n.register(b, "Ada")
	n.want(b, key, "ada")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := n.Authenticate(context.Background(), key, nil); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkHash(b *testing.B) {
	n := newNode(b, dbtest.Open(b, database.SQLite), openRegistry)
	_, key := n.register(b, "Ada")
	b.ReportAllocs()
	for b.Loop() {
		agent.Hash(key)
	}
}

// admitted admits every registration.
func admitted() (undo func(), err error) { return func() {}, nil }
