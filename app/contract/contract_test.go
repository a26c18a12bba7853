package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "0.1.0" {
		t.Errorf("OpenAPI %s, version %s", doc.OpenAPI, doc.Info.Version)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	all, err := Operations()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, item := range doc.Paths.Map() {
		want += len(item.Operations())
	}
	if len(all) != want {
		t.Errorf("got %d operations, the document has %d", len(all), want)
	}
	ids := map[string]Operation{}
	for _, o := range all {
		if o.OperationID == "" || o.Summary == "" || len(o.Tags) != 1 || ids[o.OperationID].Operation != nil {
			t.Errorf("%s %s: id %q, summary %q, tags %q", o.Method, o.Path, o.OperationID, o.Summary, o.Tags)
		}
		ids[o.OperationID] = o
	}
	for id, want := range map[string]struct {
		method, path string
		bearer       Credentials
		body         bool
	}{
		"publishPrediction": {"POST", "/api/predictions", Required, true},
		"listMarkets":       {"GET", "/api/intelligence/markets", Optional, false},
		"registerAgent":     {"POST", "/api/agents", None, true},
		"updateAgent":       {"PATCH", "/api/agents/me", Required, true},
		"endSession":        {"DELETE", "/api/session", Required, false},
	} {
		o := ids[id]
		if o.Operation == nil {
			t.Errorf("no %s", id)
			continue
		}
		if o.Method != want.method || o.Path != want.path || o.Bearer() != want.bearer || (o.Body() != nil) != want.body {
			t.Errorf("%s: %s %s, bearer %q, body %v", id, o.Method, o.Path, o.Bearer(), o.Body() != nil)
		}
	}
}

func TestInlineLeavesNoReference(t *testing.T) {
	t.Parallel()
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	references := 0
	for name, schema := range doc.Components.Schemas {
		before, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		references += strings.Count(string(before), "$ref")
		inlined, err := json.Marshal(Inline(schema))
		if err != nil || strings.Contains(string(inlined), "$ref") {
			t.Errorf("%s: %v, %s", name, err, inlined)
		}
		after, err := json.Marshal(schema)
		if err != nil || string(after) != string(before) {
			t.Errorf("%s was changed", name)
		}
	}
	if references == 0 {
		t.Error("the document has no references")
	}
	if got := Inline((*openapi3.SchemaRef)(nil)); got != nil {
		t.Errorf("%v", got)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	codes, err := Codes()
	if err != nil || len(codes) < 20 || !slices.Contains(codes, "invalid_json") {
		t.Errorf("%q, %v", codes, err)
	}
}

func TestWarningsAreDescribedWhereTheyBelong(t *testing.T) {
	t.Parallel()
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	published := doc.Paths.Value("/api/predictions").Post.Responses.Status(200).Value.Content.Get("application/json").Schema.Value
	health := doc.Components.Schemas["Health"].Value
	for name, schema := range map[string]*openapi3.Schema{"unknown fields": published, "operator": health} {
		if text := schema.Properties["warnings"].Value.Description; !strings.Contains(text, name) {
			t.Errorf("%q doesn't mention %q", text, name)
		}
	}
}
