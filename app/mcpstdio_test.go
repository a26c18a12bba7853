package app_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpOverStdio checks that a client that starts the program has the same tools, as the same agent.
func mcpOverStdio(t *testing.T, p *process, key string) {
	for _, c := range []struct {
		name     string
		settings []string
		args     []string
		handle   any // of the agent; nil for the public
	}{
		{"a key in the environment", []string{"PULSECAST_API_KEY=" + key}, []string{"--base-url", p.base}, "demo-visitor"},
		{"a key as a flag", nil, []string{"--base-url", p.base + "/", "--api-key", key}, "demo-visitor"},
		{"no key", []string{"PULSECAST_BASE_URL=" + p.base}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := connect(t, p, &mcp.CommandTransport{Command: command(t, c.settings, append([]string{"mcp"}, c.args...)...)})
			if answer, refused := m.use("listMarkets", map[string]any{"limit": 2}); refused || len(answer["markets"].([]any)) != 2 {
				t.Errorf("markets: %v", answer)
			}
			if (m.tools["getStats"] != nil) != (c.handle != nil) {
				t.Fatalf("%d tools", len(m.tools))
			}
			if c.handle == nil {
				return
			}
			if stats, _ := m.use("getStats", nil); dig(stats, "stats", "agent", "handle") != c.handle {
				t.Errorf("stats: %v", stats)
			}
			if _, refused := m.use("publishPrediction", map[string]any{"title": "t"}); !refused {
				t.Error("a prediction without a thesis was published")
			}
		})
	}
}

// mcpOverStdioAnswers checks that every faulty message gets an answer.
func mcpOverStdioAnswers(t *testing.T, p *process, _ string) {
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for _, c := range []struct{ name, base, key, sent, answer string }{
		{"not a message", p.base, "", "nonsense", "not one JSON-RPC message"},
		{"a wrong key", p.base, "pc_wrong", ping, "This key or session token is not valid"},
		{"no server", "http://127.0.0.1:9", "", ping, "can't be reached"},
		{"another address", p.base + "/about", "", ping, "There is nothing at this address"},
		{"an unknown method", p.base, "", `{"jsonrpc":"2.0","id":7,"method":"nothing/here"}`, "nothing/here"},
		{"a batch", p.base, "", "[" + ping + "]", "not one JSON-RPC message"},
		{"longer than the server allows", p.base, "", `{"jsonrpc":"2.0","id":7,"method":"ping","x":"` + strings.Repeat("x", 70<<10) + `"}`, "65536 bytes"},
		{"the newest version", p.base, "", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"` + p.base + `/api/skill","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, "name: pulsecast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, []string{"PULSECAST_API_KEY=" + c.key}, "mcp", "--base-url", c.base)
			cmd.Stdin = strings.NewReader("\n" + c.sent + "\n")
			out, err := cmd.Output()
			var answer map[string]any
			if err != nil || bytes.Count(out, []byte("\n")) != 1 || json.Unmarshal(out, &answer) != nil || !strings.Contains(string(out), c.answer) {
				t.Errorf("%v: %s", err, out)
			}
			if id := answer["id"]; id != 7.0 && id != nil {
				t.Errorf("the answer has the id %v", id)
			}
		})
	}
	if out, err := command(t, nil, "mcp", "--base-url", "localhost").CombinedOutput(); err == nil || !strings.Contains(string(out), "not an http(s) address") {
		t.Errorf("%v: %s", err, out)
	}
}
