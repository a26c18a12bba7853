package mcp

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
)

// withoutTool lists operations that are no use as a tool: sessions are credentials for
// HTTP, a model doesn't close an account, keys and files don't belong in its context, the texts
// are resources, and a stream has no end.
var withoutTool = []string{
	"createSession", "endSession", "closeAgent", "exportOwnData", "listKeys", "replaceKey", "revokeKey", "listGrants", "revokeGrant",
	"getSkill", "getQuickstart", "getOpenAPI", "streamUpdates",
}

// tool is one operation of the API.
type tool struct {
	name, title, description string
	method, path             string            // path as in openapi.yaml: "/api/agents/{handle}"
	parameters               map[string]string // from an argument's name to its place: "path", "query" or "header"
	body                     bool              // the other arguments are the fields of the body
	schema                   *openapi3.Schema  // of the arguments
}

// readTools returns the tools of the OpenAPI document.
func readTools() ([]*tool, error) {
	operations, err := contract.Operations()
	if err != nil {
		return nil, err
	}
	var tools []*tool
	for _, o := range operations {
		if slices.Contains(withoutTool, o.OperationID) {
			continue
		}
		t := &tool{
			name: o.OperationID, title: o.Summary, description: describe(o),
			method: o.Method, path: o.Path, parameters: map[string]string{},
		}
		t.takeArguments(o)
		tools = append(tools, t)
	}
	return tools, nil
}

// takeArguments joins the parameters and the fields of the body in one set of arguments.
// References are inlined, because many clients follow none.
func (t *tool) takeArguments(o contract.Operation) {
	no := false
	t.schema = &openapi3.Schema{
		Type: &openapi3.Types{openapi3.TypeObject}, Properties: openapi3.Schemas{},
		AdditionalProperties: openapi3.AdditionalProperties{Has: &no},
	}
	for _, ref := range o.Parameters {
		p := ref.Value
		name := argumentName(p.Name)
		if p.In == openapi3.ParameterInHeader && strings.HasPrefix(name, "if") {
			continue // conditions of HTTP caches
		}
		schema := contract.Inline(p.Schema)
		if p.Description != "" {
			schema.Value.Description = p.Description
		}
		t.schema.Properties[name], t.parameters[name] = schema, p.In
		if p.Required {
			t.schema.Required = append(t.schema.Required, name)
		}
	}
	if body := contract.Inline(o.Body()); body != nil {
		t.body = true
		for name, field := range body.Value.Properties {
			if t.schema.Properties[name] == nil { // dryRun is a parameter too, and sent as one
				t.schema.Properties[name] = field
			}
		}
		t.schema.Required = append(t.schema.Required, body.Value.Required...)
	}
	slices.Sort(t.schema.Required)
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

func describe(o contract.Operation) string {
	text := strings.TrimSpace(o.Summary + ".\n\n" + o.Description)
	if o.Bearer() == contract.Required {
		text += "\n\nNeeds an API key: it is the bearer of this connection, never an argument."
	}
	return text
}
