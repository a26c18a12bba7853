package mcp

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
)

// TestRewrite checks that marked properties are moved at every level, and that no other property is.
func TestRewrite(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxText+1)
	short := strings.Repeat("é", maxText) + "…"
	shape := &shape{fields: map[string]*shape{
		"one":  {texts: []string{"a", "b"}},
		"list": {items: &shape{texts: []string{"a"}, fields: map[string]*shape{"of": {texts: []string{"a"}}}}},
	}}
	for _, c := range []struct{ name, answer, listed, included string }{
		{"no text", `{"ok":true,"n":1.50,"s":"<&é"}`, `{"ok":true,"n":1.50,"s":"<&é"}`, `{"ok":true,"n":1.50,"s":"<&é"}`},
		{"a record keeps its whole text", `{"one":{"a":"` + long + `","x":1,"b":null}}`,
			`{"one":{"x":1,"untrusted":{"a":"` + long + `","b":null,"truncated":false}}}`,
			`{"one":{"x":1,"untrusted":{"a":"` + long + `","b":null,"truncated":false}}}`},
		{"a list leaves it out", `{"list":[{"x":1,"a":"t"},{"a":"` + long + `","x":2},{"x":3}],"z":0}`,
			`{"list":[{"x":1},{"x":2},{"x":3}],"z":0}`,
			`{"list":[{"x":1,"untrusted":{"a":"t","truncated":false}},{"x":2,"untrusted":{"a":"` + short + `","truncated":true}},{"x":3}],"z":0}`},
		{"below a list too", `{"list":[{"of":{"a":"t"}}]}`, `{"list":[{"of":{}}]}`, `{"list":[{"of":{"untrusted":{"a":"t","truncated":false}}}]}`},
		{"long arrays", `{"list":[{"a":[1,2,3,4,5,6]}]}`, `{"list":[{}]}`, `{"list":[{"untrusted":{"a":[1,2,3,4,5],"truncated":true}}]}`},
		{"null where an object may be", `{"one":null,"list":[null]}`, `{"one":null,"list":[null]}`, `{"one":null,"list":[null]}`},
	} {
		for include, want := range map[bool]string{false: c.listed, true: c.included} {
			got, err := shape.rewrite([]byte(c.answer), include)
			if err != nil || string(got) != want {
				t.Errorf("%s, include %v: %v\n%.300s\nwant\n%.300s", c.name, include, err, got, want)
			}
		}
	}
	if got, err := shape.rewrite([]byte(`{"one":{"a":`), false); err == nil {
		t.Errorf("an incomplete answer gives %s", got)
	}
}

// TestEveryMarkIsKeptApart checks that every marked property that others can write is inside untrusted in
// all schemas, and that the document itself isn't changed.
func TestEveryMarkIsKeptApart(t *testing.T) {
	t.Parallel()
	tools, err := readTools()
	if err != nil {
		t.Fatal(err)
	}
	apart := map[string]bool{}
	for _, tool := range tools {
		if tool.texts == nil {
			continue
		}
		apart[tool.name] = true
		var walk func(path string, ref *openapi3.SchemaRef)
		walk = func(path string, ref *openapi3.SchemaRef) {
			if ref == nil {
				return
			}
			for name, property := range ref.Value.Properties {
				if name == "thesis" || name == "evidence" || name == "summary" {
					t.Errorf("%s: %s.%s", tool.name, path, name)
				}
				if name != untrusted {
					walk(path+"."+name, property)
				}
			}
			walk(path+"[]", ref.Value.Items)
			for _, part := range parts(ref.Value) {
				walk(path, part)
			}
		}
		walk("", openapi3.NewSchemaRef("", tool.output))
	}
	for _, name := range []string{"listPredictions", "getPrediction", "getMarket", "listNews", "getAgent"} {
		if !apart[name] {
			t.Errorf("%s doesn't keep texts apart", name)
		}
	}
	if apart["publishPrediction"] || apart["getStats"] {
		t.Error("an agent's own texts are kept apart from it")
	}
	doc, err := contract.Document()
	if err != nil || !holdsText(doc.Components.Schemas["Prediction"].Value.Properties["thesis"]) {
		t.Errorf("the document was changed: %v", err)
	}
}
