package mcp

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

// TestFaultyMessages checks that a faulty message with an id gets an error of JSON-RPC with this id, and another one a
// problem. Both say what to send, and not by the names of Go.
func TestFaultyMessages(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{BaseURL: "http://localhost", LogFormat: "off"}
	h := httpserver.New(httpserver.Options{Config: cfg})
	New(Dependencies{Config: cfg}).Register(h)
	for _, c := range []struct {
		name, version, sent string
		status              int
		id                  string  // "" if the answer is a problem
		code                float64 // of JSON-RPC; 0 if the message isn't refused
		text                string
	}{
		{"a ping", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, `1`, 0, ""},
		{"an id with a fraction of zero", "", `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, 200, `1`, 0, ""},
		{"the greatest id", "", `{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, 200, `9007199254740991`, 0, ""},
		{"an id that is a text", "", `{"jsonrpc":"2.0","id":"a\u00e9","method":"ping"}`, 200, `"aé"`, 0, ""},
		{"an unknown method", "", `{"jsonrpc":"2.0","id":1,"method":"nothing/here"}`, 200, `1`, -32601, `There is no method "nothing/here" here. tools/list,`},
		{"an unknown method with an id that is a text", "2025-11-25", `{"jsonrpc":"2.0","id":"x","method":"nothing/here"}`, 200, `"x"`, -32601, "There is no method"},
		{"an unknown method in the newest version", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"nothing/here"}`, 404, `1`, -32601, "There is no method"},
		{"no method", "", `{"jsonrpc":"2.0","id":1,"method":""}`, 200, `1`, -32601, "There is no method"},
		{"an unknown notification", "", `{"jsonrpc":"2.0","method":"nothing/here"}`, 400, "", 0, "not handled"},
		{"a method that is a number", "", `{"jsonrpc":"2.0","id":1,"method":5}`, 400, `1`, -32600, "method must be a string."},
		{"no id", "", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, 400, "", 0, `missing id for "tools/list"`},
		{"no params", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 400, `1`, -32600, `missing required "params"`},
		{"params that are an array", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, 200, `1`, -32602, "params must be an object."},
		{"a name that is a number", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, 200, `1`, -32602, "name of params must be a string."},
		{"a client that is a text", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":"x"}}`, 200, `1`, -32602, "clientInfo of params must be an object."},
		{"a cursor of another server", "", `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"cursor":"x"}}`, 200, `1`, -32602, "Leave it out"},
		{"an older version of JSON-RPC", "", `{"id":1,"method":"ping"}`, 400, `1`, -32600, `jsonrpc must be "2.0".`},
		{"two methods", "", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400, `1`, -32600, `"method" is sent twice`},
		{"two names", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, 400, `1`, -32600, `"name" of params is sent twice`},
		{"two ids", "", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 400, "", 0, `"id" is sent twice`},
		{"an id of 30 digits", "", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, 400, "", 0, "id must be a string, or a whole number"},
		{"an id that the SDK would round", "", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 400, "", 0, "id must be"},
		{"an id with a fraction", "", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, "", 0, "id must be"},
		{"an id that is an object", "", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, "", 0, "id must be"},
		{"an id that is no text", "", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, 400, "", 0, "id must be"},
		{"two messages", "", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, 400, "", 0, "Send one JSON-RPC 2.0 message"},
		{"half a message", "", `{"jsonrpc":"2.0","id":1`, 400, "", 0, "Send one JSON-RPC 2.0 message"},
		{"no message", "", ``, 400, "", 0, "Send one JSON-RPC 2.0 message"},
		{"a text", "", `"x"`, 400, "", 0, "Send one JSON-RPC 2.0 message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("POST", "http://localhost"+PublicPath, strings.NewReader(c.sent))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if c.version != "" {
				r.Header.Set("MCP-Protocol-Version", c.version)
			}
			res, err := h.App.Test(r, -1)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(res.Body)
			var answer struct {
				ID     json.RawMessage
				Error  struct{ Code float64 }
				Detail string
			}
			if err != nil || json.Unmarshal(raw, &answer) != nil {
				t.Fatalf("%d %s, %v", res.StatusCode, raw, err)
			}
			unescaped := strings.ReplaceAll(string(raw), `\"`, `"`)
			if res.StatusCode != c.status || string(answer.ID) != c.id || answer.Error.Code != c.code || (c.id == "") != (answer.Detail != "") ||
				!strings.Contains(unescaped, c.text) || strings.Contains(unescaped, "unmarshal") || strings.Contains(unescaped, "mcp.") {
				t.Errorf("got %d %s", res.StatusCode, raw)
			}
			if kind := res.Header.Get("Content-Type"); !strings.Contains(kind, "json") {
				t.Errorf("the answer is %s", kind)
			}
		})
	}
}
