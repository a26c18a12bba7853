package admin_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const password = "correct horse battery"

var store admin.Store

func inTx(t *testing.T, db *database.DB, run func(ctx context.Context, tx bun.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return p.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, c := range []struct{ name, password, code string }{
			{"Eve", password, ""},
			{"eve", password, "name_taken"},
			{"", password, "invalid_request"},
			{"a b", password, "invalid_request"},
			{"bob", "short", "invalid_request"},
			{"bob", "", "invalid_request"},
			{"bob", "elevenchars", "invalid_request"},
			{"bob", strings.Repeat("a", 20), "invalid_request"},
			{"bob", strings.Repeat("ab", 300), "invalid_request"},
			{"bob", "twelve chars", ""},
		} {
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := store.Create(ctx, tx, audit.Shell, c.name, c.password, start)
				return err
			})
			if code(err) != c.code {
				t.Errorf("create %q with %d bytes: %v, want %q", c.name, len(c.password), err, c.code)
			}
		}
		list, err := store.List(t.Context(), db.Reader)
		if err != nil || len(list) != 2 || list[1].Name != "eve" {
			t.Fatalf("%v, %v", list, err)
		}
		if hash := list[1].Password; !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, password) {
			t.Errorf("stored password is %q, want an argon2id hash", hash)
		}
	})
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Create(ctx, tx, audit.Shell, "eve", password, start)
			return err
		})
		token, _, err := store.SignIn(t.Context(), db, "EVE", password, "192.0.2.1", start)
		if err != nil {
			t.Fatal(err)
		}
		at := start
		alive := func(after time.Duration) bool {
			at = at.Add(after)
			n, a, err := store.FindSession(t.Context(), db.Reader, token, at)
			if err == nil {
				err = store.NoteUse(t.Context(), db, n, at)
			}
			if err != nil && !errors.Is(err, admin.ErrNoSession) {
				t.Fatal(err)
			}
			return err == nil && a.Name == "eve"
		}
		for range 13 { // used every 110 minutes, the session lasts for the whole day
			if !alive(110 * time.Minute) {
				t.Fatalf("the session ended after %s", at.Sub(start))
			}
		}
		if alive(11 * time.Minute) {
			t.Errorf("the session still works after %s", at.Sub(start))
		}
		token, _, err = store.SignIn(t.Context(), db, "eve", password, "192.0.2.1", at)
		if err != nil {
			t.Fatal(err)
		}
		if !alive(0) || alive(2*time.Hour) {
			t.Error("an idle session does not end after exactly two hours")
		}
		for _, wrong := range []string{"", "x", token + "x", strings.Repeat("A", 43)} {
			if _, _, err := store.FindSession(t.Context(), db.Reader, wrong, at); !errors.Is(err, admin.ErrNoSession) {
				t.Errorf("token %q: %v", wrong, err)
			}
		}
	})
}

func TestNewPasswordEndsSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Create(ctx, tx, audit.Shell, "eve", password, start)
			return err
		})
		token, _, err := store.SignIn(t.Context(), db, "eve", password, "192.0.2.1", start)
		if err != nil {
			t.Fatal(err)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.SetPassword(ctx, tx, audit.Shell, "eve", "another password", start)
			return err
		})
		if _, _, err := store.FindSession(t.Context(), db.Reader, token, start); !errors.Is(err, admin.ErrNoSession) {
			t.Errorf("the old session: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), db, "eve", password, "192.0.2.1", start); code(err) != "invalid_sign_in" {
			t.Errorf("the old password: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), db, "eve", "another password", "192.0.2.1", start); err != nil {
			t.Errorf("the new password: %v", err)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.Remove(ctx, tx, audit.Shell, "eve", start) })
		if _, _, err := store.SignIn(t.Context(), db, "eve", "another password", "192.0.2.1", start); code(err) != "invalid_sign_in" {
			t.Errorf("a removed admin: %v", err)
		}
	})
}

