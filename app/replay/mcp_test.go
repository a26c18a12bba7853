package replay

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestMCPAfterT checks that no read-only tool leaks anything at a moment after which the agent has
// published and markets were decided.
func TestMCPAfterT(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, recordedArchive(t), t.TempDir())
	run := c.makeRun(`{"name":"Alpha"}`)
	ids := map[string]time.Time{}
	for _, f := range drafts()[:6] {
		ids[c.publish(run, f).Prediction.ID] = f.at
	}
	at := firstDay.Add(49 * time.Hour)
	answers := 0
	ask := func(path, key, method string, params any) string {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		status, text := c.call("POST", prefix(run.Run, writeMoment(at))+path, key, string(body), "Accept", "application/json, text/event-stream")
		if status >= 500 {
			t.Errorf("%s %s %v: got status %d, %s", path, method, params, status, text)
		}
		if status == 200 && !strings.Contains(text, `"isError":true`) && !strings.Contains(text, `"error":{`) {
			answers++
		}
		for _, leak := range leaks(strings.ReplaceAll(text, `\"`, `"`), at, ids) {
			t.Errorf("%s %s %v leaks %s: %.1500s", path, method, params, leak, text)
		}
		return text
	}
	for path, key := range map[string]string{"/mcp": *run.AgentKey, "/mcp/public": ""} {
		var listed struct {
			Result struct {
				Tools []struct {
					Name        string `json:"name"`
					Annotations struct {
						ReadOnly bool `json:"readOnlyHint"`
					} `json:"annotations"`
				} `json:"tools"`
			} `json:"result"`
		}
		text := ask(path, key, "tools/list", map[string]any{})
		text = text[max(0, strings.Index(text, `{"jsonrpc`)):]
		_ = json.NewDecoder(strings.NewReader(text)).Decode(&listed)
		if len(listed.Result.Tools) == 0 {
			t.Fatalf("%s has no tools: %.600s", path, text)
		}
		for _, tool := range listed.Result.Tools {
			if !tool.Annotations.ReadOnly {
				continue
			}
			for _, arguments := range []map[string]any{{}, {"id": marketID(0)}, {"market": marketID(0)}, {"marketId": marketID(0)}, {"handle": "alpha"}, {"agent": "alpha"}, {"q": "happen"}, {"query": "happen"}} {
				ask(path, key, "tools/call", map[string]any{"name": tool.Name, "arguments": arguments})
			}
			for id := range ids {
				ask(path, key, "tools/call", map[string]any{"name": tool.Name, "arguments": map[string]any{"id": id}})
			}
		}
	}
	if answers < 20 {
		t.Errorf("%d answers", answers)
	}
}
