package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestUnknownParametersAreRefused checks that an unknown parameter is refused with 400 and a suggestion. A
// misspelled dryRun must not publish.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for path, says := range map[string]string{
			"/api/predictions?ids=1":                    "it has limit, cursor",
			"/api/predictions?since=2026-01-01":         "it has limit, cursor",
			"/api/predictions?Limit=3":                  "did you mean limit?",
			"/api/predictions?sorted=edge":              `"sorted" is not a parameter`,
			"/api/leaderboard?windows=30d":              "did you mean window?",
			"/api/intelligence/markets?limt=3":          "did you mean limit?",
			"/api/intelligence/markets?closes_before=x": "did you mean closesBefore?",
			"/api/intelligence/news?comunity=science":   "did you mean community?",
			"/api/assignments?status=open":              "it has limit",
			"/api/agents/ada?full=1":                    "which has none",
			"/api/health?verbose=1":                     "which has none",
			"/api/skill?x":                              "which has none",
		} {
			a := s.do(t, call{path: path, bearer: key})
			a.refused(http.StatusBadRequest, "invalid_parameter")
			if !strings.Contains(a.text("detail"), says) {
				t.Errorf("%s: %s", path, a.text("detail"))
			}
			_, query, _ := strings.Cut(path, "?")
			if name, _, _ := strings.Cut(query, "="); a.text("errors", 0, "field") != name {
				t.Errorf("%s: %s", path, a.raw)
			}
		}
		for _, path := range []string{"/api/leaderboard?_=17", "/api/health?utm_source=x&_cb=1", "/skill.md?x=1"} {
			if a := s.do(t, call{path: path}); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.status, a.raw)
			}
		}
		for _, query := range []string{"dry_run=true", "dryrun=true", "DryRun=true", "dry-run=true", "dryRn=true"} {
			a := s.do(t, call{method: "POST", path: "/api/predictions?" + query, bearer: key, body: forecast(nil)})
			a.refused(http.StatusBadRequest, "invalid_parameter")
			if !strings.Contains(a.text("detail"), "did you mean dryRun?") {
				t.Errorf("%s: %s", query, a.text("detail"))
			}
		}
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 0 {
			t.Errorf("%d predictions were published", n)
		}
	})
}

// TestEmptyFiltersAreRefused checks that a filter from a variable that isn't set doesn't give everything. An empty cursor
// or search is the first page of all.
func TestEmptyFiltersAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for path, parameters := range map[string][]string{
			"/api/predictions":                        {"agent", "market", "event", "category", "status", "sort"},
			"/api/leaderboard":                        {"window", "category", "model"},
			"/api/models":                             {"window"},
			"/api/events":                             {"types", "market", "agent", "category"},
			"/api/intelligence/events":                {"category", "tag", "sort"},
			"/api/intelligence/markets/sample/prices": {"from", "to", "every"},
		} {
			for _, name := range parameters {
				detail := s.do(t, call{path: path + "?" + name + "="}).refused(http.StatusBadRequest, "invalid_parameter")
				if !strings.HasPrefix(detail, name+" ") {
					t.Errorf("%s?%s=: %s", path, name, detail)
				}
			}
		}
		for _, query := range []string{"cursor=", "q=", "limit=24"} {
			s.do(t, call{path: "/api/predictions?" + query}).fine()
		}
		for _, path := range []string{"/api/predictions?", "/api/intelligence/events?", "/api/intelligence/markets?sort=newest&"} {
			s.do(t, call{path: path + "q=%3F%3F"}).refused(http.StatusBadRequest, "invalid_parameter")
		}
	})
}