// afterAdmin runs once, after a query has read an admin.
type afterAdmin struct {
	ran atomic.Bool
	run func()
}

func (*afterAdmin) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (a *afterAdmin) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, `FROM "admins"`) && a.ran.CompareAndSwap(false, true) {
		a.run()
	}
}

// TestPasswordChangesDuringSignIn checks that a sign-in with the old password gets no session if the password changes, or
// the admin is removed, while it is being checked.
func TestPasswordChangesDuringSignIn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, tx bun.Tx) error{
		"another password": func(ctx context.Context, tx bun.Tx) error {
			_, err := store.SetPassword(ctx, tx, audit.Shell, "eve", "another password", start)
			return err
		},
		"removed": func(ctx context.Context, tx bun.Tx) error { return store.Remove(ctx, tx, audit.Shell, "eve", start) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
					_, err := store.Create(ctx, tx, audit.Shell, "eve", password, start)
					return err
				})
				db.Watch(&afterAdmin{run: func() { inTx(t, db, change) }})
				if token, _, err := store.SignIn(t.Context(), db, "eve", password, "192.0.2.1", start); code(err) != "invalid_sign_in" {
					t.Errorf("token %q, %v", token, err)
				}
			})
		})
	}
}

// TestProviderAdminsHaveNoPassword checks that an admin of the identity provider can't get a
// password, which would stay valid after the provider withdraws the admin's access.
func TestProviderAdminsHaveNoPassword(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		who := identity.Person{Issuer: "https://id.example", Subject: "1", Name: "eve"}
		token, a, err := store.SignInPerson(t.Context(), db, who, "192.0.2.1", start)
		if err != nil || a.Name != "eve" {
			t.Fatalf("%+v, %v", a, err)
		}
		err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := store.SetPassword(ctx, tx, audit.Shell, "eve", password, start)
			return err
		})
		if code(err) != "no_password" {
			t.Errorf("a password for a provider's admin: %v", err)
		}
		for _, secret := range []string{"", password} {
			if _, _, err := store.SignIn(t.Context(), db, "eve", secret, "192.0.2.1", start); code(err) != "invalid_sign_in" {
				t.Errorf("sign-in with %q: %v", secret, err)
			}
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { return store.Remove(ctx, tx, audit.Shell, "eve", start) })
		if _, _, err := store.FindSession(t.Context(), db.Reader, token, start); !errors.Is(err, admin.ErrNoSession) {
			t.Errorf("the session of a removed admin: %v", err)
		}
	})
}

// TestOnePersonOneAdmin checks that one person becomes one admin, even if several browsers sign in
// at once.
func TestOnePersonOneAdmin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var names [8]string
		var all sync.WaitGroup
		for i := range names {
			all.Go(func() {
				who := identity.Person{Issuer: "https://id.example", Subject: strconv.Itoa(i % 2), Name: "eve"}
				_, a, err := store.SignInPerson(t.Context(), db, who, "192.0.2.1", start)
				if err != nil {
					t.Error(err)
					return
				}
				names[i] = a.Name
			})
		}
		all.Wait()
		list, err := store.List(t.Context(), db.Reader)
		if err != nil || len(list) != 2 || list[0].Name != "eve" || list[1].Name != "eve-2" || names[0] != names[2] || names[0] == names[1] {
			t.Errorf("%v, %+v, %v", names, list, err)
		}
	})
}

// TestFlowIsUsedOnce checks that one of several simultaneous returns succeeds.
func TestFlowIsUsedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		secret, err := store.BeginFlow(t.Context(), db, "192.0.2.1", start)
		if err != nil {
			t.Fatal(err)
		}
		var used atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				switch err := store.EndFlow(t.Context(), db, secret, start); {
				case err == nil:
					used.Add(1)
				case !errors.Is(err, admin.ErrNoFlow):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if used.Load() != 1 {
			t.Errorf("used %d times, want 1", used.Load())
		}
	})
}

