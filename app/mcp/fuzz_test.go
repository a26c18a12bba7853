package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// FuzzArguments checks that the arguments of a tool are refused with a message, or make one request of its
// path.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"id":"a/../b","q":"x y"}`, `{"id":1e400,"title":"t","dryRun":true}`, `{"id":null}`, `{"include":"texts"}`, `{"q":{"a":[1]}}`, `[]`, `{"a":1,"a":2}`, `{"\ud800":1}`, "\xff"} {
		f.Add([]byte(seed))
	}
	text := func() *openapi3.SchemaRef { return openapi3.NewSchemaRef("", openapi3.NewStringSchema()) }
	schema := &openapi3.Schema{Properties: openapi3.Schemas{"id": text(), "q": text(), "title": text(), "dryRun": text(), include: text()}}
	tools := []*tool{
		{schema: schema, name: "get", method: "GET", path: "/api/things/{id}", parameters: map[string]string{"id": "path", "q": "query", include: "query"}},
		{schema: schema, name: "publish", method: "POST", path: "/api/things", parameters: map[string]string{"dryRun": "query"}, body: true},
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		for _, tool := range tools {
			r, _, err := tool.request(json.RawMessage(arguments))
			if err != nil {
				if strings.Contains(err.Error(), "Go ") {
					t.Errorf("%s refuses %q by %v", tool.name, arguments, err)
				}
				continue
			}
			path, _, _ := strings.Cut(string(r.RequestURI()), "?")
			if !strings.HasPrefix(path, "/api/things") || strings.Count(path, "/") > strings.Count(tool.path, "/") {
				t.Errorf("%s makes %q of %q", tool.name, r.RequestURI(), arguments)
			}
		}
	})
}

// FuzzRewrite checks that JSON without the text of others is still JSON.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{`{"ok":true,"items":[{"title":"t","n":1}]}`, `{"title":null}`, `{"items":[{"title":["a"]}]}`, `[]`, `{"items":1}`} {
		f.Add([]byte(seed), true)
	}
	title := openapi3.NewStringSchema()
	title.Extensions = map[string]any{"x-untrusted": true}
	item := openapi3.NewObjectSchema().WithProperty("title", title)
	whole := openapi3.NewObjectSchema().WithProperty("title", title).WithProperty("items", openapi3.NewArraySchema().WithItems(item))
	s := readShape(openapi3.NewSchemaRef("", whole))
	f.Fuzz(func(t *testing.T, answer []byte, include bool) {
		got, err := s.rewrite(answer, include)
		if err == nil && !json.Valid(got) {
			t.Errorf("%q becomes %q", answer, got)
		}
	})
}