// TestMisspelledFieldsAreRefused checks that a field that nearly matches a known one is refused with 422
// and nothing is stored, because a publish can't be taken back.
func TestMisspelledFieldsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for name, field := range map[string]string{
			"dry_run": "dryRun", "dryrun": "dryRun", "DRYRUN": "dryRun", "market_id": "marketId", "marketID": "marketId",
			"horizonat": "horizonAt", "horizon_at": "horizonAt", "horizonsAt": "horizonAt", "Confidence": "confidence",
			"outcmoe": "outcome", "dryRun\u200b": "dryRun", "ｄryRun": "dryRun", "modle2": "", "titel": "title", "titl": "title",
			"evidenc": "evidence", "mood": "", "tags": "", "id": "", "revael": "reveal", "dyrRun": "dryRun", "outcomeIndex": "outcome",
			"revealAt": "reveal", "reveal_mode": "reveal", "Market": "marketId", "marketSlug": "marketId",
			"modelVersion": "", "thesisSummary": "", "horizonDays": "", "dry": "", // the body has horizonAt and dryRun
		} {
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{name: true, "dryRun": true})})
			if field == "" {
				if a.fine(); !strings.Contains(a.text("warnings", 0), name) {
					t.Errorf("%s: %s", name, a.raw)
				}
				continue
			}
			a.refused(http.StatusUnprocessableEntity, "invalid_prediction")
			if a.text("errors", 0, "field") != name || !strings.Contains(a.text("errors", 0, "message"), "did you mean "+field+"?") {
				t.Errorf("%s: %s", name, a.raw)
			}
		}
		a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{
			"evidence": []any{map[string]any{"title": "A", "url": "https://example.org/", "Url": "x"}},
		})})
		a.refused(http.StatusUnprocessableEntity, "invalid_prediction")
		if a.text("errors", 0, "field") != "evidence[0].Url" {
			t.Errorf("evidence: %s", a.raw)
		}
		for _, name := range []string{"dry", "dry-run-only", "DryRunning"} {
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{name: true})})
			if a.refused(http.StatusUnprocessableEntity, "invalid_prediction"); a.text("errors", 0, "field") != name {
				t.Errorf("%s: %s", name, a.raw)
			}
		}
		for _, name := range []string{"idempotencyKey", "idempotency_key", "Idempotency-Key", "IDEMPOTENCYKEY", "idempotencykeys", "idempotency", "idempotentKey"} {
			publish, item := forecast(map[string]any{name: "k"}), forecast(map[string]any{name: "k"})
			for path, body := range map[string]map[string]any{
				"/api/predictions": publish, "/api/predictions/batch": {"predictions": []any{forecast(nil)}, name: "k"},
				"/api/predictions/batch?": {"predictions": []any{item}},
			} {
				a := s.do(t, call{method: "POST", path: path, bearer: key, body: body})
				if !strings.Contains(string(a.raw), `"is not a field; send it as the header Idempotency-Key"`) {
					t.Errorf("%s: %s: %s", path, name, a.raw)
				}
			}
		}
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 0 {
			t.Errorf("%d predictions were published", n)
		}
	})
}

// TestUnknownFieldsOfAgentsAreRefused checks that nothing is changed if a field isn't known. A key that leaked would
// otherwise stay valid for an hour after "grace": 0. A registration ignores such a field and names it.
func TestUnknownFieldsOfAgentsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, c := range []struct{ method, path, sent, has string }{
			{"PATCH", "/api/agents/me", "mood", "this operation has name, model, framework, description and homepage"},
			{"POST", "/api/agents/me/keys", "grace", "this operation has label and graceSeconds"},
		} {
			a := s.do(t, call{method: c.method, path: c.path, bearer: key, body: map[string]any{c.sent: 0}})
			a.refused(http.StatusUnprocessableEntity, "invalid_request")
			if a.text("errors", 0, "field") != c.sent || a.text("errors", 0, "message") != "is not a field; "+c.has {
				t.Errorf("%s %s: %s", c.method, c.path, a.raw)
			}
		}
		many := map[string]any{}
		for i := range 25 {
			many[fmt.Sprintf("a%d", i)] = 0
		}
		a := s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: many})
		if a.refused(http.StatusUnprocessableEntity, "invalid_request"); a.count("errors") != 20 || !strings.HasSuffix(a.text("errors", 19, "message"), "homepage. 5 more fields are unknown.") {
			t.Errorf("%s", a.raw)
		}
		if n := s.do(t, call{path: "/api/agents/me/keys", bearer: key}).fine().count("keys"); n != 1 {
			t.Errorf("the agent has %d keys; want the first one alone", n)
		}
		made := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Bea", "mood": "x"}}).fine()
		if !strings.Contains(made.text("warnings", 0), `"mood"`) || made.count("warnings") != 1 {
			t.Errorf("%s", made.raw)
		}
	})
}

// TestMisspelledFieldsOfAgentsAreRefused checks that nothing is changed if a field nearly matches a known one. A key
// that leaked would otherwise stay valid for an hour after "grace_seconds": 0.
func TestMisspelledFieldsOfAgentsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, c := range []struct{ method, path, bearer, sent, meant string }{
			{"POST", "/api/agents", "", "Name", "name"},
			{"PATCH", "/api/agents/me", key, "home_page", "homepage"},
			{"POST", "/api/agents/me/keys", key, "grace_seconds", "graceSeconds"},
		} {
			a := s.do(t, call{method: c.method, path: c.path, bearer: c.bearer, body: map[string]any{c.sent: 0}})
			a.refused(http.StatusUnprocessableEntity, "invalid_request")
			if !strings.Contains(string(a.raw), "did you mean "+c.meant+"?") {
				t.Errorf("%s %s: %s", c.method, c.path, a.raw)
			}
		}
		if n := s.do(t, call{path: "/api/agents/me/keys", bearer: key}).fine().count("keys"); n != 1 {
			t.Errorf("the agent has %d keys; want the first one alone", n)
		}
		s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: map[string]any{"handle": "ada"}}).fine()
		a := s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: map[string]any{"handle": "bea"}})
		if a.refused(http.StatusUnprocessableEntity, "invalid_request"); a.text("errors", 0, "field") != "handle" {
			t.Errorf("another handle: %s", a.raw)
		}
	})
}

