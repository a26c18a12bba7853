package moderation_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func service(db *database.DB) *moderation.Service {
	return moderation.New(moderation.Options{DB: db, Now: func() time.Time { return start }})
}

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

// logOf returns the actions on a target, newest first.
func logOf(t *testing.T, db *database.DB, target string) []string {
	t.Helper()
	list, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Target: target, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range list {
		actions = append(actions, e.Action)
	}
	return actions
}

// TestActsThatChangeNothing checks that such an act reports it and leaves no entry in the audit
// log.
func TestActsThatChangeNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, s := t.Context(), service(db)
		act := moderation.Act{Actor: "eve", Reason: "spam"}
		ada, key, err := s.CreateAgent(ctx, act, agent.Profile{Name: "Ada"}, false)
		if err != nil {
			t.Fatal(err)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			found, _, err := agent.Store{}.FindKey(ctx, tx, key, time.Now())
			if err != nil {
				return err
			}
			_, _, err = agent.Store{}.StartSession(ctx, tx, ada.ID, found.ID, time.Time{}, start)
			return err
		})
		draft := assignment.Draft{Title: "Will it hail?", Instructions: "Say.", Category: "weather", DueAt: start.Add(time.Hour)}
		hail, err := s.WriteAssignment(ctx, act, draft)
		if err != nil {
			t.Fatal(err)
		}
		draft.Title = "Will it hail a lot?"
		agentTarget := audit.AgentTarget("ada")
		for _, c := range []struct {
			name, target string
			do           func() (bool, error)
		}{
			{"end sessions", agentTarget, func() (bool, error) { return s.EndSessions(ctx, act, "ada") }},
			{"disable", agentTarget, func() (bool, error) { return s.Disable(ctx, act, "ada") }},
			{"enable", agentTarget, func() (bool, error) { return s.Enable(ctx, act, "ada") }},
			{"hide texts", agentTarget, func() (bool, error) { return s.SetTexts(ctx, act, "ada", agent.TextsHidden) }},
			{"edit", audit.AssignmentTarget(hail.ID), func() (bool, error) { return s.EditAssignment(ctx, act, hail.ID, draft) }},
		} {
			before := len(logOf(t, db, c.target))
			for i, want := range []bool{true, false} {
				if changed, err := c.do(); changed != want || err != nil {
					t.Errorf("%s, call %d: changed %t, %v", c.name, i+1, changed, err)
				}
			}
			if n := len(logOf(t, db, c.target)) - before; n != 1 {
				t.Errorf("%s twice left %d entries", c.name, n)
			}
		}
	})
}

// TestFormSentTwice checks that two requests with the same form create one agent and one key, also if they run at once.
func TestFormSentTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var seconds atomic.Int64
		now := func() time.Time { return start.Add(time.Duration(seconds.Add(1)) * time.Second) } // the keys are ordered by time
		ctx, s := t.Context(), moderation.New(moderation.Options{DB: db, Now: now})
		twice := func(what string, do func() error) {
			t.Helper()
			errs := make(chan error)
			for range 2 {
				go func() { errs <- do() }()
			}
			if one, other := code(<-errs), code(<-errs); one+other != "changed_meanwhile" {
				t.Errorf("%s twice: %q and %q", what, one, other)
			}
		}
		twice("create", func() error {
			_, _, err := s.CreateAgent(ctx, moderation.Act{Actor: "eve", Seen: new("")}, agent.Profile{Name: "Ada"}, false)
			return err
		})
		ada, err := agent.Store{}.ByHandle(ctx, db.Reader, "ada")
		if err != nil {
			t.Fatal(err)
		}
		if latest, err := s.LatestCreated(ctx); err != nil || latest != "ada" {
			t.Errorf("created last: %q, %v", latest, err)
		}
		keys := func() []*agent.Key {
			t.Helper()
			list, err := agent.Store{}.ListKeys(ctx, db.Reader, ada.ID)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		// At the end the oldest revoked key is deleted, so that the number of keys stays the same.
		for range agent.MaxEndedKeys {
			if _, err := s.RotateKeys(ctx, moderation.Act{Actor: "eve"}, "ada"); err != nil {
				t.Fatal(err)
			}
		}
		seen := moderation.KeysWords(keys())
		twice("replace the keys", func() error {
			_, err := s.RotateKeys(ctx, moderation.Act{Actor: "eve", Seen: &seen}, "ada")
			return err
		})
		if n := len(keys()); n != agent.MaxEndedKeys+1 {
			t.Errorf("%d keys", n)
		}
	})
}

