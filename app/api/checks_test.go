package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/oauth2"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
)

// gate holds the queries that find a key until it opens. It also opens for the second of them.
type gate struct {
	held atomic.Int64
	wait chan struct{}
	open func()
}

func newGate() *gate {
	wait := make(chan struct{})
	return &gate{wait: wait, open: sync.OnceFunc(func() { close(wait) })}
}

// slowKeys passes the queries that find a key through its gate, if it has one.
type slowKeys struct{ gate atomic.Pointer[gate] }

func (s *slowKeys) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if g := s.gate.Load(); g != nil && strings.HasPrefix(e.Query, "SELECT") && strings.Contains(e.Query, "agent_keys") {
		if g.held.Add(1) > 1 {
			g.open()
		}
		<-g.wait
	}
	return ctx
}

func (*slowKeys) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestEveryCheckOfAKeyTakesTurns checks that wherever a key can be sent, an address that has spent its failures gets
// one check at a time, and that its valid keys are then accepted.
func TestEveryCheckOfAKeyTakesTurns(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			slow := new(slowKeys)
			s := run(t, configure(t, b, func(cfg *config.Config) {
				cfg.RateLimitFailures = config.Rate{N: 1, Per: time.Hour}
			}), app.Options{Queries: slow})
			const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
			consent := s.consentForm(t)
			s.do(t, call{path: "/api/stats", bearer: "made-up"}).refused(401, "invalid_credentials")
			for i, door := range []struct {
				name string
				with func(key string) call
				want int
			}{
				{"required", func(key string) call { return call{path: "/api/stats", bearer: key} }, 200},
				{"optional", func(key string) call { return call{path: "/api/assignments", bearer: key} }, 200},
				{"session", func(key string) call {
					return call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}
				}, 200},
				{"MCP", func(key string) call {
					return call{method: "POST", path: "/mcp", bearer: key, body: initialize, header: map[string]string{
						"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
					}}
				}, 200},
				{"consent", func(key string) call {
					form := consent
					form.Set("key", key)
					return call{method: "POST", path: "/oauth/authorize", body: form.Encode(), header: map[string]string{
						"Content-Type": "application/x-www-form-urlencoded", "Origin": s.base,
					}}
				}, 303},
			} {
				calls := make([]call, 2)
				for j := range calls {
					calls[j] = door.with(s.register(t, fmt.Sprintf("Agent %d %d", i, j)))
				}
				g := newGate()
				slow.gate.Store(g)
				type result struct {
					call
					status int
					body   string
				}
				results := make(chan result, len(calls))
				for _, c := range calls {
					go func() {
						res, err := http.DefaultTransport.RoundTrip(s.request(t, c))
						if err != nil {
							t.Error(err)
							results <- result{}
							return
						}
						defer res.Body.Close()
						var body strings.Builder
						_ = res.Write(&body)
						results <- result{c, res.StatusCode, body.String()}
					}()
				}
				first := <-results
				slow.gate.Store(nil)
				g.open()
				if first.status != http.StatusServiceUnavailable || !strings.Contains(first.body, "one at a time") {
					t.Errorf("%s: the second check: %d %.2000s", door.name, first.status, first.body)
				}
				if second := <-results; second.status != door.want {
					t.Errorf("%s: the first check: %d %.2000s", door.name, second.status, second.body)
				}
				res, err := http.DefaultTransport.RoundTrip(s.request(t, first.call))
				if err != nil {
					t.Fatal(err)
				}
				if res.Body.Close(); res.StatusCode != door.want {
					t.Errorf("%s: the refused key, sent again: %d", door.name, res.StatusCode)
				}
			}
		})
	}
}

// consentForm returns the form with which a person allows an app, without the key.
func (s *service) consentForm(t *testing.T) url.Values {
	t.Helper()
	const callback = "http://127.0.0.1:1/callback"
	res, body := s.get(t, call{method: "POST", path: "/oauth/register", body: map[string]any{"client_name": "A program", "redirect_uris": []string{callback}}})
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	return url.Values{
		"do": {"allow"}, "publish": {"on"}, "response_type": {"code"}, "client_id": {made.ID}, "redirect_uri": {callback}, "state": {"a-state"},
		"scope": {"read publish"}, "resource": {s.base + "/mcp"}, "code_challenge_method": {"S256"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
	}
}
