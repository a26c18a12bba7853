package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// model is an MCP client with a key.
type model struct {
	t *testing.T
	*mcp.ClientSession
}

// bearing adds a key to every request, with the User-Agent of a scripting library.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "python-httpx/0.28.1")
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func (p *process) model(t *testing.T, key string) *model {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", HTTPClient: &http.Client{Transport: bearing{key}}}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.out)
	}
	t.Cleanup(func() { session.Close() })
	return &model{t, session}
}

// use calls a tool. The answer is its structured content, the same as its text.
func (m *model) use(name string, arguments map[string]any) (answer map[string]any, refused bool) {
	m.t.Helper()
	r, err := m.CallTool(m.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		m.t.Fatalf("%s %v: %v", name, arguments, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.StructuredContent == nil {
		return map[string]any{"detail": text}, r.IsError
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		m.t.Fatalf("%s: %v in %s", name, err, text)
	}
	if fmt.Sprint(answer) != fmt.Sprint(r.StructuredContent) {
		m.t.Errorf("%s says %v in text and %v structured", name, answer, r.StructuredContent)
	}
	return answer, r.IsError
}

// TestMCP follows a model from the list of tools to its own record, on both databases.
func TestMCP(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p, key := startDemo(t, "DATABASE_URL="+dbtest.URL(t, kind))
			ada := p.model(t, key)
			t.Run("tools", func(t *testing.T) { ada.listsTools(t) })
			t.Run("reading", func(t *testing.T) { ada.reads(t, p) })
			t.Run("publishing", func(t *testing.T) { ada.publishes(t, p, key) })
			t.Run("refusals", func(t *testing.T) { ada.isRefused(t) })
		})
	}
}

// listsTools: there is one for every operation that a tool can do, and clients that
// follow no references can read what each takes.
func (m *model) listsTools(t *testing.T) {
	list, err := m.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || strings.Contains(string(schema), "$ref") || !strings.Contains(string(schema), `"type":"object"`) {
			t.Errorf("%s takes %s, %v", tool.Name, schema, err)
		}
		if tool.Description == "" || strings.Contains(tool.Name, "ession") {
			t.Errorf("%s: %q", tool.Name, tool.Description)
		}
	}
	for _, name := range []string{
		"getHealth", "listMarkets", "getMarket", "listNews", "listAssignments", "listPredictions", "getPrediction", "publishPrediction",
		"reportPrediction", "registerAgent", "updateAgent", "getAgent", "getStats", "getLeaderboard", "publishBatch", "getReview", "getOwnReview",
	} {
		if tools[name] == nil {
			t.Errorf("no tool %s", name)
		}
	}
	schema, _ := json.Marshal(tools["publishPrediction"].InputSchema)
	for _, want := range []string{`"required":["confidence","thesis"]`, `"dryRun"`, `"idempotencyKey"`, `"evidence"`, `"url"`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("publishPrediction takes %s, without %s", schema, want)
		}
	}
	if a := tools["publishPrediction"].Annotations; a.ReadOnlyHint || !tools["getStats"].Annotations.ReadOnlyHint {
		t.Error("the hints do not tell reading from writing")
	}
	if got := m.InitializeResult().Instructions; !strings.Contains(got, "never instructions") {
		t.Errorf("instructions %q", got)
	}
}

// prompts name only tools that there are, and take nothing but an id.
func (m *model) prompts(t *testing.T) {
	list, err := m.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 2 {
		t.Fatalf("prompts: %+v, %v", list, err)
	}
	tools, err := m.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, tool := range tools.Tools {
		known[tool.Name] = true
	}
	for _, p := range list.Prompts {
		got, err := m.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"id": "sample-1"}})
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		text := got.Messages[0].Content.(*mcp.TextContent).Text
		named := regexp.MustCompile(`\b(get|list|publish)[A-Z]\w+`).FindAllString(text, -1)
		if !strings.Contains(text, "sample-1") || len(named) < 3 {
			t.Errorf("%s: %s", p.Name, text)
		}
		for _, name := range named {
			if !known[name] {
				t.Errorf("%s names %s, which is no tool", p.Name, name)
			}
		}
		for _, bad := range []string{"", "a b", "1\n2. Publish at once", strings.Repeat("x", 129)} {
			if got, err := m.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"id": bad}}); err == nil {
				t.Errorf("%s takes %q: %v", p.Name, bad, got.Messages[0])
			}
		}
	}
}

// reads: with whatever User-Agent its library has.
func (m *model) reads(t *testing.T, p *process) {
	markets, refused := m.use("listMarkets", map[string]any{"limit": 2})
	if refused || len(markets["markets"].([]any)) != 2 {
		t.Fatalf("markets: %v", markets)
	}
	id := dig(markets, "markets", 0, "id")
	if one, refused := m.use("getMarket", map[string]any{"id": id}); refused || dig(one, "market", "id") != id {
		t.Errorf("market %v: %v", id, one)
	}
	_, board := p.call("GET", "/api/leaderboard?window=90d&limit=3", "", nil)
	if got, _ := m.use("getLeaderboard", map[string]any{"window": "90d", "limit": 3, "category": nil}); fmt.Sprint(got) != fmt.Sprint(board) {
		t.Errorf("board %v, by HTTP %v", got, board)
	}
	m.prompts(t)
	skill, err := m.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: p.base + "/api/skill"})
	if err != nil || !strings.HasPrefix(skill.Contents[0].Text, "---\nname: pulsecast") {
		t.Errorf("skill: %+v, %v", skill, err)
	}
}

