package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

func issue(t testing.TB, db bun.IDB, id uuid.UUID, label string) (string, *agent.Key) {
	t.Helper()
	secret, key, err := store.IssueKey(t.Context(), db, id, label, at)
	if err != nil {
		t.Fatal(err)
	}
	return secret, key
}

func start(t testing.TB, db *database.DB, id uuid.UUID, credential string) string {
	t.Helper()
	var token string
	inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
		token, _, err = store.StartSession(ctx, tx, id, credential, time.Time{}, at)
		return err
	})
	return token
}

// valid reports whether a key or a session token is valid at the test's moment.
func valid(t testing.TB, db *database.DB, credential string) bool {
	t.Helper()
	var err error
	if agent.IsToken(credential) {
		_, _, err = store.FindSession(t.Context(), db.Reader, credential, at)
	} else {
		_, _, err = store.FindKey(t.Context(), db.Reader, credential, time.Now())
	}
	if err != nil && !errors.Is(err, agent.ErrNoCredential) {
		t.Fatal(err)
	}
	return err == nil
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, bob := create(t, db, "Ada"), create(t, db, "Bob")
		secret, key := issue(t, db, ada.ID, " laptop ")
		other, _ := issue(t, db, bob.ID, "")
		found, owner, err := store.FindKey(t.Context(), db.Reader, secret, time.Now())
		if err != nil || owner.ID != ada.ID || owner.Handle != "ada" || found.ID != key.ID || found.Label != "laptop" || !found.CreatedAt.Equal(at) {
			t.Fatalf("%+v of %+v, %v", found, owner, err)
		}
		var stored string
		if err := db.NewSelect().Model((*agent.Key)(nil)).ColumnExpr("CAST(hash AS TEXT) || label || id").Where("id = ?", key.ID).Scan(t.Context(), &stored); err != nil || strings.Contains(stored, secret) {
			t.Errorf("the row holds the secret: %q, %v", stored, err)
		}
		_, _, err = store.IssueKey(t.Context(), db, ada.ID, strings.Repeat("x", 81), at)
		refused(t, err, 422, "invalid_request")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			return store.RevokeKey(ctx, tx, ada.ID, key.ID, at.Add(time.Minute))
		})
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			return store.RevokeKey(ctx, tx, ada.ID, key.ID, at.Add(time.Hour))
		})
		if valid(t, db, secret) || !valid(t, db, other) {
			t.Error("the wrong key was revoked")
		}
		err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return store.RevokeKey(ctx, tx, bob.ID, key.ID, at)
		})
		refused(t, err, 404, "not_found")
		keys, err := store.ListKeys(t.Context(), db.Reader, ada.ID)
		if err != nil || len(keys) != 1 || !keys[0].RevokedAt.Equal(at.Add(time.Minute)) || !keys[0].LastUsedAt.IsZero() {
			t.Errorf("%+v, %v", keys, err)
		}
	})
}

func TestWrongKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		secret, _ := issue(t, db, a.ID, "")
		// A well-formed key of another installation, whose id is unknown here.
		elsewhere := dbtest.Open(t, database.SQLite)
		stranger, _ := issue(t, elsewhere, create(t, elsewhere, "Ada").ID, "")
		for name, key := range map[string]string{
			"empty":      "",
			"prefix":     "pc_",
			"cut":        secret[:len(secret)-1],
			"longer":     secret + "0",
			"stranger":   stranger,
			"one letter": secret[:20] + string('a'+(secret[20]-'a'+1)%26) + secret[21:],
			"upper case": strings.ToUpper(secret),
			"a token":    start(t, db, a.ID, "x"),
		} {
			if _, _, err := store.FindKey(t.Context(), db.Reader, key, time.Now()); !errors.Is(err, agent.ErrNoCredential) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestEndedKeysAreBounded checks that only the newest ended keys of an agent are kept, and every valid key.
func TestEndedKeysAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, bob := create(t, db, "Ada"), create(t, db, "Bob")
		_, others := issue(t, db, bob.ID, "")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.RevokeKey(ctx, tx, bob.ID, others.ID, at) })
		oldest, kept := issue(t, db, ada.ID, "the oldest")
		_, key := issue(t, db, ada.ID, "the first to end")
		token := start(t, db, ada.ID, kept.ID)
		const rounds = agent.MaxEndedKeys + 21
		for i := range rounds {
			grace, now := time.Duration(i%2)*time.Second, at.Add(time.Duration(i+1)*time.Minute)
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				made, err := store.ReplaceKey(ctx, tx, ada.ID, key.ID, fmt.Sprint(i), grace, now)
				if err == nil {
					key = made.Key
				}
				return err
			})
		}
		keys, err := store.ListKeys(t.Context(), db.Reader, ada.ID)
		if err != nil || len(keys) != agent.MaxEndedKeys+2 {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for i, k := range keys[:agent.MaxEndedKeys+1] {
			if want := fmt.Sprint(rounds - 1 - i); k.Label != want {
				t.Errorf("key %d from the newest is %q, want %q", i, k.Label, want)
			}
		}
		if last := keys[len(keys)-1]; last.ID != kept.ID || !valid(t, db, oldest) || !valid(t, db, token) {
			t.Errorf("the valid key %q ended, or its session: %+v", kept.Label, last)
		}
		if keys, err := store.ListKeys(t.Context(), db.Reader, bob.ID); err != nil || len(keys) != 1 {
			t.Errorf("another agent has %d keys, %v", len(keys), err)
		}
	})
}

func TestRotateKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		first, one := issue(t, db, a.ID, "one")
		second, two := issue(t, db, a.ID, "two")
		ended := start(t, db, a.ID, one.ID)
		var third string
		inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
			third, _, err = store.RotateKeys(ctx, tx, a.ID, "three", at)
			return err
		})
		for credential, want := range map[string]bool{first: false, second: false, ended: false, third: true} {
			if valid(t, db, credential) != want {
				t.Errorf("%.6s… valid is %v", credential, !want)
			}
		}
		// A session is started with a key that was revoked in the meantime.
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, _, err := store.StartSession(ctx, tx, a.ID, two.ID, time.Time{}, at)
			return err
		})
		if !errors.Is(err, agent.ErrNoCredential) {
			t.Errorf("a session began with a revoked key: %v", err)
		}
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		_, key := issue(t, db, a.ID, "")
		_, other := issue(t, db, a.ID, "")
		mine, yours, ended := start(t, db, a.ID, key.ID), start(t, db, a.ID, other.ID), start(t, db, a.ID, other.ID)
		session, owner, err := store.FindSession(t.Context(), db.Reader, mine, at)
		if err != nil || owner.Handle != "ada" || session.Credential != key.ID || !session.ExpiresAt.Equal(at.Add(24*time.Hour)) {
			t.Fatalf("%+v of %+v, %v", session, owner, err)
		}
		if _, _, err := store.FindSession(t.Context(), db.Reader, mine, session.ExpiresAt); !errors.Is(err, agent.ErrNoCredential) {
			t.Errorf("at the end of a session: got %v, want ErrNoCredential", err)
		}
		for _, wrong := range []string{"", "ps_", mine[:len(mine)-1], mine[:9] + "~" + mine[10:], "ps_" + strings.Repeat("0", 33)} {
			if valid(t, db, "ps_"+strings.TrimPrefix(wrong, "ps_")) {
				t.Errorf("%q is valid", wrong)
			}
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.EndSession(ctx, tx, a.ID, ended) })
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.RevokeKey(ctx, tx, a.ID, key.ID, at) })
		if valid(t, db, ended) || valid(t, db, mine) || !valid(t, db, yours) {
			t.Error("ending one session and revoking another's key left the wrong ones")
		}
		var short string
		inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
			short, session, err = store.StartSession(ctx, tx, a.ID, "c", at.Add(time.Minute), at)
			return err
		})
		if !session.ExpiresAt.Equal(at.Add(time.Minute)) {
			t.Errorf("a session outlives its key: %s", session.ExpiresAt)
		}
		if _, err := store.Prune(t.Context(), db, at.Add(2*time.Minute)); err != nil || valid(t, db, short) || !valid(t, db, yours) {
			t.Errorf("pruning left the session that ended, or deleted the other; %v", err)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.EndSessionsOf(ctx, tx, other.ID) })
		if valid(t, db, yours) {
			t.Error("the sessions of a credential didn't end")
		}
	})
}