func TestDryRunInTheBody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, c := range []struct {
			query string
			field any
		}{{"", true}, {"?dryRun=true", true}, {"?dryRun=false", true}, {"?dryRun=true", false}} {
			a := s.do(t, call{method: "POST", path: "/api/predictions" + c.query, bearer: key, body: forecast(map[string]any{"dryRun": c.field})}).fine()
			if !strings.Contains(string(a.raw), "Dry run: nothing was stored") {
				t.Errorf("%s, %v: %s", c.query, c.field, a.raw)
			}
		}
		for _, value := range []string{`"true"`, `null`, `1`, `{}`} {
			body := `{"title":"A?","thesis":"b","confidence":0.5,"horizonAt":"2031-01-01T00:00:00Z","dryRun":` + value + `}`
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: body})
			if a.refused(http.StatusUnprocessableEntity, "invalid_prediction"); a.text("errors", 0, "field") != "dryRun" {
				t.Errorf("%s: %s", value, a.raw)
			}
		}
		s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"dryRun": false})}).fine()
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 1 {
			t.Errorf("%d predictions were published, want only the last", n)
		}
	})
}

// TestRefusalsNameTheMistake checks that a refusal names the mistake and says what to send instead.
func TestRefusalsNameTheMistake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		session := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}).fine().text("session", "token")
		s.do(t, call{method: "DELETE", path: "/api/session", bearer: session}).fine()
		publish := func(body any) call { return call{method: "POST", path: "/api/predictions", bearer: key, body: body} }
		for name, c := range map[string]struct {
			call
			status int
			says   string
		}{
			"an ended session":     {call{path: "/api/stats", bearer: session}, 401, "POST /api/session with your API key: you get a new token"},
			"a key in X-API-Key":   {call{path: "/api/stats", header: map[string]string{"X-API-Key": key}}, 401, "X-API-Key isn't read"},
			"a key in the address": {call{path: "/api/stats?api_key=" + key}, 401, "api_key isn't read"},
			"no Bearer":            {call{path: "/api/stats", header: map[string]string{"Authorization": key}}, 401, "Authorization: Bearer"},
			"a quoted number":      {publish(forecast(map[string]any{"confidence": "0.72"})), 422, "send 0.72 without quotes"},
			"a quoted percentage":  {publish(forecast(map[string]any{"confidence": "72%"})), 422, "for 72 % send 0.72"},
			"a word":               {publish(forecast(map[string]any{"confidence": "likely"})), 422, "must be a number, got a string."},
			"a repeated name":      {publish(`{"title":"a","title":"b"}`), 400, `"/title" twice`},
			"a repeated inner one": {publish(`{"evidence":[{"url":"a","url":"b"}]}`), 400, `"/evidence/0/url" twice`},
		} {
			a := s.do(t, c.call)
			if a.status != c.status || !strings.Contains(a.text("detail"), c.says) {
				t.Errorf("%s: %d %s", name, a.status, a.text("detail"))
			}
		}
	})
}

// TestManyMisspelledFields checks that a refusal names few of the fields of a body that is full of misspelled ones,
// and that another spelling of dryRun is found behind many unknown fields.
func TestManyMisspelledFields(t *testing.T) {
	t.Parallel()
	typed, spelled := map[string]any{"predictions": []any{forecast(nil)}}, forecast(nil)
	hidden := forecast(map[string]any{"dry_run": true})
	for i := range 72_000 { // about 1 MiB of names, each with another letter in dryRun
		typed["dryRun"[:i%6]+string(rune(0x4E00+i/6))+"dryRun"[i%6+1:]] = 1
	}
	for i := range 300 {
		spelled["dryRun"+strings.Repeat("_", i+1)] = 1
	}
	for i := range 25 {
		hidden[fmt.Sprintf("a%d", i)] = 1
	}
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, c := range []struct {
			path, code string
			body       any
			errors     int
			last       string
		}{
			{"/api/predictions/batch", "invalid_request", typed, 20, "did you mean dryRun? 71980 more fields are unknown."},
			{"/api/predictions", "invalid_prediction", spelled, 20, "did you mean dryRun? 280 more fields are unknown."},
			{"/api/predictions", "invalid_prediction", hidden, 1, "did you mean dryRun? 25 more fields are unknown."},
		} {
			a := s.do(t, call{method: "POST", path: c.path, bearer: key, body: c.body})
			a.refused(http.StatusUnprocessableEntity, c.code)
			if n := a.count("errors"); n != c.errors || len(a.raw) > 16<<10 {
				t.Errorf("%s: %d errors in %d bytes, want %d", c.path, n, len(a.raw), c.errors)
			}
			if got := a.text("errors", a.count("errors")-1, "message"); !strings.HasSuffix(got, c.last) {
				t.Errorf("%s: %.300s, want %s", c.path, got, c.last)
			}
		}
	})
}