// TestReasons checks that an act which takes something from an agent, or gives it back, needs a
// reason.
func TestReasons(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, s := t.Context(), service(db)
		act := moderation.Act{Actor: "eve"}
		if _, _, err := s.CreateAgent(ctx, act, agent.Profile{Name: "Ada"}, false); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func() error{
			"disable":    func() error { _, err := s.Disable(ctx, act, "ada"); return err },
			"enable":     func() error { _, err := s.Enable(ctx, act, "ada"); return err },
			"hide texts": func() error { _, err := s.SetTexts(ctx, act, "ada", agent.TextsHidden); return err },
			"reserve":    func() error { return s.ReserveHandle(ctx, act, "acme") },
		} {
			if err := do(); code(err) != "invalid_request" {
				t.Errorf("%s without a reason: %v", name, err)
			}
		}
		if log := logOf(t, db, audit.AgentTarget("ada")); len(log) != 1 {
			t.Errorf("the audit log has %v", log)
		}
	})
}

// TestReferenceAgents checks that a computed agent has no status, keys or sessions to change.
func TestReferenceAgents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Fifty"}, Handle: "always-50", Kind: agent.Reference, At: start})
			return err
		})
		ctx, s := t.Context(), service(db)
		act := moderation.Act{Actor: audit.Shell, Reason: "just so"}
		if _, err := s.Disable(ctx, act, "always-50"); code(err) != "not_found" {
			t.Errorf("disable: %v", err)
		}
		if _, err := s.RotateKeys(ctx, act, "always-50"); code(err) != "not_found" {
			t.Errorf("rotate keys: %v", err)
		}
		if log := logOf(t, db, audit.AgentTarget("always-50")); len(log) != 0 {
			t.Errorf("the audit log has %v", log)
		}
	})
}

// TestFailedActsAreNotRecorded checks that a refused act leaves no entry in the audit log.
func TestFailedActsAreNotRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, s := t.Context(), service(db)
		if _, _, err := s.CreateAgent(ctx, moderation.Act{Actor: "eve"}, agent.Profile{Name: "Ada"}, false); err != nil {
			t.Fatal(err)
		}
		act := moderation.Act{Actor: "olaf", Reason: "spam", Seen: new("disabled")}
		if _, err := s.Disable(ctx, act, "ada"); code(err) != "changed_meanwhile" {
			t.Errorf("disable an agent seen as disabled: %v", err)
		}
		if _, err := s.IssueKey(ctx, moderation.Act{Actor: "olaf"}, "ada", "two\nlines"); code(err) != "invalid_request" {
			t.Errorf("a bad label: %v", err)
		}
		if _, err := s.IssueKey(ctx, moderation.Act{Actor: "olaf", Seen: new("0 keys")}, "ada", ""); code(err) != "changed_meanwhile" {
			t.Errorf("a key from a page that showed none: %v", err)
		}
		if _, err := s.RotateKeys(ctx, moderation.Act{Actor: "olaf", Seen: new("0 keys")}, "ada"); code(err) != "changed_meanwhile" {
			t.Errorf("new keys from a page that showed none: %v", err)
		}
		if err := s.RevokeKey(ctx, act, "ada", "unknown"); code(err) != "not_found" {
			t.Errorf("an unknown key: %v", err)
		}
		if log := logOf(t, db, audit.AgentTarget("ada")); len(log) != 1 {
			t.Errorf("the audit log has %v", log)
		}
	})
}
