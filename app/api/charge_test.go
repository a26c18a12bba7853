package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

// TestAssignmentsPayOnce checks that assignments cost a caller with a key the same whether they are in memory or
// not, and that a list of the archive's days costs a unit for each of them.
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
		if got := s.do(t, call{path: "/api/data?limit=10", bearer: key}).fine().header.Get("RateLimit"); !strings.HasPrefix(got, `"reads";r=38;`) {
			t.Errorf("a list of 10 days: %s, want 38 left", got)
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

// TestSessionsAreCounted checks that beginning and ending a session count as writes of the agent, that the answers say
// so, and that no session begins beyond the limit.
func TestSessionsAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		begin := call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}
		left := func(a answer, want string) {
			t.Helper()
			if got := a.header.Get("RateLimit"); !strings.HasPrefix(got, `"writes";r=`+want+";") {
				t.Errorf("the writes that are left: %s, want %s", got, want)
			}
		}
		begun := s.do(t, begin).fine()
		left(begun, "19")
		left(s.do(t, call{method: "DELETE", path: "/api/session", bearer: begun.text("session", "token")}).fine(), "18")
		for range 18 {
			s.do(t, begin).fine()
		}
		refused := s.do(t, begin)
		refused.refused(http.StatusTooManyRequests, "rate_limited")
		left(refused, "0")
		sessions, err := s.DB.NewSelect().Table("sessions").Count(t.Context())
		if err != nil || sessions != 18 {
			t.Errorf("%d sessions are stored, %v; want 18", sessions, err)
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 20, Per: time.Hour} })
}
