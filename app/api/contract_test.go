package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/contract"
)

// withoutLimit are the answers with a list and without the parameter limit, with the reason.
var withoutLimit = map[string]string{
	"getMarket":  "the answer is one market with parts of fixed bounds",
	"listPrices": "a page has up to 3,000 readings",
}

// lists returns every operation whose answer has a list of records at its top.
func lists(t *testing.T) (found []contract.Operation) {
	t.Helper()
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all {
		media := op.Responses.Value("200").Value.Content.Get("application/json")
		if op.Method != http.MethodGet || media == nil {
			continue
		}
		for _, property := range media.Schema.Value.Properties {
			if p := property.Value; p.Type.Is("array") && !p.Items.Value.Type.Is("string") {
				found = append(found, op)
				break
			}
		}
	}
	if len(found) < 14 {
		t.Fatalf("only %d lists were found", len(found))
	}
	return found
}

func TestLimitOnEveryList(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.register(t, "Bea")
		id := b.publish(t, key, "rain", nil)
		known := keptReads(id)
		for _, op := range lists(t) {
			limited := slices.Contains(op.QueryParameters(), "limit")
			if without := withoutLimit[op.OperationID] != ""; without == limited {
				t.Errorf("%s: with limit %v, without by design %v", op.OperationID, limited, without)
			}
			if !limited {
				continue
			}
			path := known[op.OperationID]
			if path == "" {
				path = strings.ReplaceAll(op.Path, "{id}", id)
			}
			for _, bad := range []string{"limit=0", "limit=101", "limit=-1", "limit=abc", "limit=1.5", "limit=", "limit", "limit=5&limit=6", "limit=+5", "limit=99999999999999999999"} {
				a := b.do(t, call{path: path + "?" + bad, bearer: key})
				if detail := a.refused(http.StatusBadRequest, "invalid_parameter"); !strings.Contains(detail, "1") || !strings.Contains(detail, "100") || !strings.Contains(detail, "limit") {
					t.Errorf("%s?%s: %q names no bound", path, bad, detail)
				}
			}
			for _, good := range []string{"", "?limit=1", "?limit=24", "?limit=100", "?limit=024"} {
				b.do(t, call{path: path + good, bearer: key}).fine()
			}
		}
	})
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for _, path := range []string{
			"/api/predictions?cursor=x", "/api/predictions?cursor=!!", "/api/predictions?status=won", "/api/predictions?sort=title",
			"/api/predictions?q=" + strings.Repeat("x", 201), "/api/predictions?q=%00", "/api/predictions?agent=%00",
			"/api/predictions?market=a%00b", "/api/predictions?category=%ff",
			"/api/leaderboard?window=7d", "/api/leaderboard?cursor=zzz", "/api/leaderboard?category=%00",
			"/api/intelligence/markets?closesBefore=tomorrow", "/api/intelligence/news?community=cats",
			"/api/intelligence/markets?q=" + strings.Repeat("x", 201),
		} {
			s.do(t, call{path: path}).refused(http.StatusBadRequest, "invalid_parameter")
		}
		s.do(t, call{method: "POST", path: "/api/predictions?dryRun=maybe", bearer: s.register(t, "Ada"), body: forecast(nil)}).refused(400, "invalid_parameter")
	})
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for path, allow := range map[string]string{
			"/api/health": "GET", "/api/stats": "GET", "/api/predictions": "POST", "/api/session": "POST",
			"/api/leaderboard": "GET", "/api/intelligence/markets": "GET", "/api/agents/me": "PATCH",
		} {
			a := s.do(t, call{method: "PUT", path: path, body: "{}"})
			a.refused(http.StatusMethodNotAllowed, "method_not_allowed")
			if !strings.Contains(a.header.Get("Allow"), allow) {
				t.Errorf("%s allows %q", path, a.header.Get("Allow"))
			}
		}
		for _, c := range []struct{ path, allow, instead string }{
			{"/api/predictions/batch", "POST, OPTIONS", "GET /api/predictions lists predictions."},
			{"/api/agents/me", "PATCH, DELETE, OPTIONS", "GET /api/stats"},
		} {
			a := s.do(t, call{path: c.path})
			detail := a.refused(http.StatusMethodNotAllowed, "method_not_allowed")
			if a.header.Get("Allow") != c.allow || !strings.Contains(detail, c.instead) {
				t.Errorf("GET %s: Allow %q, want %q: %s", c.path, a.header.Get("Allow"), c.allow, detail)
			}
		}
		for _, path := range []string{"/api", "/api/", "/api/nothing", "/api/predictions/1/2", "/api/Health", "/api/intelligence", "/api/agents/nobody-here", "/api/predictions?agent=nobody-here", "/api/intelligence/markets/no-such"} {
			s.do(t, call{path: path}).refused(http.StatusNotFound, "not_found")
		}
		if a := s.do(t, call{method: "HEAD", path: "/api/health"}); a.status != 200 || len(a.raw) != 0 {
			t.Errorf("HEAD: %d with %d bytes", a.status, len(a.raw))
		}
	})
}

