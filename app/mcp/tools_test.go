package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
)

// TestListsDontEncodeSchemasAgain checks that the schemas of a list of tools are those of the tools, and that a list
// doesn't make them again. Otherwise a list would take tens of milliseconds of a processor, without a key.
func TestListsDontEncodeSchemasAgain(t *testing.T) {
	tools, err := readTools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		listed, err := tool.sdk()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct {
			made   *openapi3.Schema
			listed any
		}{{tool.schema, listed.InputSchema}, {tool.output, listed.OutputSchema}} {
			want, errWant := json.Marshal(s.made)
			got, err := json.Marshal(s.listed)
			if errWant != nil || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: listed %s, %v; want %s, %v", tool.name, got, err, want, errWant)
			}
			if n := testing.AllocsPerRun(10, func() { _, _ = json.Marshal(s.listed) }); n > 10 {
				t.Errorf("%s: a schema of %d bytes takes %v allocations, want at most 10", tool.name, len(got), n)
			}
		}
	}
}

// TestToolsDontSpeakHTTP checks that the texts of tools name tools and arguments where the document names calls, headers
// and the body.
func TestToolsDontSpeakHTTP(t *testing.T) {
	t.Parallel()
	tools, err := readTools()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*tool{}
	for _, tool := range tools {
		byName[tool.name] = tool
		input, errIn := json.Marshal(tool.schema)
		output, errOut := json.Marshal(tool.output)
		if errIn != nil || errOut != nil {
			t.Fatal(tool.name, errIn, errOut)
		}
		all := tool.description + string(input) + string(output)
		for _, http := range []string{"Idempotency-Key", "User-Agent", "ETag", "query parameter", "field of the body", "same address", "are ignored and named", "  "} {
			if strings.Contains(all, http) {
				t.Errorf("%s speaks of %q: %s", tool.name, http, all)
			}
		}
		for call := range tool.calls {
			if strings.Contains(all, call+" ") || strings.Contains(all, call+"`") || strings.Contains(all, call+".") || strings.Contains(all, call+"?") {
				t.Errorf("%s speaks of %s: %s", tool.name, call, all)
			}
		}
	}
	publish := byName["publishPrediction"]
	for _, want := range []string{"the same\nidempotencyKey,", "Without an idempotencyKey, look for it\nin listPredictions first. `errors` says"} {
		if !strings.Contains(publish.description, want) {
			t.Errorf("publishPrediction: %q lacks %q", publish.description, want)
		}
	}
	if got := publish.schema.Properties["dryRun"].Value.Description; got != "Check everything and store nothing." {
		t.Errorf("dryRun: %q", got)
	}
	for text, want := range map[string]string{
		"GET /api/agents?q= finds agents by name.":                             "listAgents with q finds agents by name.",
		"Read them again (GET /api/predictions?agent=<handle>), and continue.": "Read them again (listPredictions with agent), and continue.",
		`GET /api/predictions?agent=\u003chandle\u003e.`:                       "listPredictions with agent.",
		"Ids are UUIDs, as in GET /api/predictions.":                           "Ids are UUIDs, as in listPredictions.",
		"Those of `/api/stats`, and `GET /api/intelligence/markets/{id}`.":     "Those of `getStats`, and `getMarket`.",
		"Send POST /api/session, or GET /api/agents/ada.":                      "Send POST /api/session, or GET /api/agents/ada.",
		`{"field":"Idempotency-Key","message":"must be short"}`:                `{"field":"idempotencyKey","message":"must be short"}`,
	} {
		if got := publish.reword(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestSentencesForHTTPAreWritten checks that each sentence that tools leave out is in the description that it belongs to.
func TestSentencesForHTTPAreWritten(t *testing.T) {
	t.Parallel()
	operations, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	check := func(at, description string, keywords map[string]any) {
		sentences, ok := keywords[onlyHTTP].([]any)
		if !ok && keywords[onlyHTTP] != nil {
			t.Errorf("%s: %s is not a list", at, onlyHTTP)
		}
		for _, s := range sentences {
			found++
			if text, ok := s.(string); !ok || !sentence(text).MatchString(description) {
				t.Errorf("%s: %q lacks the sentence %v", at, description, s)
			}
		}
	}
	for _, o := range operations {
		check(o.OperationID, o.Description, o.Extensions)
		for _, p := range o.Parameters {
			check(o.OperationID+" "+p.Value.Name, p.Value.Description, p.Value.Extensions)
		}
	}
	if found == 0 {
		t.Error("no sentence is marked")
	}
}