// TestSessionsAreBounded checks that the session after the hundredth ends the oldest, and nothing else: not
// the sessions of another agent, and not the access token of an app.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, bob := create(t, db, "Ada"), create(t, db, "Bob")
		_, key := issue(t, db, ada.ID, "")
		_, other := issue(t, db, bob.ID, "")
		bobs := start(t, db, bob.ID, other.ID)
		access := agent.NewAccessToken()
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			g := &agent.Grant{ID: uuid.New(), AgentID: ada.ID, Credential: key.ID, ClientID: "c", Scope: agent.ScopeRead}
			if err := store.OpenGrant(ctx, tx, g, at.Add(agent.GrantLifetime), at); err != nil {
				return err
			}
			hash := agent.Hash(access)
			_, err := store.StoreAccessToken(ctx, tx, g, hash[:], at)
			return err
		})
		begin := func(after time.Duration) (token string) {
			inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
				token, _, err = store.StartSession(ctx, tx, ada.ID, key.ID, time.Time{}, at.Add(after))
				return err
			})
			return token
		}
		expired := begin(-agent.SessionLifetime) // ends at the moment at, so it doesn't count
		var tokens []string
		for i := range agent.MaxSessions {
			tokens = append(tokens, begin(time.Duration(i)*time.Second))
		}
		for i, token := range tokens {
			if !valid(t, db, token) {
				t.Errorf("session %d of %d doesn't work", i+1, agent.MaxSessions)
			}
		}
		newest := begin(time.Hour)
		for credential, want := range map[string]bool{
			expired: false, tokens[0]: false, tokens[1]: true, tokens[99]: true, newest: true, bobs: true, access: true,
		} {
			if valid(t, db, credential) != want {
				t.Errorf("after one more session, %.6s… is valid: %t", credential, !want)
			}
		}
		n, err := db.NewSelect().Model((*agent.Session)(nil)).Where("agent_id = ?", ada.ID).Where("grant_id IS NULL").
			Where("expires_at > ?", at).Count(t.Context())
		if err != nil || n != 100 {
			t.Errorf("%d sessions are left, %v; want 100", n, err)
		}
	})
}

// TestEndedSessionsArePrunedInBatches checks that one statement deletes at most a thousand sessions.
func TestEndedSessionsArePrunedInBatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		_, key := issue(t, db, a.ID, "")
		kept := start(t, db, a.ID, key.ID)
		ended := make([]agent.Session, 1500)
		for i := range ended {
			hash := agent.Hash(fmt.Sprint(i))
			ended[i] = agent.Session{Hash: hash[:], AgentID: a.ID, Credential: key.ID, CreatedAt: at.Add(-time.Hour), ExpiresAt: at.Add(-time.Minute)}
		}
		if _, err := db.NewInsert().Model(&ended).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			more bool
			left int64
		}{{true, 501}, {false, 1}} {
			more, err := store.Prune(t.Context(), db, at)
			left, err2 := db.NewSelect().Model((*agent.Session)(nil)).Count(t.Context())
			if err := errors.Join(err, err2); err != nil || more != want.more || left != want.left {
				t.Errorf("batch %d: more %t and %d left (%v), want %+v", i+1, more, left, err, want)
			}
		}
		if !valid(t, db, kept) {
			t.Error("a session that hasn't ended was deleted")
		}
	})
}

