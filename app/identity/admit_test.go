package identity_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/problem"
)

// gate is an Admit that counts.
type gate struct {
	asked, ended, accepted int
	closed                 bool
}

var errClosed = problem.Unavailable("Too many keys from this address were not accepted.", time.Second)

func (g *gate) admit() (done func(refusal error), err error) {
	g.asked++
	if g.closed {
		return nil, errClosed
	}
	return func(refusal error) {
		g.ended++
		if refusal == nil {
			g.accepted++
		}
	}, nil
}

// TestOnlyUnknownKeysAreAdmitted checks that a key whose verdict is cached, or that the last check accepted, needs no
// admission, and that a check that isn't admitted asks neither the database nor the provider.
func TestOnlyUnknownKeysAreAdmitted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, central := range []bool{false, true} {
			var n *node
			var key, wrong, handle string
			provider := newScripted(t)
			if central {
				n = newNode(t, db, provider.settings("", "f"))
				key, wrong = provider.key(`{"active":true,"scope":"f","sub":"s1","username":"ada"}`), "made-up"
				handle = "ada"
			} else {
				n = newNode(t, db, openRegistry)
				_, key = n.register(t, "Grace")
				wrong, handle = "pc_aaaaaaaaaaaa_made-up", "grace"
			}
			g := new(gate)
			try := func(bearer string, status, asked int) {
				t.Helper()
				before := *g
				_, err := n.Authenticate(t.Context(), bearer, g.admit)
				got := http.StatusOK
				if err != nil {
					got = problem.As(err).Status
				}
				if got != status || g.asked-before.asked != asked {
					t.Errorf("central %v: %d, asked %d times; want %d and %d", central, got, g.asked-before.asked, status, asked)
				}
				if !g.closed && (g.ended-before.ended != asked || g.accepted-before.accepted != 0 && status != http.StatusOK) {
					t.Errorf("central %v: %+v after %+v", central, *g, before)
				}
			}
			introspections := provider.asked.Load()
			g.closed = true
			try(key, http.StatusServiceUnavailable, 1)
			try(wrong, http.StatusServiceUnavailable, 1)
			if _, err := n.Authenticate(t.Context(), wrong, g.admit); !errors.Is(err, errClosed) {
				t.Errorf("refused with %v", err)
			}
			if provider.asked.Load() != introspections {
				t.Error("a key that wasn't admitted was shown to the provider")
			}
			g.closed = false
			try(key, http.StatusOK, 1)
			try(wrong, http.StatusUnauthorized, 1)
			try(key, http.StatusOK, 0)
			try(wrong, http.StatusUnauthorized, 0)
			g.closed = true
			n.clock.advance(10 * time.Minute) // all verdicts have expired
			try(key, http.StatusOK, 0)
			try(wrong, http.StatusServiceUnavailable, 1)
			n.inTx(t, func(ctx context.Context, tx bun.Tx) error {
				a, err := store.ByHandle(ctx, tx, handle)
				if err == nil {
					err = store.EndSession(ctx, tx, a.ID, "ps_none")
				}
				return err
			})
			n.recheck(t) // all verdicts about the agent are forgotten
			try(key, http.StatusOK, 0)
			n.setStatus(t, handle, agent.Disabled)
			n.recheck(t)
			try(key, http.StatusForbidden, 0)
			n.clock.advance(time.Minute)
			try(key, http.StatusServiceUnavailable, 1) // the last check refused it
		}
	})
}

// TestKeysOfClosedAccountsAreAdmitted checks that the refusal of a closed account replaces the earlier verdict on its
// key, so that the key is checked seldom, and only if it is admitted.
func TestKeysOfClosedAccountsAreAdmitted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		provider := newScripted(t)
		n := newNode(t, db, provider.settings("", "f"))
		token := provider.jwt(fields{"iss": provider.URL, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": n.clock.now().Unix() + 6000})
		g := new(gate)
		try := func(status, asked int) {
			t.Helper()
			before := g.asked
			_, err := n.Authenticate(t.Context(), token, g.admit)
			got := http.StatusOK
			if err != nil {
				got = problem.As(err).Status
			}
			if got != status || g.asked-before != asked {
				t.Errorf("%v, asked %d times; want %d and %d", err, g.asked-before, status, asked)
			}
		}
		try(http.StatusOK, 1)
		n.inTx(t, func(ctx context.Context, tx bun.Tx) error {
			a, err := store.ByHandle(ctx, tx, "ada")
			if err == nil {
				_, _, err = store.Close(ctx, tx, a.ID, n.clock.now())
			}
			return err
		})
		n.recheck(t)
		try(http.StatusForbidden, 0) // the last check accepted it
		g.closed = true
		try(http.StatusForbidden, 0) // cached
		n.clock.advance(11 * time.Second)
		try(http.StatusServiceUnavailable, 1)
		g.closed = false
		try(http.StatusForbidden, 1)
	})
}

// waiting is a context that tells when a caller waits for the check of another one.
type waiting struct {
	context.Context
	begun chan<- struct{}
}

func (w waiting) Done() <-chan struct{} {
	w.begun <- struct{}{}
	return w.Context.Done()
}

// TestUnadmittedCallerLeavesOthers checks that callers with the same key get their own admission if the one that
// checks it for all of them isn't admitted.
func TestUnadmittedCallerLeavesOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t, dbtest.Open(t, database.SQLite), openRegistry)
	_, key := n.register(t, "Grace")
	asked, refuse, joined := make(chan struct{}), make(chan struct{}), make(chan struct{}, 9)
	result := make(chan error, 2)
	go func() {
		_, err := n.Authenticate(t.Context(), key, func() (func(error), error) {
			close(asked)
			<-refuse
			return nil, errClosed
		})
		result <- err
	}()
	<-asked
	go func() {
		_, err := n.Authenticate(waiting{t.Context(), joined}, key, new(gate).admit)
		result <- err
	}()
	<-joined
	close(refuse)
	first, second := <-result, <-result
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), errClosed) {
		t.Errorf("%v, %v; want one refusal", first, second)
	}
}