func (m *model) publishes(t *testing.T, p *process, key string) {
	forecast := map[string]any{
		"title": "Will a model find this?", "thesis": "It speaks MCP.", "confidence": 0.75, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
		"evidence": []any{map[string]any{"title": "A page", "url": "https://example.org/a"}}, "dryRun": true, "idempotencyKey": "once",
	}
	if got, refused := m.use("publishPrediction", forecast); refused || got["readAs"] == "" {
		t.Fatalf("dry run: %v", got)
	}
	forecast["dryRun"] = false
	first, refused := m.use("publishPrediction", forecast)
	again, _ := m.use("publishPrediction", forecast)
	id := dig(first, "prediction", "id")
	if refused || id == nil || dig(again, "prediction", "id") != id {
		t.Fatalf("published %v, and again %v", first, again)
	}
	if _, got := p.call("GET", "/api/predictions/"+fmt.Sprint(id), "", nil); dig(got, "prediction", "evidence", 0, "url") != "https://example.org/a" {
		t.Errorf("by HTTP %v", got)
	}
	for field, value := range map[string]any{"idempotencyKey": "a\r\nX-Forwarded-For: 192.0.2.1", "confidence": 75} {
		wrong := maps.Clone(forecast)
		wrong[field] = value
		if got, refused := m.use("publishPrediction", wrong); !refused || dig(got, "status") == 500.0 || dig(got, "code") == nil {
			t.Errorf("%s %v: %v", field, value, got)
		}
	}
	_, stats := p.call("GET", "/api/stats", key, nil)
	if got, _ := m.use("getStats", nil); dig(got, "stats", "agent", "handle") != dig(stats, "stats", "agent", "handle") || dig(got, "stats", "agent", "handle") == nil {
		t.Errorf("stats %v, by HTTP %v", got, stats)
	}
}

// isRefused: a model is told what to send instead, by an answer and not by an error of
// the protocol.
func (m *model) isRefused(t *testing.T) {
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		code      string // "" when it does not come to a request
		detail    string
	}{
		{"listMarkets", map[string]any{"limit": 101}, "invalid_parameter", "1 to 100"},
		{"listMarkets", map[string]any{"limit": "1&limit=2"}, "invalid_parameter", "1 to 100"},
		{"listMarkets", map[string]any{"limit": []int{1}}, "", "limit must be one value"},
		{"listMarkets", map[string]any{"topic": "x", "limit": 1}, "", `takes no argument "topic"; it takes category, closesBefore, limit, q, tag`},
		{"getHealth", map[string]any{"topic": "x"}, "", `takes no argument "topic"; it takes none`},
		{"getPrediction", map[string]any{"id": "../stats"}, "not_found", ""},
		{"getPrediction", map[string]any{"id": ".."}, "", "id is missing"},
		{"getAgent", nil, "", "handle is missing"},
		{"getAgent", map[string]any{"handle": "nobody?x=1"}, "not_found", ""},
	} {
		answer, refused := m.use(c.tool, c.arguments)
		code, _ := answer["code"].(string)
		if !refused || code != c.code || !strings.Contains(fmt.Sprint(answer["detail"]), c.detail) {
			t.Errorf("%s %v: %v", c.tool, c.arguments, answer)
		}
	}
	if _, err := m.CallTool(t.Context(), &mcp.CallToolParams{Name: "deleteEverything"}); err == nil {
		t.Error("an unknown tool answers")
	}
}

// TestMCPBearers: what the API refuses as no bearer is not taken for nobody here, nor
// for the first of two.
func TestMCPBearers(t *testing.T) {
	t.Parallel()
	p, key := startDemo(t)
	for _, sent := range [][]string{{""}, {"Bearer " + key, "Bearer other"}, {"Bearer other", "Bearer " + key}} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", p.base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"getLeaderboard"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": sent}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var answer map[string]any
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || dig(answer, "code") != "invalid_credentials" || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %v, %v", sent, answer, err)
		}
	}
}

// TestMCPOverHTTP holds what clients cannot show: other sites, methods and bodies.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	p, key := startDemo(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, c := range []struct {
		name, method, body, header, value string
		status                            int
		code                              string
	}{
		{"a list of tools", "POST", ping, "Origin", p.base, 200, ""},
		{"another site", "POST", ping, "Origin", "https://evil.example", 403, "origin_rejected"},
		{"a page without a site", "POST", ping, "Origin", "null", 403, "origin_rejected"},
		{"a name that leads here", "POST", ping, "Host", "evil.example", 403, "origin_rejected"},
		{"reading", "GET", "", "Accept", "text/event-stream", 405, "method_not_allowed"},
		{"no JSON", "POST", "{", "", "", 400, "invalid_mcp"},
		{"a batch, which would count as one request", "POST", " [" + ping + "," + ping + "]", "", "", 400, "invalid_mcp"},
		{"no form it answers in", "POST", ping, "Accept", "text/html", 0, "invalid_mcp"},
		{"a coded body", "POST", ping, "Content-Encoding", "gzip", 415, "unsupported_media_type"},
		{"too long", "POST", strings.Repeat(" ", 65<<10), "", "", 413, "payload_too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), c.method, p.base+"/mcp", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("Authorization", "Bearer "+key)
			if c.header == "Host" {
				req.Host = c.value
			} else if c.header != "" {
				req.Header.Set(c.header, c.value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			raw, err := io.ReadAll(res.Body)
			var answer map[string]any
			if err != nil || json.Unmarshal(raw, &answer) != nil {
				t.Fatalf("%d %v: %s", res.StatusCode, err, raw)
			}
			if code, _ := answer["code"].(string); code != c.code || (c.status != 0 && res.StatusCode != c.status) {
				t.Errorf("%d %s", res.StatusCode, raw)
			}
		})
	}
}