func TestDisabling(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		secret, key := issue(t, db, a.ID, "")
		token := start(t, db, a.ID, key.ID)
		set := func(status agent.Status) {
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				_, err := store.SetStatus(ctx, tx, a.ID, status, at)
				return err
			})
		}
		set(agent.Disabled)
		_, owner, err := store.FindKey(t.Context(), db.Reader, secret, time.Now())
		if err != nil || owner.Status != agent.Disabled || !owner.DisabledAt.Equal(at) || valid(t, db, token) {
			t.Errorf("%+v, %v; session valid %v", owner, err, valid(t, db, token))
		}
		err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, _, err := store.StartSession(ctx, tx, a.ID, key.ID, time.Time{}, at)
			return err
		})
		if !errors.Is(err, agent.ErrNoCredential) {
			t.Errorf("a disabled agent began a session: %v", err)
		}
		set(agent.Active)
		if got, err := store.ByID(t.Context(), db, a.ID); err != nil || got.Status != agent.Active || !got.DisabledAt.IsZero() || valid(t, db, token) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestGenerationMovesWithAccess(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a, bob := create(t, db, "Ada"), create(t, db, "Bob")
		_, key := issue(t, db, a.ID, "")
		token := start(t, db, a.ID, key.ID)
		g := agent.NewGeneration(db.Reader, slog.New(slog.DiscardHandler))
		look := func() uint64 {
			if err := g.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			return g.Epoch()
		}
		before := look()
		if look() != before {
			t.Fatal("the epoch moved without a change of the generation")
		}
		steps := []struct {
			name string
			run  func(ctx context.Context, tx bun.Tx) error
		}{
			{"end a session", func(ctx context.Context, tx bun.Tx) error { return store.EndSession(ctx, tx, a.ID, token) }},
			{"end a session that other nodes may still accept", func(ctx context.Context, tx bun.Tx) error { return store.EndSession(ctx, tx, a.ID, token) }},
			{"revoke a key", func(ctx context.Context, tx bun.Tx) error { return store.RevokeKey(ctx, tx, a.ID, key.ID, at) }},
			{"disable", func(ctx context.Context, tx bun.Tx) error {
				_, err := store.SetStatus(ctx, tx, a.ID, agent.Disabled, at)
				return err
			}},
			{"enable", func(ctx context.Context, tx bun.Tx) error {
				_, err := store.SetStatus(ctx, tx, a.ID, agent.Active, at)
				return err
			}},
		}
		for _, step := range steps {
			inTx(t, db, step.run)
			if after := look(); after != before+1 {
				t.Errorf("%s: epoch %d, then %d, want one more", step.name, before, after)
			}
			if g.Holds(a.ID, before) || !g.Holds(a.ID, before+1) || !g.Holds(bob.ID, before) || !g.Holds(uuid.Nil, before) {
				t.Errorf("%s: what a node knows of the agent still holds, or that of others doesn't", step.name)
			}
			before = g.Epoch()
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.RevokeKey(ctx, tx, a.ID, key.ID, at) })
		if after := look(); after != before {
			t.Errorf("revoke a key again: epoch %d, then %d, want no change", before, after)
		}
		_, key = issue(t, db, a.ID, "")
		for range agent.MaxGrants + 1 {
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				return store.OpenGrant(ctx, tx, &agent.Grant{ID: uuid.New(), AgentID: a.ID, Credential: key.ID, ClientID: "c"}, at.Add(agent.GrantLifetime), at)
			})
		}
		if after := look(); after != before+1 {
			t.Errorf("one grant above the limit: epoch %d, then %d, want one more", before, after)
		}
		failing, cancel := context.WithCancel(t.Context())
		cancel()
		before = g.Epoch()
		if err := g.Check(failing); err == nil || g.Epoch() == before || g.Holds(bob.ID, before) || g.Holds(uuid.Nil, before) {
			t.Errorf("an unreadable generation: got %v and the same epoch, want an error and another epoch", err)
		}
	})
}

