package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// rpc posts one message to MCP and returns the answer.
func (p *process) rpc(t *testing.T, path, message string, header http.Header) (*http.Response, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.base+path, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if len(raw) > 0 && json.Unmarshal(raw, &answer) != nil {
		t.Fatalf("%d %s", res.StatusCode, raw)
	}
	return res, answer
}

// TestMCPEdge tests everything around the tools on one server.
func TestMCPEdge(t *testing.T) {
	t.Parallel()
	p, key := startDemo(t, "TRUSTED_PROXIES=127.0.0.0/8")
	for name, test := range map[string]func(*testing.T, *process, string){
		"bearers": mcpBearers, "public": mcpPublic, "versions": mcpVersions, "pages": mcpFromPages, "preflight": mcpPreflight,
		"http": mcpOverHTTP, "stdio": mcpOverStdio, "stdio answers": mcpOverStdioAnswers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p, key)
		})
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// mcpBearers checks that a wrong bearer is refused before the first call, as is a header that may
// hold two bearers. The public address ignores bearers, so none can be wrong there.
func mcpBearers(t *testing.T, p *process, key string) {
	for _, sent := range [][]string{{""}, {"Bearer other"}, {"Bearer " + key, "Bearer other"}, {"Bearer other", "Bearer " + key}} {
		res, answer := p.rpc(t, "/mcp", initialize, http.Header{"Authorization": sent})
		if res.StatusCode != 401 || answer["code"] != "invalid_credentials" || !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%q: %d %v, %v", sent, res.StatusCode, answer, res.Header)
		}
		if res, answer := p.rpc(t, "/mcp/public", initialize, http.Header{"Authorization": sent}); res.StatusCode != 200 || dig(answer, "result") == nil {
			t.Errorf("%q at the public address: %d %v", sent, res.StatusCode, answer)
		}
	}
	if res, _ := p.rpc(t, "/mcp", initialize, http.Header{}); res.StatusCode != 401 || !strings.Contains(res.Header.Get("WWW-Authenticate"), "resource_metadata=") {
		t.Errorf("none: %d %v", res.StatusCode, res.Header)
	}
	if res, answer := p.rpc(t, "/mcp", initialize, http.Header{"Authorization": {"Bearer " + key}}); res.StatusCode != 200 {
		t.Errorf("with the right bearer: got %d %v", res.StatusCode, answer)
	}
}

// mcpPublic checks that the public address offers no tool that needs a key, and uses no key.
func mcpPublic(t *testing.T, p *process, key string) {
	m := p.model(t, "/mcp/public", key)
	for name, tool := range m.tools {
		if !tool.Annotations.ReadOnlyHint || strings.Contains(tool.Description, "Needs an API key") {
			t.Errorf("%s is offered to the public", name)
		}
	}
	if m.tools["listMarkets"] == nil || m.tools["getStats"] != nil || m.tools["publishPrediction"] != nil {
		t.Errorf("%d tools", len(m.tools))
	}
	assignments, _ := m.use("listAssignments", map[string]any{"limit": 1})
	if done := dig(assignments, "assignments", 0, "done"); done != nil {
		t.Errorf("the public address used the key of the connection: done is %v", done)
	}
	strange := `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"\u0000"}}`
	if res, answer := p.rpc(t, "/mcp/public", strange, http.Header{}); res.StatusCode != http.StatusOK || dig(answer, "error", "code") == nil {
		t.Errorf("reading a resource with NUL: got %d %v", res.StatusCode, answer)
	}
	prompts, err := m.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "reviewRoutine" {
		t.Errorf("prompts %+v, %v", prompts, err)
	}
	if told := m.InitializeResult().Instructions; !strings.Contains(told, p.base+"/mcp ") || strings.Contains(told, "publishPrediction") {
		t.Errorf("instructions %q", told)
	}
}

