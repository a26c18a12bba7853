package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAgentReplacesItsKey checks that the new key works, that the old key works during its grace, and that
// sessions begun with the old key end with it.
func TestAgentReplacesItsKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		replace := func(key string, body any) call {
			return call{method: "POST", path: "/api/agents/me/keys", bearer: key, body: body}
		}
		works := func(bearer string) bool {
			return s.do(t, call{path: "/api/stats", bearer: bearer}).status == http.StatusOK
		}
		first := s.register(t, "Ada")
		session := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": first}}).fine().text("session", "token")

		asked := time.Now().Truncate(time.Second)
		a := s.do(t, replace(first, map[string]any{"graceSeconds": 60, "label": "laptop"})).fine()
		second := a.text("apiKey")
		ends, err := time.Parse(time.RFC3339, a.text("replaced", "expiresAt"))
		if err != nil || time.Until(ends) > time.Minute || ends.Before(asked.Add(time.Minute)) || a.text("key", "label") != "laptop" {
			t.Errorf("replaced: %v, %s", err, a.raw)
		}
		if !works(first) || !works(second) || !works(session) {
			t.Error("a key or session ended before its grace")
		}
		// The expiring key can't be used to get a longer grace.
		a = s.do(t, replace(first, map[string]any{"graceSeconds": 86400})).fine()
		third := a.text("apiKey")
		if again, err := time.Parse(time.RFC3339, a.text("replaced", "expiresAt")); err != nil || !again.Equal(ends) {
			t.Errorf("the old key now ends %s, before %s, %v", again, ends, err)
		}

		fourth := s.do(t, replace(second, map[string]any{"graceSeconds": 0})).fine().text("apiKey")
		if works(second) || !works(fourth) || !works(third) {
			t.Error("without grace the old key must end at once, and other keys must stay")
		}
		if list := s.do(t, call{path: "/api/agents/me/keys", bearer: fourth}).fine(); list.count("keys") != 4 || strings.Contains(string(list.raw), fourth) {
			t.Errorf("keys: %s", list.raw)
		}

		id := s.do(t, call{path: "/api/agents/me/keys", bearer: fourth}).text("keys", 3, "id")
		for range 2 {
			s.do(t, call{method: "DELETE", path: "/api/agents/me/keys/" + id, bearer: fourth}).fine()
		}
		if works(first) || works(session) {
			t.Error("a revoked key or its session works")
		}
		other := s.register(t, "Bob")
		s.do(t, call{method: "DELETE", path: "/api/agents/me/keys/" + id, bearer: other}).refused(http.StatusNotFound, "not_found")

		for _, odd := range []string{"%00", "a%00b", "%FF", "%27"} {
			s.do(t, call{method: "DELETE", path: "/api/agents/me/keys/" + odd, bearer: other}).refused(http.StatusNotFound, "not_found")
		}

		token := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": fourth}}).fine().text("session", "token")
		s.do(t, replace(token, map[string]any{})).refused(http.StatusUnprocessableEntity, "invalid_request")
		for _, grace := range []any{-1, 86401, 0.5, "60"} {
			s.do(t, replace(fourth, map[string]any{"graceSeconds": grace})).refused(http.StatusUnprocessableEntity, "invalid_request")
		}
	})
}

func TestAgentHasBoundedKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		add := call{method: "POST", path: "/api/agents/me/keys", bearer: key, body: map[string]any{}}
		for range 9 {
			s.do(t, add).fine()
		}
		s.do(t, add).refused(http.StatusConflict, "too_many_keys")
		add.body = map[string]any{"graceSeconds": 0}
		s.do(t, add).fine()
	})
}

// TestKeysHavePages checks that the pages of a list of keys hold each key once, newest first.
func TestKeysHavePages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for range 4 {
			key = s.do(t, call{method: "POST", path: "/api/agents/me/keys", bearer: key, body: map[string]any{"graceSeconds": 0}}).fine().text("apiKey")
		}
		all := s.do(t, call{path: "/api/agents/me/keys", bearer: key}).fine()
		if all.count("keys") != 5 || all.at("nextCursor") != nil || all.at("keys", 0, "revokedAt") != nil || all.at("keys", 1, "revokedAt") == nil {
			t.Fatalf("keys: %s", all.raw)
		}
		seen, next := 0, ""
		for _, size := range []int{2, 2, 1} {
			page := s.do(t, call{path: "/api/agents/me/keys?limit=2" + next, bearer: key}).fine()
			if page.count("keys") != size || (page.at("nextCursor") == nil) != (size == 1) {
				t.Fatalf("after %d keys: %s", seen, page.raw)
			}
			for i := range size {
				if got, want := page.text("keys", i, "id"), all.text("keys", seen, "id"); got != want {
					t.Errorf("key %d is %s, want %s", seen, got, want)
				}
				seen++
			}
			next = "&cursor=" + page.text("nextCursor")
		}
		s.do(t, call{path: "/api/agents/me/keys?cursor=x", bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
	})
}