// TestMissedChangesDropAll checks that a node drops what it knows of all agents if it can't know which changed.
func TestMissedChangesDropAll(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a, bob := create(t, db, "Ada"), create(t, db, "Bob")
		g := agent.NewGeneration(db.Reader, slog.New(slog.DiscardHandler))
		look := func() {
			t.Helper()
			if err := g.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		change := func(times int) {
			t.Helper()
			inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
				for i := 0; i < times && err == nil; i++ {
					err = store.EndSession(ctx, tx, a.ID, "ps_none")
				}
				return err
			})
		}
		change(3)
		look()
		if g.Holds(bob.ID, 0) {
			t.Error("what was known before the first check holds")
		}
		for _, c := range []struct {
			name string
			do   func()
			all  bool
		}{
			{"as many changes as are kept", func() { change(1_000) }, false},
			{"more changes than are kept", func() { change(1_200) }, true},
			{"one change", func() { change(1) }, false},
			{"the end of all sessions", func() {
				inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
					_, err := store.EndAllSessions(ctx, tx)
					return err
				})
			}, true},
			{"a database of yesterday", func() {
				if _, err := db.ExecContext(t.Context(), "UPDATE credential_generation SET generation = 2"); err != nil {
					t.Fatal(err)
				}
				if _, err := db.ExecContext(t.Context(), "DELETE FROM credential_changes"); err != nil {
					t.Fatal(err)
				}
			}, true},
			{"one change after it", func() { change(1) }, false},
		} {
			before := g.Epoch()
			c.do()
			look()
			if g.Epoch() != before+1 {
				t.Errorf("%s: epoch %d after %d", c.name, g.Epoch(), before)
			}
			if g.Holds(bob.ID, before) == c.all || g.Holds(uuid.Nil, before) == c.all {
				t.Errorf("%s: what is known of others holds %v", c.name, !c.all)
			}
			look()
			if !g.Holds(a.ID, before+1) || !g.Holds(bob.ID, before+1) {
				t.Errorf("%s: a second look drops more", c.name)
			}
		}
		var kept int
		if err := db.NewRaw("SELECT COUNT(*) FROM credential_changes").Scan(t.Context(), &kept); err != nil || kept > 1_100 {
			t.Errorf("%d changes are kept, %v", kept, err)
		}
	})
}

// TestChangesCommitInOrder checks that a node misses no change if two transactions change agents at once.
func TestChangesCommitInOrder(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, bob := create(t, db, "Ada"), create(t, db, "Bob")
	g := agent.NewGeneration(db.Reader, slog.New(slog.DiscardHandler))
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := g.Epoch()
	first, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback()
	if err := store.EndSession(t.Context(), first, a.ID, "ps_none"); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		second <- db.InTx(context.WithoutCancel(t.Context()), func(ctx context.Context, tx bun.Tx) error {
			return store.EndSession(ctx, tx, bob.ID, "ps_none")
		})
	}()
	for waiting := 0; waiting == 0; {
		err := db.NewRaw("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(t.Context(), &waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Check(t.Context()); err != nil || g.Epoch() != before {
		t.Errorf("%v: a change shows before its commit", err)
	}
	if err := errors.Join(first.Commit(), <-second); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(t.Context()); err != nil || g.Holds(a.ID, before) || g.Holds(bob.ID, before) {
		t.Errorf("%v: a change was missed", err)
	}
}

// TestGrantsAreBounded checks that the grant after the fiftieth ends one that an app has not redeemed in time, and
// otherwise the one that was renewed first.
func TestGrantsAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		_, key := issue(t, db, a.ID, "")
		open := func(after, lasts time.Duration) {
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				now := at.Add(after)
				return store.OpenGrant(ctx, tx, &agent.Grant{ID: uuid.New(), AgentID: a.ID, Credential: key.ID, ClientID: "c"}, now.Add(lasts), now)
			})
		}
		first := func(now time.Time) time.Duration {
			list, err := store.ListGrants(t.Context(), db.Reader, a.ID, now)
			if err != nil || len(list) == 0 {
				t.Fatal(list, err)
			}
			oldest := slices.MinFunc(list, func(x, y *agent.Grant) int { return x.CreatedAt.Compare(y.CreatedAt) })
			return oldest.CreatedAt.Sub(at)
		}
		for i := range agent.MaxGrants - 5 {
			open(time.Duration(i)*time.Second, agent.GrantLifetime)
		}
		for range 5 {
			open(time.Minute, time.Minute) // approved, but not redeemed
		}
		now := time.Hour
		for range 5 {
			open(now, agent.GrantLifetime)
		}
		if got := first(at.Add(now)); got != 0 {
			t.Errorf("the grants before %s were ended for grants that had ended already", got)
		}
		open(now, agent.GrantLifetime)
		if got := first(at.Add(now)); got != time.Second {
			t.Errorf("beyond the bound, the first grant is from %s, want 1s", got)
		}
	})
}