// mcpVersions checks every version of the protocol, including those that the conformance suites
// don't try.
func mcpVersions(t *testing.T, p *process, _ string) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		_, answer := p.rpc(t, "/mcp/public", strings.Replace(initialize, "2025-11-25", version, 1), http.Header{})
		if got := dig(answer, "result", "protocolVersion"); got != version {
			t.Errorf("%s: %v", version, answer)
		}
		_, answer = p.rpc(t, "/mcp/public", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"getHealth"}}`,
			http.Header{"Mcp-Protocol-Version": {version}})
		if dig(answer, "result", "structuredContent", "ok") != true {
			t.Errorf("%s: %v", version, answer)
		}
	}
	_, answer := p.rpc(t, "/mcp/public", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"getHealth","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"getHealth"}})
	if dig(answer, "result", "structuredContent", "ok") != true || dig(answer, "result", "resultType") != "complete" {
		t.Errorf("2026-07-28: %v", answer)
	}
}

// mcpFromPages checks which web pages may call the server. Pages of this machine may call a server
// on it, and pages loaded over https may call a public server. All pages may read why they were
// refused.
func mcpFromPages(t *testing.T, p *process, _ string) {
	for _, c := range []struct {
		origin, client string
		allowed        bool
	}{
		{"http://localhost:6274", "", true},
		{"http://127.0.0.1:6274", "", true},
		{"http://[::1]:6274", "", true},
		{"https://inspector.example", "", false},
		{"http://inspector.example", "", false},
		{"null", "", false},
		{"https://inspector.example", "192.0.2.1", true},
		{"http://inspector.example", "192.0.2.1", false},
		{"http://localhost:6274", "192.0.2.1", true},
		{"null", "192.0.2.1", false},
		{"https://", "192.0.2.1", false},
		{"inspector.example", "192.0.2.1", false},
	} {
		header := http.Header{"Origin": {c.origin}, "Authorization": {"Bearer other"}}
		if c.client != "" {
			header.Set("X-Forwarded-For", c.client)
		}
		res, answer := p.rpc(t, "/mcp", initialize, header)
		allowed, status := res.Header.Get("Access-Control-Allow-Origin"), 401
		if !c.allowed {
			status = 403
		}
		if res.StatusCode != status || (allowed == c.origin) != c.allowed || !strings.Contains(res.Header.Get("Vary"), "Origin") {
			t.Errorf("%s from %q: %d %v, allowed %q", c.origin, c.client, res.StatusCode, answer["code"], allowed)
		}
		if c.allowed && !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
			t.Errorf("%s can't read how to sign in: %v", c.origin, res.Header)
		}
	}
	const page = "http://localhost:6274"
	res, answer := p.rpc(t, "/mcp/public", "{", http.Header{"Origin": {page}}) // refused by the SDK
	if res.StatusCode != 400 || answer["code"] != "invalid_mcp" || res.Header.Get("Content-Type") != "application/problem+json" ||
		res.Header.Get("Access-Control-Allow-Origin") != page || !strings.Contains(res.Header.Get("Vary"), "Origin") ||
		!strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
		t.Errorf("no JSON: %d %v, %v", res.StatusCode, answer, res.Header)
	}
}

// mcpPreflight checks the answers to a browser's preflight requests.
func mcpPreflight(t *testing.T, p *process, _ string) {
	for _, path := range []string{"/mcp", "/mcp/public"} {
		req, err := http.NewRequestWithContext(t.Context(), "OPTIONS", p.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Origin": {"http://localhost:6274"}, "Access-Control-Request-Method": {"POST"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": "http://localhost:6274", "Access-Control-Allow-Methods": "POST",
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name",
		} {
			if got := res.Header.Get(name); res.StatusCode != 204 || got != want {
				t.Errorf("%s: %d, %s %q", path, res.StatusCode, name, got)
			}
		}
		if got := res.Header.Get("Access-Control-Allow-Credentials"); got != "" {
			t.Errorf("%s allows cookies: %q", path, got)
		}
	}
}

// mcpOverHTTP checks what MCP clients can't: other sites, methods and bodies.
func mcpOverHTTP(t *testing.T, p *process, key string) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, c := range []struct {
		name, method, body, header, value string
		status                            int
		code                              string
	}{
		{"a list of tools", "POST", ping, "Origin", p.base, 200, ""},
		{"another site", "POST", ping, "Origin", "https://evil.example", 403, "origin_rejected"},
		{"a page without an origin", "POST", ping, "Origin", "null", 403, "origin_rejected"},
		{"a foreign name with this address", "POST", ping, "Host", "evil.example", 403, "origin_rejected"},
		{"a local page that opens a stream", "GET", "", "Origin", "http://localhost:6274", 405, "method_not_allowed"},
		{"ending a session", "DELETE", "", "", "", 405, "method_not_allowed"},
		{"an unknown method", "PROPFIND", "", "", "", 405, "method_not_allowed"},
		{"reading", "GET", "", "Accept", "text/event-stream", 405, "method_not_allowed"},
		{"no JSON", "POST", "{", "", "", 400, "invalid_mcp"},
		{"a batch, which would count as one request", "POST", " [" + ping + "," + ping + "]", "", "", 400, "invalid_mcp"},
		{"no acceptable content type", "POST", ping, "Accept", "text/html", 0, "invalid_mcp"},
		{"a compressed body", "POST", ping, "Content-Encoding", "gzip", 415, "unsupported_media_type"},
		{"too long", "POST", strings.Repeat(" ", 2<<20), "", "", 413, "payload_too_large"},
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
