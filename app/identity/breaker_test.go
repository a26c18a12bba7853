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
)

// TestMadeUpKeysDontCutOffAgents checks that agents whose keys were accepted before are served after their verdicts
// have expired, although made-up keys make the provider fail in every way that opens its breaker. If the provider
// only can't read the made-up keys, a new agent's key is accepted too.
func TestMadeUpKeysDontCutOffAgents(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"too many requests": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"malformed token":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
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
				grace := `{"active":true,"scope":"f","sub":"s1","username":"grace"}`
				ada := `{"active":true,"scope":"f","sub":"s2","username":"ada"}`
				key, newKey := provider.key(grace), provider.key(ada)
				n.want(t, key, "grace")
				began := time.Now()
				var failed atomic.Int64
				provider.fail(func(w http.ResponseWriter, r *http.Request) {
					switch r.PostFormValue("token") {
					case key:
						io.WriteString(w, grace)
					case newKey:
						io.WriteString(w, ada)
					default:
						failed.Add(1)
						answer(w, r)
					}
				})
				for i := range 10 {
					n.want(t, made(stranger, i), noAnswer)
				}
				if name == "malformed token" && kind == "opaque" {
					n.want(t, newKey, "ada")
				} else if most := 3 + int64(time.Since(began)/(2*time.Second)); failed.Load() > most {
					// An open breaker tries the provider every two seconds.
					t.Errorf("%d made-up keys were shown to a failing provider", failed.Load())
				}
				n.clock.advance(time.Minute)
				n.want(t, key, "grace")
			})
		}
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
	if most := 3 + int64(time.Since(began)/(2*time.Second)); failed.Load() > most {
		t.Errorf("a failing provider was asked %d times about a known key", failed.Load())
	}
}
