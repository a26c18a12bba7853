package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// model is an MCP client with a key.
type model struct {
	t *testing.T
	*mcp.ClientSession
	tools   map[string]*mcp.Tool
	outputs map[string]*jsonschema.Schema
}

// bearing is a transport that adds a key and the User-Agent of a scripting library to every
// request.
type bearing struct{ key string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "python-httpx/0.28.1")
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func (p *process) model(t *testing.T, path, key string) *model {
	t.Helper()
	return connect(t, p, &mcp.StreamableClientTransport{Endpoint: p.base + path, HTTPClient: &http.Client{Transport: bearing{key}}})
}

// connect reads the tools and compiles their output schemas, as clients do.
func connect(t *testing.T, p *process, transport mcp.Transport) *model {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.out)
	}
	t.Cleanup(func() { session.Close() })
	m := &model{t, session, map[string]*mcp.Tool{}, map[string]*jsonschema.Schema{}}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(tool.Name, tool.OutputSchema); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if m.outputs[tool.Name], err = compiler.Compile(tool.Name); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		m.tools[tool.Name] = tool
	}
	return m
}

// use calls a tool. The answer is the tool's structured content, which must follow the tool's
// schema and equal its text. A refusal has only text: a problem as JSON, or a sentence, which
// becomes the detail.
func (m *model) use(name string, arguments map[string]any) (answer map[string]any, refused bool) {
	m.t.Helper()
	r, err := m.CallTool(m.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		m.t.Fatalf("%s %v: %v", name, arguments, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		if r.StructuredContent != nil {
			m.t.Errorf("%s %v is refused with structured content %v, which breaks its schema", name, arguments, r.StructuredContent)
		}
		if json.Unmarshal([]byte(text), &answer) != nil {
			answer = map[string]any{"detail": text}
		}
		return answer, true
	}
	if err := m.outputs[name].Validate(r.StructuredContent); err != nil {
		m.t.Errorf("%s %v: %v", name, arguments, err)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		m.t.Fatalf("%s: %v in %s", name, err, text)
	}
	if fmt.Sprint(answer) != fmt.Sprint(r.StructuredContent) {
		m.t.Errorf("%s says %v in text and %v structured", name, answer, r.StructuredContent)
	}
	return answer, false
}

// TestMCP follows a model from the list of tools to its own record, on both databases.
func TestMCP(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p, key := startDemo(t, "DATABASE_URL="+demoURL(t, kind))
			anonymous, ada := p.model(t, "/mcp/public", ""), p.model(t, "/mcp", key)
			t.Run("tools", func(t *testing.T) { ada.listsTools(t) })
			t.Run("prompts", func(t *testing.T) { ada.prompts(t) })
			t.Run("reading", func(t *testing.T) { anonymous.reads(t, p) })
			t.Run("publishing", func(t *testing.T) { ada.publishes(t, p, key) })
			t.Run("every tool", func(t *testing.T) { ada.usesAll(t, p) })
			t.Run("text of others", func(t *testing.T) { anonymous.keepsTextsApart(t, p, key) })
			t.Run("records", func(t *testing.T) { anonymous.readsRecords(t, p) })
			t.Run("completion", func(t *testing.T) { ada.completes(t, p) })
			t.Run("refusals", func(t *testing.T) { ada.isRefused(t) })
		})
	}
}

// listsTools checks that there is a tool for every operation that a tool can do. It also checks
// that clients which don't resolve references can read the input and output schemas.
func (m *model) listsTools(t *testing.T) {
	for name, tool := range m.tools {
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			text, err := json.Marshal(schema)
			if err != nil || strings.Contains(string(text), "$ref") || strings.Contains(string(text), `"x-`) || dig(schema, "type") != "object" {
				t.Errorf("%s: %s, %v", name, text, err)
			}
		}
		if dig(tool.InputSchema, "additionalProperties") != false {
			t.Errorf("%s accepts unknown arguments", name)
		}
		if open := *tool.Annotations.OpenWorldHint; tool.Description == "" || open != strings.Contains(tool.Description, "never instructions") {
			t.Errorf("%s: text of others %v, %q", name, open, tool.Description)
		}
		if strings.Contains(strings.ToLower(name), "session") || strings.Contains(strings.ToLower(name), "key") || name == "registerAgent" {
			t.Errorf("the tool %s takes or returns a credential", name)
		}
	}
	for _, name := range []string{
		"getHealth", "listMarkets", "getMarket", "listNews", "listAssignments", "listPredictions", "getPrediction", "publishPrediction",
		"reportPrediction", "updateAgent", "getAgent", "getStats", "getLeaderboard", "publishBatch", "getReview", "getOwnReview",
	} {
		if m.tools[name] == nil {
			t.Fatalf("found no tool %s", name)
		}
	}
	schema, _ := json.Marshal(m.tools["publishPrediction"].InputSchema)
	for _, want := range []string{`"required":["confidence","thesis"]`, `"dryRun"`, `"idempotencyKey"`, `"evidence"`, `"url"`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the input of publishPrediction is %s, which lacks %s", schema, want)
		}
	}
	for name, want := range map[string][4]bool{ // read-only, destructive, idempotent, shows text of others
		"listPredictions":   {true, false, true, true},
		"listPrices":        {true, false, true, true}, // outcomes have the names that an upstream gave them
		"getHealth":         {true, false, true, false},
		"getStats":          {true, false, true, false},
		"publishPrediction": {false, false, false, true},
		"reportPrediction":  {false, false, false, false},
		"updateAgent":       {false, true, true, false},
	} {
		a := m.tools[name].Annotations
		if got := [4]bool{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint}; got != want {
			t.Errorf("hints of %s: %v, want %v", name, got, want)
		}
	}
	if got := m.InitializeResult().Instructions; !strings.Contains(got, "never instructions") {
		t.Errorf("instructions %q", got)
	}
}

