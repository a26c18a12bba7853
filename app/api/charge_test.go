package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

// TestAssignmentsPayOnce checks that assignments cost a caller with a key the same whether they are in memory or
// not.
func TestAssignmentsPayOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for i, left := range []string{"56", "52"} { // the second is tailored from the copy in memory
			a := s.do(t, call{path: "/api/assignments?limit=5", bearer: key}).fine()
			if got := a.header.Get("RateLimit"); !strings.HasPrefix(got, `"reads";r=`+left+";") {
				t.Errorf("read %d: %s, want %s left", i, got, left)
			}
		}
	}, func(c *config.Config) { c.RateLimitReads = config.Rate{N: 60, Per: time.Hour} })
}

// TestFailedBatchCountsAsOne checks that a batch that can't be stored counts as one publication.
func TestFailedBatchCountsAsOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		rename := func(from, to string) {
			t.Helper()
			if _, err := s.DB.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("results", "gone")
		failed := s.batch(t, key, batchOf(12, nil))
		rename("gone", "results")
		if got := failed.header.Get("RateLimit"); !strings.Contains(string(failed.raw), `"status":50`) || !strings.HasPrefix(got, `"writes";r=19;`) {
			t.Errorf("%d, %s: %s", failed.status, got, failed.raw)
		}
		s.batch(t, key, batchOf(18, nil)).fine()
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 20, Per: time.Hour} })
}

// TestFailedRegistrationIsFree checks that a registration that can't be stored isn't counted against the address and
// the service.
func TestFailedRegistrationIsFree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for _, names := range [][2]string{{"agent_keys", "gone"}, {"gone", "agent_keys"}} {
			if _, err := s.DB.ExecContext(t.Context(), "ALTER TABLE "+names[0]+" RENAME TO "+names[1]); err != nil {
				t.Fatal(err)
			}
			if names[1] == "gone" {
				if a := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Ada"}}); a.status < 500 {
					t.Errorf("%d %s", a.status, a.raw)
				}
			}
		}
		s.register(t, "Ada")
	}, func(c *config.Config) {
		c.RegistrationRate, c.RegistrationCeiling = config.Rate{N: 1, Per: time.Hour}, config.Rate{N: 1, Per: time.Hour}
	})
}

// TestEndingASessionIsCounted checks that it counts as a write, and that the answer says so.
func TestEndingASessionIsCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		token := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}).fine().text("session", "token")
		ended := s.do(t, call{method: "DELETE", path: "/api/session", bearer: token}).fine()
		if got := ended.header.Get("RateLimit"); !strings.HasPrefix(got, `"writes";r=19;`) {
			t.Errorf("the writes that are left: %s", got)
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 20, Per: time.Hour} })
}