// TestAttemptsFromOneNetwork checks that an IPv6 client is counted by its /64.
func TestAttemptsFromOneNetwork(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		tries := []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4", "2001:db8::5", "2001:db8::6", "2001:db8::7", "2001:db8::8"}
		for _, from := range tries {
			if _, _, err := store.SignIn(t.Context(), db, "eve", "wrong", from, start); code(err) != "invalid_sign_in" {
				t.Fatalf("from %s: %v", from, err)
			}
		}
		if _, _, err := store.SignIn(t.Context(), db, "eve", "wrong", "2001:db8::9", start); code(err) != "rate_limited" {
			t.Errorf("the ninth attempt: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), db, "eve", "wrong", "2001:db8:0:1::1", start); code(err) != "invalid_sign_in" {
			t.Errorf("from another network: %v", err)
		}
	})
}

// TestOneBlockLocksNoAdminOut checks that the addresses of an IPv6 /48 together have 32 attempts for a name, and that
// the others don't count against the name elsewhere.
func TestOneBlockLocksNoAdminOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Create(ctx, tx, audit.Shell, "ada", password, start)
			return err
		})
		// Reaching the limit takes a second of computing, so put the count just below.
		const below = "INSERT INTO admin_attempts (subject, since, failures) VALUES ('b:ada|2001:db8:1::/48', ?, 31)"
		if _, err := db.ExecContext(t.Context(), below, database.Stored(start)); err != nil {
			t.Fatal(err)
		}
		codes := map[string]int{}
		for i := range 200 {
			_, _, err := store.SignIn(t.Context(), db, "ada", "wrong", fmt.Sprintf("2001:db8:1:%x::1", i), start)
			codes[code(err)]++
		}
		if codes["invalid_sign_in"] != 1 || codes["rate_limited"] != 199 {
			t.Errorf("200 wrong passwords from 200 networks of a block: %v, want 1 to be checked and 199 refused", codes)
		}
		if _, _, err := store.SignIn(t.Context(), db, "eve", "wrong", "2001:db8:1::1", start); code(err) != "invalid_sign_in" {
			t.Errorf("another name, from the block: %v", err)
		}
		for _, from := range []string{"2001:db8:2::1", "192.0.2.1"} {
			if _, _, err := store.SignIn(t.Context(), db, "ada", password, from, start); err != nil {
				t.Errorf("the admin, from %s: %v", from, err)
			}
		}
	})
}

// TestOneBlockTriesFewNames checks that the addresses of an IPv6 /48 together have a bounded number of attempts, for
// whatever names, with a password and at the provider.
func TestOneBlockTriesFewNames(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const below = "INSERT INTO admin_attempts (subject, since, failures) VALUES ('j:2001:db8:1::/48', ?, 239)"
		if _, err := db.ExecContext(t.Context(), below, database.Stored(start)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"invalid_sign_in", "rate_limited", "rate_limited"} {
			if _, _, err := store.SignIn(t.Context(), db, fmt.Sprint("name", i), "wrong", fmt.Sprintf("2001:db8:1:%x::1", i), start); code(err) != want {
				t.Errorf("name %d: %v, want %s", i, err, want)
			}
		}
		if n, err := db.NewSelect().Table("admin_attempts").Count(t.Context()); err != nil || n > 6 {
			t.Errorf("%d rows after 3 attempts, %v: the refused ones were written", n, err)
		}
		if _, err := store.BeginFlow(t.Context(), db, "2001:db8:1:9::1", start); code(err) != "rate_limited" {
			t.Errorf("at the provider: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), db, "name", "wrong", "2001:db8:2::1", start); code(err) != "invalid_sign_in" {
			t.Errorf("from another block: %v", err)
		}
	})
}

