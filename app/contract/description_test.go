package contract

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// withoutETag lists the GET operations whose answer can't be revalidated: health changes every
// second, an export is written while it is read, and a stream has no end.
var withoutETag = []string{"getHealth", "exportOwnData", "streamUpdates"}

func TestEveryOperationIsDescribedForGenerators(t *testing.T) {
	t.Parallel()
	all, err := Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Security == nil {
			t.Errorf("%s has no security; write [] for a public operation", o.OperationID)
		}
		if o.Description == "" {
			t.Errorf("%s: no description", o.OperationID)
		}
		if o.Responses.Value("4XX") == nil || o.Responses.Default() == nil {
			t.Errorf("%s: the answers 4XX and default must be described", o.OperationID)
		}
		revalidated := o.Method == "GET" && !slices.Contains(withoutETag, o.OperationID)
		if conditional := o.Parameters.GetByInAndName("header", "If-None-Match") != nil; conditional != revalidated {
			t.Errorf("%s: takes If-None-Match: %v", o.OperationID, conditional)
		}
		if (o.Responses.Status(304) != nil) != revalidated {
			t.Errorf("%s: answers 304: %v", o.OperationID, !revalidated)
		}
		checkSuccess(t, o, revalidated)
		checkBody(t, o)
	}
}

func checkSuccess(t *testing.T, o Operation, revalidated bool) {
	t.Helper()
	success := o.Responses.Status(200)
	if success == nil {
		t.Errorf("%s has no answer 200", o.OperationID)
		return
	}
	want := []string{"Cache-Control", "X-Request-Id"}
	if revalidated {
		want = append(want, "ETag")
	}
	for _, name := range want {
		if success.Value.Headers[name] == nil {
			t.Errorf("%s: the answer doesn't declare the header %s", o.OperationID, name)
		}
	}
	if media := success.Value.Content.Get("application/json"); media != nil && media.Schema.Ref == "" && o.OperationID != "getOpenAPI" {
		t.Errorf("%s: the answer's schema has no name", o.OperationID)
	}
}

func checkBody(t *testing.T, o Operation) {
	t.Helper()
	body := o.Body()
	if body == nil {
		return
	}
	if body.Ref == "" {
		t.Errorf("%s: the body's schema has no name", o.OperationID)
	}
	for name, p := range body.Value.Properties {
		if p.Value.Default != nil {
			t.Errorf("%s: %s has a default, which makes it required in TypeScript: describe it in words", o.OperationID, name)
		}
	}
}

func TestEverySchemaIsDescribedForGenerators(t *testing.T) {
	t.Parallel()
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		ref := doc.Components.Schemas[name]
		checkSchema(t, name, ref, true)
		goNames := map[string]string{}
		for property, p := range ref.Value.Properties {
			exported, _ := p.Value.Extensions["x-go-name"].(string)
			if exported == "" {
				exported = strings.ToLower(strings.ReplaceAll(property, "_", ""))
			}
			if other := goNames[exported]; other != "" {
				t.Errorf("%s: %s and %s have the same name in Go: give one an x-go-name", name, property, other)
			}
			goNames[exported] = property
		}
	}
}

// checkSchema fails for a number without a format and for an object without a name.
func checkSchema(t *testing.T, at string, ref *openapi3.SchemaRef, named bool) {
	t.Helper()
	if ref == nil || ref.Ref != "" {
		return
	}
	s := ref.Value
	if s.Type.Includes(openapi3.TypeNumber) && s.Format != "double" {
		t.Errorf("%s: a number without the format double is 32 bits wide in Go", at)
	}
	if len(s.Properties) > 0 && !named {
		t.Errorf("%s: an object without a name: move it to components/schemas", at)
	}
	for name, p := range s.Properties {
		checkSchema(t, at+"."+name, p, false)
	}
	checkSchema(t, at+"[]", s.Items, false)
	for _, part := range slices.Concat(s.OneOf, s.AnyOf) {
		checkSchema(t, at, part, false)
	}
	for _, part := range s.AllOf {
		checkSchema(t, at, part, named)
	}
}
