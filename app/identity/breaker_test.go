package identity_test

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestMadeUpKeysDontCutOffAgents checks that agents whose keys were accepted before are served after their verdicts
// have expired, although made-up keys make the provider fail in every way that opens its breaker.
func TestMadeUpKeysDontCutOffAgents(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"too many requests": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"server error":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no answer in time": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
	} {
		for kind, made := range map[string]func(stranger *scripted, i int) string{
			"opaque": func(_ *scripted, i int) string { return fmt.Sprint("made-up-", i) },
			"JWT":    func(stranger *scripted, i int) string { return stranger.jwt(fields{"jti": i}) },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				provider, stranger := newScripted(t), newScripted(t)
				n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
				key := provider.key(`{"active":true,"scope":"f","sub":"s1","username":"grace"}`)
				n.want(t, key, "grace")
				began := time.Now()
				var failed atomic.Int64
				provider.fail(func(w http.ResponseWriter, r *http.Request) {
					if r.PostFormValue("token") == key {
						io.WriteString(w, `{"active":true,"scope":"f","sub":"s1","username":"grace"}`)
						return
					}
					failed.Add(1)
					answer(w, r)
				})
				for i := range 10 {
					n.want(t, made(stranger, i), noAnswer)
				}
				// An open breaker tries the provider every two seconds.
				if most := 3 + int64(time.Since(began)/(2*time.Second)); failed.Load() > most {
					t.Errorf("%d made-up keys were shown to a failing provider", failed.Load())
				}
				n.clock.advance(time.Minute)
				n.want(t, key, "grace")
			})
		}
	}
}

// TestUnreadableKeys checks that a provider that answers 400 to made-up keys still gets the key of a new agent. Health
// reports such a provider as failing from the third key on, until it judges a key.
func TestUnreadableKeys(t *testing.T) {
	t.Parallel()
	for judged, answer := range map[string]string{
		"accepted":     `{"active":true,"scope":"f","sub":"s1","username":"grace"}`,
		"not active":   `{"active":false}`,
		"accepted JWT": "",
	} {
		t.Run(judged, func(t *testing.T) {
			t.Parallel()
			provider := newScripted(t)
			n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
			grace, want := "grace", map[string]string{"accepted": "grace", "not active": invalid, "accepted JWT": "grace"}[judged]
			if answer == "" {
				grace = provider.jwt(fields{"iss": provider.URL, "sub": "s1", "username": "grace", "scope": "f", "aud": "pulsecast", "exp": n.clock.now().Add(time.Hour).Unix()})
				n.want(t, provider.jwt(fields{"iss": "https://elsewhere.example"}), invalid) // reads the provider's keys
			}
			provider.fail(func(w http.ResponseWriter, r *http.Request) {
				if r.PostFormValue("token") != grace {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				io.WriteString(w, answer)
			})
			health := func(want string) {
				t.Helper()
				if s := n.Status(); s.OK != (want == "") || s.LastError != want {
					t.Errorf("health says %+v, want %q", s, want)
				}
			}
			for range 5 {
				n.want(t, "made-up-0", noAnswer)
				n.want(t, "made-up-1", noAnswer)
			}
			health("")
			for i := range 8 {
				n.want(t, fmt.Sprint("made-up-", 2+i), noAnswer)
				health("http_400")
			}
			n.want(t, grace, want)
			health("")
			for i := range 10 {
				n.want(t, fmt.Sprint("later-", i), noAnswer)
			}
			health("")
			if _, err := n.Authenticate(t.Context(), "made-up-0", nil); !problem.As(err).Shed {
				t.Errorf("%+v, want a refusal that raises no alert", err)
			}
		})
	}
}

// TestBadRequestsOpenTheBreakerForKnownKeys checks that a provider that refuses every request, for example because of
// our credentials, isn't asked again for each request of an agent whose key it accepted before.
func TestBadRequestsOpenTheBreakerForKnownKeys(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	key := provider.key(`{"active":true,"scope":"f","sub":"s1","username":"grace"}`)
	n.want(t, key, "grace")
	var failed atomic.Int64
	provider.fail(func(w http.ResponseWriter, _ *http.Request) {
		failed.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	})
	n.clock.advance(2 * time.Minute)
	began := time.Now()
	for range 20 {
		n.want(t, key, noAnswer)
	}
	if _, err := n.Authenticate(t.Context(), key, nil); problem.As(err).Shed {
		t.Errorf("%+v, want a refusal that counts as an error", err)
	}
	if most := 3 + int64(time.Since(began)/(2*time.Second)); failed.Load() > most {
		t.Errorf("a failing provider was asked %d times about a known key", failed.Load())
	}
}
