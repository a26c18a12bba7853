package mcp

import (
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// onlyHTTP is the keyword of openapi.yaml that lists the sentences of a description that aren't true for tools.
const onlyHTTP = "x-http-only"

// describedCall finds a call of the API in a text, such as "GET /api/agents?q=" or `/api/stats`.
var describedCall = regexp.MustCompile(`\b(GET|POST|PATCH|PUT|DELETE) (/api[\w/{}-]*)(?:\?(\w+)=(?:<\w+>|\\u003c\w+\\u003e)?)?|` + "`(/api[\\w/{}-]*)`")

// withoutHTTP returns a description without the sentences that aren't true for tools.
func withoutHTTP(description string, keywords map[string]any) string {
	sentences, _ := keywords[onlyHTTP].([]any)
	for _, s := range sentences {
		text, _ := s.(string)
		description = sentence(text).ReplaceAllLiteralString(description, "")
	}
	return strings.TrimSpace(description)
}

// sentence finds a sentence, however its lines are broken, and the space before it.
func sentence(text string) *regexp.Regexp {
	return regexp.MustCompile(`\s*` + strings.ReplaceAll(regexp.QuoteMeta(text), " ", `\s+`))
}

// callsOf returns the names of tools by the calls that they make, such as "GET /api/stats".
func callsOf(tools []*tool) map[string]string {
	calls := map[string]string{}
	for _, t := range tools {
		calls[t.method+" "+t.path] = t.name
	}
	return calls
}

// reword writes a text of the API for the tool's caller: it names tools instead of calls, and arguments instead of
// headers. The text may be JSON, because no name needs an escape.
func (t *tool) reword(text string) string {
	for argument, header := range t.headers {
		text = strings.ReplaceAll(text, "the header "+header, "the argument "+argument)
		text = strings.ReplaceAll(text, header, argument)
	}
	return describedCall.ReplaceAllStringFunc(text, func(call string) string {
		part := describedCall.FindStringSubmatch(call)
		method, path, parameter, bare := part[1], part[2], part[3], part[4]
		switch name := t.calls[method+" "+path]; {
		case name != "" && parameter != "":
			return name + " with " + parameter
		case name != "":
			return name
		}
		if name := t.calls["GET "+bare]; name != "" {
			return "`" + name + "`"
		}
		return call
	})
}

// rewordAll rewords the tool's description and those in its schemas.
func (t *tool) rewordAll() {
	t.description = t.reword(t.description)
	t.rewordSchema(&openapi3.SchemaRef{Value: t.schema})
	t.rewordSchema(&openapi3.SchemaRef{Value: t.output})
}

func (t *tool) rewordSchema(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	s := ref.Value
	s.Description = t.reword(s.Description)
	t.rewordSchema(s.Items)
	t.rewordSchema(s.AdditionalProperties.Schema)
	for _, part := range parts(s) {
		t.rewordSchema(part)
	}
	for _, property := range s.Properties {
		t.rewordSchema(property)
	}
}