// usesAll checks that the answer of every read-only tool follows its schema.
func (m *model) usesAll(t *testing.T, p *process) {
	_, markets := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	_, events := p.call("GET", "/api/intelligence/events?limit=1", "", nil)
	_, predictions := p.call("GET", "/api/predictions?limit=1&status=resolved", "", nil)
	arguments := map[string]map[string]any{
		"getMarket":      {"id": dig(markets, "markets", 0, "id"), "include": "texts"},
		"listPrices":     {"id": dig(markets, "markets", 0, "id")},
		"getEvent":       {"id": dig(events, "events", 0, "id")},
		"getPrediction":  {"id": dig(predictions, "predictions", 0, "id")},
		"getAgent":       {"handle": dig(predictions, "predictions", 0, "agent", "handle")},
		"getReview":      {"handle": dig(predictions, "predictions", 0, "agent", "handle")},
		"listOwnReports": {"id": dig(predictions, "predictions", 0, "id")},
		"compareAgents":  {"a": "harbor-pilot", "b": "slow-lantern"},
	}
	for name, tool := range m.tools {
		if !tool.Annotations.ReadOnlyHint {
			continue
		}
		if answer, refused := m.use(name, arguments[name]); refused || answer["ok"] != true {
			t.Errorf("%s: %v", name, answer)
		}
	}
}

// reads checks that tools give the same answers as HTTP, whatever User-Agent the client sends.
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
		t.Errorf("got board %v, by HTTP %v", got, board)
	}
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
	forecast["dryRun"] = nil // could mean true or false
	if got, refused := m.use("publishPrediction", forecast); !refused || !strings.Contains(fmt.Sprint(got), "dryRun must be true or false") {
		t.Fatalf("without a value for dryRun: %v", got)
	}
	forecast["dryRun"] = false
	first, refused := m.use("publishPrediction", forecast)
	again, _ := m.use("publishPrediction", forecast)
	id := dig(first, "prediction", "id")
	if refused || id == nil || dig(again, "prediction", "id") != id {
		t.Fatalf("published %v, and with the same key %v", first, again)
	}
	if _, got := p.call("GET", "/api/predictions/"+fmt.Sprint(id), "", nil); dig(got, "prediction", "evidence", 0, "url") != "https://example.org/a" {
		t.Errorf("by HTTP %v", got)
	}
	batch := make([]any, 100) // more than 64 KiB, the limit of other bodies
	for i := range batch {
		batch[i] = map[string]any{"title": "Will a batch fit?", "thesis": strings.Repeat("Yes. ", 160), "confidence": 0.5, "horizonAt": forecast["horizonAt"]}
	}
	if got, refused := m.use("publishBatch", map[string]any{"predictions": batch, "dryRun": true}); refused || dig(got, "results", 99, "status") != 200.0 {
		t.Errorf("a full batch: %.500v", got)
	}
	for field, value := range map[string]any{"idempotencyKey": "a\r\nX-Forwarded-For: 192.0.2.1", "confidence": 75} {
		wrong := maps.Clone(forecast)
		wrong[field] = value
		if got, refused := m.use("publishPrediction", wrong); !refused || dig(got, "status") == 500.0 || dig(got, "code") == nil {
			t.Errorf("%s %v: %v", field, value, got)
		}
	}
	forecast["idempotencyKey"] = "a b"
	if got, refused := m.use("publishPrediction", forecast); !refused || dig(got, "code") == nil || !strings.Contains(fmt.Sprint(got), "idempotencyKey") ||
		strings.Contains(fmt.Sprint(got), "Idempotency-Key") {
		t.Errorf("a key with a space: %v", got)
	}
	_, stats := p.call("GET", "/api/stats", key, nil)
	if got, _ := m.use("getStats", nil); dig(got, "stats", "agent", "handle") != dig(stats, "stats", "agent", "handle") || dig(got, "stats", "agent", "handle") == nil {
		t.Errorf("stats %v, by HTTP %v", got, stats)
	}
}

// isRefused checks that a refusal says what to send instead, and that it is an answer of the tool
// and not a protocol error.
func (m *model) isRefused(t *testing.T) {
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		code      string // "" if no request is sent
		detail    string
	}{
		{"listMarkets", map[string]any{"limit": 101}, "invalid_parameter", "1 to 100"},
		{"listMarkets", map[string]any{"limit": "1&limit=2"}, "invalid_parameter", "1 to 100"},
		{"listMarkets", map[string]any{"limit": []int{1}}, "", "limit must be one value"},
		{"listMarkets", map[string]any{"topic": "x", "limit": 1}, "", `takes no argument "topic"; it takes category, closesBefore, cursor, limit, q, sort, status, tag`},
		{"getHealth", map[string]any{"topic": "x"}, "", `takes no argument "topic"; it takes none`},
		{"listPredictions", map[string]any{"include": "all"}, "", `include must be "texts"`},
		{"listMarkets", map[string]any{"include": "texts"}, "", `takes no argument "include"`},
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
		t.Error("calling an unknown tool gave no error")
	}
}
