package contract

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var updatePython = flag.Bool("update-python", false, "write the types of the Python client")

const (
	pythonClient = "../../static/clients/pulsecast.py"
	// generatedBelow is the beginning of the line in pulsecast.py below which everything is
	// generated.
	generatedBelow = "# --- Generated from openapi.yaml"
)

// TestPythonTypes checks that the types of the Python client are those of the document. After a
// change of the document, write them with go test ./app/contract -run TestPythonTypes
// -update-python.
func TestPythonTypes(t *testing.T) {
	doc, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(pythonClient)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(have, []byte(generatedBelow))
	if at < 0 {
		t.Fatalf("%s has no line that begins with %q", pythonClient, generatedBelow)
	}
	line, _, _ := bytes.Cut(have[at:], []byte("\n"))
	want := slices.Concat(have[:at], line, []byte("\n"), pythonTypes(doc))
	if *updatePython {
		if err := os.WriteFile(pythonClient, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s has other types than the document: run go test ./app/contract -run TestPythonTypes -update-python", pythonClient)
	}
}

// pythonTypes returns a TypedDict for each object schema.
func pythonTypes(doc *openapi3.T) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if schema := doc.Components.Schemas[name].Value; isObject(schema) {
			fmt.Fprintf(&out, "\n\n%s", pythonType(name, schema))
		}
	}
	return out.Bytes()
}

func isObject(s *openapi3.Schema) bool { return len(s.Properties) > 0 || len(s.AllOf) > 0 }

// pythonType returns the TypedDict of one schema. Python 3.9 can't mark a single field as optional,
// so a class with optional fields extends one with the required fields.
func pythonType(name string, s *openapi3.Schema) string {
	base := "TypedDict"
	for _, part := range s.AllOf {
		if part.Ref != "" {
			base = refName(part.Ref)
		} else {
			s = part.Value
		}
	}
	required, optional := fieldsOf(s)
	if slices.ContainsFunc(slices.Concat(required, optional), isKeyword) {
		return pythonCall(name, s, required)
	}
	if len(optional) == 0 {
		return pythonClass(name, base, s, required)
	}
	if len(required) == 0 {
		return pythonClass(name, base+", total=False", s, optional)
	}
	return pythonClass("_RequiredOf"+name, base, s, required) + "\n\n" +
		pythonClass(name, "_RequiredOf"+name+", total=False", s, optional)
}

func pythonClass(name, bases string, s *openapi3.Schema, fields []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "class %s(%s):\n", name, bases)
	for _, field := range fields {
		fmt.Fprintf(&b, "    %s: %s\n", field, pythonOf(s.Properties[field]))
	}
	return b.String()
}

// pythonCall returns a type in call syntax, for a schema with a field whose name a class can't
// have, such as from.
func pythonCall(name string, s *openapi3.Schema, fields []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = TypedDict(\"%s\", {\n", name, name)
	for _, field := range fields {
		fmt.Fprintf(&b, "    \"%s\": %q,\n", field, pythonOf(s.Properties[field]))
	}
	return b.String() + "})\n"
}

func isKeyword(name string) bool {
	return slices.Contains([]string{"from", "class", "def", "global", "import", "in", "is", "not", "or", "pass", "return", "with"}, name)
}

// fieldsOf returns the required fields in the order of the document, and the others by name.
func fieldsOf(s *openapi3.Schema) (required, optional []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			optional = append(optional, name)
		}
	}
	return s.Required, optional
}

// pythonOf returns the Python type of a field.
func pythonOf(ref *openapi3.SchemaRef) string {
	s := ref.Value
	if ref.Ref != "" && isObject(s) {
		return refName(ref.Ref)
	}
	for _, one := range s.OneOf {
		if !one.Value.Type.Is("null") {
			return "Optional[" + pythonOf(one) + "]"
		}
	}
	if s.Type.Includes("null") {
		return "Optional[" + pythonPlain(s) + "]"
	}
	return pythonPlain(s)
}

// pythonPlain returns the Python type of a schema without its null.
func pythonPlain(s *openapi3.Schema) string {
	switch {
	case s.Type.Includes("string"):
		return pythonText(s.Enum)
	case s.Type.Includes("integer"):
		return "int"
	case s.Type.Includes("number"):
		return "float"
	case s.Type.Includes("array"):
		return "List[" + pythonOf(s.Items) + "]"
	case s.Type.Includes("object"):
		return "Dict[str, Any]"
	}
	return "bool" // ok has a const but no type
}

func pythonText(values []any) string {
	var quoted []string
	for _, v := range values {
		if text, ok := v.(string); ok {
			quoted = append(quoted, `"`+text+`"`)
		}
	}
	if line := "Literal[" + strings.Join(quoted, ", ") + "]"; len(quoted) > 0 && len(line) < 80 {
		return line
	}
	return "str"
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