// TestTokensMakeRoom checks that the oldest token makes room for one above the limit, even if all of them still work,
// and that a deleted refresh token isn't mistaken for an unknown one.
func TestTokensMakeRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		g := openGrant(t, db)
		family, ok := agent.FamilyOf(g.token)
		if !ok {
			t.Fatalf("%s has no family", g.token)
		}
		tokens, hashes := []string{g.token}, [][]byte{}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			for i := range agent.MaxGrantTokens {
				now, token, access := at.Add(time.Duration(i+1)*time.Millisecond), agent.NewRefreshToken(family), agent.Hash(agent.NewAccessToken())
				tokens, hashes = append(tokens, token), append(hashes, access[:])
				if err := store.StoreRefreshToken(ctx, tx, &g.Grant, token, now); err != nil {
					return err
				}
				if _, err := store.StoreAccessToken(ctx, tx, &g.Grant, access[:], now); err != nil {
					return err
				}
			}
			return nil
		})
		for i, token := range append(tokens, agent.NewRefreshToken(agent.NewFamily()), agent.NewAccessToken()) {
			want := map[int]error{0: agent.ErrReused, len(tokens): agent.ErrNoCredential, len(tokens) + 1: agent.ErrNoCredential}[i]
			found, err := store.FindRefreshToken(t.Context(), db.Reader, token, at.Add(time.Second))
			if !errors.Is(err, want) || (want != agent.ErrNoCredential && (found == nil || found.ID != g.ID)) {
				t.Errorf("refresh token %d: %v, %v; want %v", i, found, err, want)
			}
		}
		for i, hash := range hashes {
			if _, err := store.GrantOfAccessToken(t.Context(), db.Reader, hash); err != nil {
				t.Errorf("access token %d: %v", i, err)
			}
		}
		if n, err := db.Reader.NewSelect().Model((*agent.Session)(nil)).Count(t.Context()); err != nil || n != agent.MaxGrantTokens {
			t.Errorf("%d access tokens, %v", n, err)
		}
	})
}

// TestGrantsWaitForTheirAgent checks that renewing or ending a grant waits for an act that takes the agent's access,
// and holds no lock that the act needs. Otherwise, Postgres would end one of the two.
func TestGrantsWaitForTheirAgent(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	acts := map[string]func(ctx context.Context, tx bun.Tx, g *grant) error{
		"disable": func(ctx context.Context, tx bun.Tx, g *grant) error {
			_, err := store.SetStatus(ctx, tx, g.AgentID, agent.Disabled, at)
			return err
		},
		"end the sessions": func(ctx context.Context, tx bun.Tx, g *grant) error {
			_, err := store.EndAgentSessions(ctx, tx, g.AgentID)
			return err
		},
		"revoke the key": func(ctx context.Context, tx bun.Tx, g *grant) error {
			return store.RevokeKey(ctx, tx, g.AgentID, g.Credential, at)
		},
		"revoke the grant": func(ctx context.Context, tx bun.Tx, g *grant) error {
			return store.RevokeGrant(ctx, tx, g.AgentID, g.ID)
		},
		"close": func(ctx context.Context, tx bun.Tx, g *grant) error {
			_, _, err := store.Close(ctx, tx, g.AgentID, at)
			return err
		},
	}
	others := map[string]func(ctx context.Context, tx bun.Tx, g *grant) error{
		"renew": func(ctx context.Context, tx bun.Tx, g *grant) error {
			if err := store.UseRefreshToken(ctx, tx, g.ID, g.token, at); err != nil {
				return err
			}
			return store.RenewGrant(ctx, tx, &g.Grant, at)
		},
		"end": func(ctx context.Context, tx bun.Tx, g *grant) error { return store.EndGrant(ctx, tx, g.ID) },
	}
	for name, act := range acts {
		for other, do := range others {
			g := openGrant(t, db)
			done := make(chan error, 1)
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				if _, err := store.Lock(ctx, tx, g.AgentID); err != nil {
					return err
				}
				go func() {
					done <- db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return do(ctx, tx, &grant{g.Grant, g.token}) })
				}()
				for waiting := 0; waiting == 0; {
					if len(done) > 0 {
						t.Errorf("%s, %s: the grant didn't wait for its agent", name, other)
						break
					}
					const locks = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
					if err := db.Reader.NewRaw(locks).Scan(ctx, &waiting); err != nil {
						return err
					}
				}
				return act(ctx, tx, g)
			})
			err := <-done
			if refused := errors.Is(err, agent.ErrReused) || errors.Is(err, agent.ErrNoCredential); err != nil && !refused || refused != (other == "renew") {
				t.Errorf("%s, %s: %v", name, other, err)
			}
			if left, err := store.ListGrants(t.Context(), db.Reader, g.AgentID, at); err != nil || len(left) != 0 {
				t.Errorf("%s, %s: %d grants are left, %v", name, other, len(left), err)
			}
		}
	}
}

