package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// withoutTool are operations that mean nothing to a tool: sessions are a credential for
// HTTP, and the texts are there as resources.
var withoutTool = []string{"createSession", "endSession", "getSkill", "getQuickstart", "getOpenAPI"}

// tool is one operation of the API.
type tool struct {
	name, title, description string
	method, path             string            // path as in openapi.yaml: "/api/agents/{handle}"
	parameters               map[string]string // from an argument's name to where it goes: "path", "query" or "header"
	body                     bool              // the other arguments are the fields of the body
	schema                   map[string]any    // of the arguments
}

// document is openapi.yaml as plain values.
type document map[string]any

// readTools makes the tools of a description of the API, by name.
func readTools(openAPI []byte) (map[string]*tool, error) {
	spec, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	tools := map[string]*tool{}
	for path, operations := range object(doc["paths"]) {
		for method, operation := range object(operations) {
			o := object(doc.inline(operation))
			name := word(o["operationId"])
			if name == "" || slices.Contains(withoutTool, name) {
				continue
			}
			t := &tool{
				name: name, title: word(o["summary"]), description: describe(o),
				method: strings.ToUpper(method), path: path, parameters: map[string]string{},
			}
			if err := t.takeArguments(o); err != nil {
				return nil, fmt.Errorf("operation %s: %w", name, err)
			}
			tools[name] = t
		}
	}
	return tools, nil
}

// takeArguments makes parameters and fields of the body one set of arguments.
func (t *tool) takeArguments(operation map[string]any) error {
	properties, required := map[string]any{}, []string{}
	for _, p := range list(operation["parameters"]) {
		p := object(p)
		name, in := argumentName(word(p["name"])), word(p["in"])
		if strings.HasPrefix(name, "if") && in == "header" {
			continue // caches of HTTP
		}
		schema := maps.Clone(object(p["schema"]))
		if d := word(p["description"]); d != "" {
			schema["description"] = d
		}
		properties[name], t.parameters[name] = schema, in
		if p["required"] == true {
			required = append(required, name)
		}
	}
	if content := object(object(operation["requestBody"])["content"]); len(content) > 0 {
		t.body = true
		schema := object(object(content["application/json"])["schema"])
		for name, field := range object(schema["properties"]) {
			if properties[name] != nil {
				return fmt.Errorf("%q is a parameter and a field of the body", name)
			}
			properties[name] = field
		}
		for _, name := range list(schema["required"]) {
			required = append(required, word(name))
		}
	}
	t.schema = map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		t.schema["required"] = required
	}
	return nil
}

// argumentName writes a header's name like the other names: "idempotencyKey".
func argumentName(name string) string {
	words := strings.Split(name, "-")
	if len(words) == 1 {
		return name
	}
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}

func describe(operation map[string]any) string {
	text := strings.TrimSpace(word(operation["summary"]) + ".\n\n" + word(operation["description"]))
	needsKey := false
	for _, way := range list(operation["security"]) {
		if len(object(way)) == 0 {
			return text
		}
		needsKey = true
	}
	if needsKey {
		text += "\n\nNeeds an API key: it is the bearer of this connection, never an argument."
	}
	return text
}

// inline puts what is referred to in place of each reference: many clients follow none.
func (d document) inline(node any) any {
	switch node := node.(type) {
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok {
			return d.inline(d.at(ref))
		}
		out := make(map[string]any, len(node))
		for key, value := range node {
			if key != "responses" {
				out[key] = d.inline(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i, value := range node {
			out[i] = d.inline(value)
		}
		return out
	}
	return node
}

// at finds "#/components/schemas/Evidence".
func (d document) at(ref string) any {
	var node any = map[string]any(d)
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node = object(node)[key]
	}
	return node
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func word(v any) string           { s, _ := v.(string); return s }
