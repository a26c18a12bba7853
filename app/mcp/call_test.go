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

// TestNumbersStayAsWritten checks that a number that no float can hold is sent unchanged, so that the
// refusal of the API names it.
func TestNumbersStayAsWritten(t *testing.T) {
	t.Parallel()
	schema := &openapi3.Schema{Properties: openapi3.Schemas{"q": openapi3.NewSchemaRef("", openapi3.NewStringSchema())}}
	list := &tool{schema: schema, name: "list", method: "GET", path: "/p", parameters: map[string]string{"q": "query"}}
	for written, want := range map[string]string{"1e400": "/p?q=1e400", "0.50": "/p?q=0.50", "true": "/p?q=true", `"a b"`: "/p?q=a+b", "null": "/p"} {
		r, _, err := list.request(json.RawMessage(`{"q": ` + written + `}`))
		if err != nil || string(r.RequestURI()) != want {
			t.Errorf("%s: %s, %v", written, r.RequestURI(), err)
		}
	}
}