// grant is a grant with a refresh token.
type grant struct {
	agent.Grant
	token string
}

// openGrant opens a grant of a new agent with an access token and a refresh token.
func openGrant(t *testing.T, db *database.DB) *grant {
	t.Helper()
	a := create(t, db, "Ada")
	_, key := issue(t, db, a.ID, "")
	access := agent.Hash(agent.NewAccessToken())
	g := &grant{agent.Grant{ID: uuid.New(), AgentID: a.ID, Credential: key.ID, ClientID: "c"}, agent.NewRefreshToken(agent.NewFamily())}
	inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
		if err := store.OpenGrant(ctx, tx, &g.Grant, at.Add(agent.GrantLifetime), at); err != nil {
			return err
		}
		if err := store.StoreRefreshToken(ctx, tx, &g.Grant, g.token, at); err != nil {
			return err
		}
		_, err := store.StoreAccessToken(ctx, tx, &g.Grant, access[:], at)
		return err
	})
	return g
}

func TestGenerationWatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		g := agent.NewGeneration(db.Reader, slog.New(slog.DiscardHandler))
		g.Start()
		defer g.Stop()
		seen := uint64(0)
		wait := func() {
			t.Helper()
			look := time.NewTicker(10 * time.Millisecond)
			defer look.Stop()
			for end := time.Now().Add(10 * time.Second); g.Epoch() == seen; <-look.C {
				if time.Now().After(end) {
					t.Fatal("the epoch didn't move within ten seconds")
				}
			}
			seen = g.Epoch()
		}
		wait()
		for _, status := range []agent.Status{agent.Disabled, agent.Active} {
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				_, err := store.SetStatus(ctx, tx, a.ID, status, at)
				return err
			})
			if status == agent.Active {
				g.Recheck()
			}
			wait()
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		now := at
		clock := func() time.Time { return now }
		one := agent.NewUsage(db, slog.New(slog.DiscardHandler), clock)
		two := agent.NewUsage(db, slog.New(slog.DiscardHandler), clock)
		a, b := create(t, db, "Ada"), create(t, db, "Bob")
		_, key := issue(t, db, a.ID, "")
		for _, status := range []int{200, 304, 422, 429, 503} {
			one.Count(a.ID, agent.Request{Status: status})
			two.Count(a.ID, agent.Request{Status: status})
		}
		two.Count(b.ID, agent.Request{Status: 200})
		one.KeyUsed(key.ID)
		same := func(u *agent.Usage, id uuid.UUID, want agent.Counts) {
			t.Helper()
			if got, err := u.Last24h(ctx, db.Reader, id); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		}
		same(one, a.ID, agent.Counts{Requests: 5, Errors: 2, Limited: 1})
		for _, u := range []*agent.Usage{one, two} {
			if err := errors.Join(u.Flush(ctx), u.Flush(ctx)); err != nil {
				t.Fatal(err)
			}
		}
		same(one, a.ID, agent.Counts{Requests: 10, Errors: 4, Limited: 2})
		same(one, b.ID, agent.Counts{Requests: 1})
		keys, err := store.ListKeys(ctx, db, a.ID)
		seen, err2 := store.ByID(ctx, db, a.ID)
		if err != nil || err2 != nil || !keys[0].LastUsedAt.Equal(at) || !seen.LastSeenAt.Equal(at) {
			t.Errorf("key used %v, agent seen %v; %v %v", keys[0].LastUsedAt, seen.LastSeenAt, err, err2)
		}
		now = at.Add(59 * time.Second)
		one.KeyUsed(key.ID)
		if err := one.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if keys, _ = store.ListKeys(ctx, db, a.ID); !keys[0].LastUsedAt.Equal(at) {
			t.Error("the last use was written twice within a minute")
		}
		now = at.Add(26 * time.Hour)
		same(one, a.ID, agent.Counts{})
		// A failed flush keeps the counts, and Stop writes the remaining ones.
		one.Start()
		one.Count(a.ID, agent.Request{Status: 200})
		failing, cancel := context.WithCancel(ctx)
		cancel()
		if one.Flush(failing) == nil {
			t.Error("a flush without a database succeeded")
		}
		if err := one.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		same(two, a.ID, agent.Counts{Requests: 1})
	})
}

func TestUsageLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		u := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return at })
		ids := []uuid.UUID{create(t, db, "Ada").ID, create(t, db, "Bob").ID}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 2000 {
					u.Count(ids[i%2], agent.Request{Status: 200})
				}
			})
		}
		for range 20 {
			if err := u.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		all, err := u.Last24hAll(t.Context(), db.Reader, ids)
		if err != nil || all[ids[0]].Requests != 8000 || all[ids[1]].Requests != 8000 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestKeyForm(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	a := create(t, db, "Ada")
	seen := map[string]bool{}
	for range 50 {
		secret, key := issue(t, db, a.ID, "")
		parts := strings.Split(secret, "_")
		if len(parts) != 3 || parts[0] != "pc" || parts[1] != key.ID || len(parts[2]) < 22+6 || seen[secret] {
			t.Fatalf("a key of the wrong form: %d parts", len(parts))
		}
		seen[secret] = true
	}
	token := start(t, db, a.ID, "x")
	if !strings.HasPrefix(token, "ps_") || len(token) < 3+22 {
		t.Error("a token of the wrong form")
	}
}

func BenchmarkFindKey(b *testing.B) {
	for _, kind := range dbtest.Kinds {
		b.Run(string(kind), func(b *testing.B) {
			db := dbtest.Open(b, kind)
			secret, _ := issue(b, db, create(b, db, "Ada").ID, "")
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := store.FindKey(b.Context(), db.Reader, secret, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestReplacedKeyExpires checks that a replaced key, and a session begun with it, work only until
// the end of the grace period.
func TestReplacedKeyExpires(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var store agent.Store
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		var old, token string
		var made agent.Replacement
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			a, err := store.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Ada"}, At: now})
			if err != nil {
				return err
			}
			var key *agent.Key
			if old, key, err = store.IssueKey(ctx, tx, a.ID, "", now); err != nil {
				return err
			}
			if token, _, err = store.StartSession(ctx, tx, a.ID, key.ID, time.Time{}, now); err != nil {
				return err
			}
			if made, err = store.ReplaceKey(ctx, tx, a.ID, key.ID, "next", time.Hour, now); err != nil {
				return err
			}
			// A node that hasn't seen the replacement yet doesn't know when the old key ends.
			_, late, err := store.StartSession(ctx, tx, a.ID, key.ID, time.Time{}, now)
			if err == nil && !late.ExpiresAt.Equal(made.OldEndsAt) {
				t.Errorf("a session begun with the old key ends %s, the key %s", late.ExpiresAt, made.OldEndsAt)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for after, works := range map[time.Duration]bool{0: true, time.Hour - time.Microsecond: true, time.Hour: false} {
			at := now.Add(after)
			_, _, ofKey := store.FindKey(t.Context(), db.Reader, old, at)
			_, _, ofSession := store.FindSession(t.Context(), db.Reader, token, at)
			_, _, ofNew := store.FindKey(t.Context(), db.Reader, made.Secret, at)
			if (ofKey == nil) != works || (ofSession == nil) != works || ofNew != nil {
				t.Errorf("after %s: old key %v, its session %v, new key %v", after, ofKey, ofSession, ofNew)
			}
		}
	})
}
