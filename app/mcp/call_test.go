package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestArgumentsAreOneObject checks that malformed arguments are refused and not silently repaired. If
// dryRun were sent twice, the last value would decide whether a prediction is published for good.
func TestArgumentsAreOneObject(t *testing.T) {
	t.Parallel()
	publish := &tool{schema: &openapi3.Schema{}, name: "publish", method: "POST", path: "/p", parameters: map[string]string{"dryRun": "query"}, body: true}
	for _, arguments := range []string{
		`{"dryRun":true,"dryRun":false}`, `{"title":"a","title":"b"}`, `{"title":"\ud800"}`, `{"\ud800":1}`, `[]`, `1`,
	} {
		if r, _, err := publish.request(json.RawMessage(arguments)); err == nil || !strings.HasPrefix(err.Error(), "arguments must be one JSON object") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, %v", arguments, r, err)
		}
	}
}

// TestNumbers checks that whole numbers are sent as integers where the schema has an integer, and that a number that no
// float can hold is sent unchanged, so that the refusal of the API names it.
func TestNumbers(t *testing.T) {
	t.Parallel()
	schema := &openapi3.Schema{Properties: openapi3.Schemas{
		"q": openapi3.NewSchemaRef("", openapi3.NewStringSchema()), "n": openapi3.NewSchemaRef("", openapi3.NewIntegerSchema()),
	}}
	list := &tool{schema: schema, name: "list", method: "GET", path: "/p", parameters: map[string]string{"q": "query", "n": "query"}}
	for written, want := range map[string]string{
		`"q": 1e400`: "q=1e400", `"q": 0.50`: "q=0.50", `"q": 24.0`: "q=24.0", `"q": true`: "q=true", `"q": "a b"`: "q=a+b", `"q": null`: "",
		`"n": 24`: "n=24", `"n": 24.0`: "n=24", `"n": 2.4e1`: "n=24", `"n": -2E0`: "n=-2", `"n": 2.4`: "n=2.4", `"n": 1e400`: "n=1e400",
		`"n": 1e30`: "n=1e30", `"n": "a.b"`: "n=a.b", `"n": "NaN"`: "n=NaN", `"n": true`: "n=true", `"n": null`: "",
	} {
		r, _, err := list.request(json.RawMessage(`{` + written + `}`))
		if err != nil || string(r.URI().QueryString()) != want {
			t.Errorf("%s: %s, %v", written, r.RequestURI(), err)
		}
	}
}