func TestUserAgentFilter(t *testing.T) {
	t.Parallel()
	refused := []string{"", "python-requests/2.32", "curl/8.5.0", "Go-http-client/1.1", "axios/1.7", "node", "okhttp/4.12", "Wget/1.21"}
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, path := range []string{"/api/intelligence/markets", "/api/intelligence/news", "/api/intelligence/events"} {
			for _, ua := range refused {
				h := map[string]string{"User-Agent": ua}
				if ua == "" {
					h = map[string]string{"User-Agent": " "}
				}
				if detail := s.do(t, call{path: path, header: h}).refused(http.StatusForbidden, "user_agent_rejected"); !strings.Contains(detail, "User-Agent") {
					t.Errorf("%q: %s", ua, detail)
				}
				s.do(t, call{path: path, header: h, bearer: key}).fine()
			}
			s.do(t, call{path: path, header: map[string]string{"User-Agent": "my-bot/1.0 (python-requests/2.32)"}}).fine()
		}
		for _, path := range []string{"/api/intelligence/events/none", "/api/intelligence/markets/none", "/api/intelligence/markets/none/prices"} {
			h := map[string]string{"User-Agent": "curl/8.5.0"}
			s.do(t, call{path: path, header: h}).refused(http.StatusForbidden, "user_agent_rejected")
			s.do(t, call{path: path, header: h, bearer: key}).refused(http.StatusNotFound, "not_found")
		}
		s.do(t, call{path: "/api/predictions", header: map[string]string{"User-Agent": "curl/8.5.0"}}).fine()
	})
	each(t, func(t *testing.T, s *service) {
		s.do(t, call{path: "/api/intelligence/markets", header: map[string]string{"User-Agent": "curl/8.5.0"}}).fine()
	}, func(c *config.Config) { c.EdgeFilter = "off" })
}

func TestBeforeTheFirstSnapshot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for feed, path := range map[string]string{"markets": "/api/intelligence/markets", "news": "/api/intelligence/news"} {
			a := s.do(t, call{path: path}).fine()
			if a.count(feed) != 0 || a.at("asOf") != nil || a.at("stale") != true {
				t.Errorf("%s: %s", path, a.raw)
			}
		}
		h := s.do(t, call{path: "/api/health"}).fine()
		if h.text("status") != "degraded" || h.text("version") != "0.1.0" || h.at("signals", "markets", "asOf") != nil || h.at("database", "ok") != true || h.at("cache", "ok") != true {
			t.Errorf("health %s", h.raw)
		}
	})
}

func TestTexts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for _, path := range []string{"/api/skill", "/api/quickstart", "/skill.md"} {
			a := s.do(t, call{path: path})
			text := string(a.raw)
			if a.status != 200 || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(text, s.Config().BaseURL+"/api/predictions") || strings.Contains(text, "{{") {
				t.Errorf("%s: %d %s %.200s", path, a.status, a.header.Get("Content-Type"), text)
			}
		}
		skill := string(s.do(t, call{path: "/api/skill"}).raw)
		for _, part := range []string{"---\nname: pulsecast\ndescription: ", "data", "Idempotency-Key", "POST " + s.Config().BaseURL + "/api/agents"} {
			if !strings.Contains(skill, part) {
				t.Errorf("the skill lacks %q", part)
			}
		}
		doc := s.do(t, call{path: "/api/openapi.json"})
		if doc.text("openapi") != "3.1.0" || doc.text("info", "version") != "0.1.0" {
			t.Errorf("openapi.json: %.300s", doc.raw)
		}
	})
}