// TestSignInsAtOnce checks that a sign-in is refused at once if too many others are being checked. It isn't parallel,
// because it takes the places of the whole process.
func TestSignInsAtOnce(t *testing.T) {
	db := dbtest.Open(t, database.SQLite)
	free := admin.OccupyChecks()
	_, _, err := store.SignIn(t.Context(), db, "ada", "wrong", "192.0.2.1", start)
	free()
	if p := problem.As(err); p == nil || p.Code != problem.CodeUnavailable.Name || p.RetryAfter <= 0 || !p.Shed {
		t.Errorf("while others are being checked: %v, want unavailable", err)
	}
	if _, _, err := store.SignIn(t.Context(), db, "ada", "wrong", "192.0.2.1", start); code(err) != "invalid_sign_in" {
		t.Errorf("afterwards: %v", err)
	}
}

// TestNewPasswordForgetsAttempts checks that an operator who sets a new password lets an admin in whom wrong passwords
// have locked out, and no other.
func TestNewPasswordForgetsAttempts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			for _, name := range []string{"a_a", "aba"} {
				if _, err := store.Create(ctx, tx, audit.Shell, name, password, start); err != nil {
					return err
				}
			}
			return nil
		})
		signIn := func(name, password, from string) string {
			_, _, err := store.SignIn(t.Context(), db, name, password, from, start)
			return code(err)
		}
		for _, name := range []string{"a_a", "aba"} {
			signIn(name, "wrong", "192.0.2.1")
			signIn(name, "wrong", "2001:db8:1::1")
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE admin_attempts SET failures = 200 WHERE subject NOT LIKE 'i:%'"); err != nil {
			t.Fatal(err)
		}
		froms := []string{"192.0.2.1", "2001:db8:1::1", "2001:db8:1:fff::1", "198.51.100.1"}
		for _, from := range froms {
			if got := signIn("a_a", password, from); got != "rate_limited" {
				t.Errorf("from %s, before: %q", from, got)
			}
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.SetPassword(ctx, tx, audit.Shell, "A_A", "another password", start)
			return err
		})
		for _, from := range froms {
			if got := signIn("a_a", "another password", from); got != "" {
				t.Errorf("from %s: %q", from, got)
			}
			if got := signIn("aba", password, from); got != "rate_limited" {
				t.Errorf("another admin from %s: %q", from, got)
			}
		}
	})
}

// TestOneAddressLocksNoAdminOut checks that refused attempts from one address don't count against the
// name of the admin elsewhere, and that attempts from many addresses do.
func TestOneAddressLocksNoAdminOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Create(ctx, tx, audit.Shell, "ada", password, start)
			return err
		})
		codes := map[string]int{}
		for range 300 {
			_, _, err := store.SignIn(t.Context(), db, "ada", "wrong", "192.0.2.1", start)
			codes[code(err)]++
		}
		if codes["invalid_sign_in"] != 8 || codes["rate_limited"] != 292 {
			t.Errorf("300 wrong passwords from one address: %v, want 8 to be checked and 292 refused", codes)
		}
		if _, _, err := store.SignIn(t.Context(), db, "ada", password, "198.51.100.1", start); err != nil {
			t.Errorf("the admin, from another address: %v", err)
		}
		// An attack from many addresses reaches the last limit, so put its count just below.
		const below = "INSERT INTO admin_attempts (subject, since, failures) VALUES ('n:ada', ?, 199)"
		if _, err := db.ExecContext(t.Context(), below, database.Stored(start)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"invalid_sign_in", "rate_limited"} {
			from := "203.0.113." + strconv.Itoa(i)
			if _, _, err := store.SignIn(t.Context(), db, "ada", "wrong", from, start); code(err) != want {
				t.Errorf("attempt %d of 201 from anywhere: %v, want %s", 200+i, err, want)
			}
		}
		if _, _, err := store.SignIn(t.Context(), db, "ada", password, "203.0.113.9", start); code(err) != "rate_limited" {
			t.Errorf("the right password from an address that is new: %v", err)
		}
		if _, _, err := store.SignIn(t.Context(), db, "ada", password, "198.51.100.1", start); err != nil {
			t.Errorf("the admin, from an address of an earlier sign-in: %v", err)
		}
	})
}
