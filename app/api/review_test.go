package api_test

import (
	"strings"
	"testing"
)

// TestReviewBeforeAnything checks that a new agent's review has every key, and says that it has no data
// yet.
func TestReviewBeforeAnything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		own := s.do(t, call{path: "/api/agents/me/review", bearer: key}).fine()
		public := s.do(t, call{path: "/api/agents/ada/review"}).fine()
		if string(own.raw) != string(public.raw) || own.text("review", "agent", "handle") != "ada" {
			t.Errorf("%s\n%s", own.raw, public.raw)
		}
		if own.at("review", "overall", "mean") != nil || own.count("review", "moves") != 3 || own.count("review", "conclusions") != 0 ||
			own.text("review", "thresholds", "events") != "20" || own.count("review", "worst") != 0 {
			t.Errorf("%s", own.raw)
		}
		if cached := own.header.Get("Cache-Control"); !strings.Contains(cached, "private") {
			t.Errorf("Cache-Control %q", cached)
		}
		again := s.do(t, call{path: "/api/agents/me/review", bearer: key, header: map[string]string{"If-None-Match": own.header.Get("ETag")}})
		if again.status != 304 {
			t.Errorf("asked again: %d", again.status)
		}
		s.do(t, call{path: "/api/agents/me/review"}).refused(401, "missing_credentials")
		s.do(t, call{path: "/api/agents/nobody/review"}).refused(404, "not_found")
		s.do(t, call{path: "/api/agents/ada/review?window=30d"}).refused(400, "invalid_parameter")
	})
}
