package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestDisabledAgentIsToldWhy checks that the refusal of an ended session leads to the reason.
func TestDisabledAgentIsToldWhy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		begin := call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}
		token := s.do(t, begin).fine().text("session", "token")
		s.disable(t, "ada")
		detail := s.do(t, call{path: "/api/stats", bearer: token}).refused(401, "invalid_credentials")
		if !strings.Contains(detail, "disables the agent") || !strings.Contains(detail, "POST /api/session") {
			t.Errorf("the session: %s", detail)
		}
		s.do(t, begin).refused(403, "agent_disabled")
	})
}

// disable disables an agent, and makes the node notice it at once.
func (s *service) disable(t *testing.T, handle string) {
	t.Helper()
	var id uuid.UUID
	if err := s.DB.NewRaw("SELECT id FROM agents WHERE handle = ?", handle).Scan(t.Context(), &id); err != nil {
		t.Fatal(err)
	}
	err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		_, err := agent.Store{}.SetStatus(ctx, tx, id, agent.Disabled, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recheck(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDisabledAgentInAnOutage checks that a node that knows that an agent is disabled doesn't serve earlier
// lists and pages as last good copies in an outage.
func TestDisabledAgentInAnOutage(t *testing.T) {
	t.Parallel()
	b, server := startOutageBench(t)
	key := b.register(t, "Ada")
	b.publish(t, key, "rain", nil)
	paths := []string{"/api/predictions", "/api/leaderboard", "/api/agents", "/predictions", "/leaderboard"}
	listed := 0
	for _, path := range paths {
		res, body := b.get(t, call{path: path})
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		if strings.Contains(body, "Ada") {
			listed++
		}
	}
	if listed == 0 {
		t.Fatal("nothing lists the agent")
	}
	b.disable(t, "ada")
	server.Stop(dbtest.Kill)
	b.until(t, "the outage is known", func() bool { return b.DB.Breaker.Err() != nil })
	for _, path := range paths {
		if res, body := b.get(t, call{path: path}); res.StatusCode != 503 || strings.Contains(body, "Ada") {
			t.Errorf("%s: %d %.300s", path, res.StatusCode, body)
		}
	}
	server.Start()
	b.until(t, "the database is back", func() bool { return b.DB.Breaker.Err() == nil })
}
