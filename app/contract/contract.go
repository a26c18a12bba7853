// Package contract holds the OpenAPI document, the only description of the API. The document is
// parsed once, on first use, and shared by the API, the docs page, the MCP tools and the tests.
package contract

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// written is the hand-written document, without examples.
//
//go:embed openapi.yaml
var written []byte

// Document returns the parsed document with its references resolved. The document is shared, so
// callers must not change it. Parsing takes about half as long as the rest of a start, so no code
// calls Document before the first request that needs it.
var Document = sync.OnceValues(Load)

// Load parses the document again, for callers that change it, and adds the examples.
func Load() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(written)
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	return doc, addExamples(doc)
}

// An Operation is a method of a path.
type Operation struct {
	Method string // "GET"
	Path   string // with its parameters in braces, such as "/api/agents/{handle}"
	*openapi3.Operation
}

// methods lists the methods in the order in which a path's operations are listed.
var methods = []string{"GET", "POST", "PATCH", "PUT", "DELETE"}

// Operations returns every operation, sorted by path.
func Operations() ([]Operation, error) {
	doc, err := Document()
	if err != nil {
		return nil, err
	}
	var all []Operation
	for _, path := range doc.Paths.InMatchingOrder() {
		for _, method := range methods {
			if op := doc.Paths.Value(path).GetOperation(method); op != nil {
				all = append(all, Operation{method, path, op})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Operation) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Find returns the operation of a method and path. The path has its parameters in braces.
func Find(method, path string) (*Operation, error) {
	all, err := Operations()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Method == method && all[i].Path == path {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf("openapi.yaml has no operation %s %s", method, path)
}

// QueryParameters returns the names of the query parameters, in the order of the document.
func (o *Operation) QueryParameters() []string {
	var names []string
	for _, p := range o.Parameters {
		if p.Value.In == openapi3.ParameterInQuery {
			names = append(names, p.Value.Name)
		}
	}
	return names
}

// Body returns the schema of the JSON body of a request, or nil if there is none.
func (o *Operation) Body() *openapi3.SchemaRef {
	if o.RequestBody == nil {
		return nil
	}
	media := o.RequestBody.Value.Content.Get("application/json")
	if media == nil {
		return nil
	}
	return media.Schema
}

// Credentials says whether an operation needs an Authorization header.
type Credentials string

// These are the kinds of operations.
const (
	None     Credentials = ""
	Optional Credentials = "optional"
	Required Credentials = "required"
)

// Bearer returns whether the operation takes a bearer credential.
func (o *Operation) Bearer() Credentials {
	if o.Security == nil {
		return None
	}
	kind := None
	for _, requirement := range *o.Security {
		if len(requirement) == 0 {
			return Optional
		}
		kind = Required
	}
	return kind
}

// Codes returns the error codes in the order of the document.
func Codes() ([]string, error) {
	doc, err := Document()
	if err != nil {
		return nil, err
	}
	problem := doc.Components.Schemas["Problem"]
	if problem == nil || problem.Value.Properties["code"] == nil {
		return nil, fmt.Errorf("read openapi.yaml: the schema Problem has no code")
	}
	var codes []string
	for _, code := range problem.Value.Properties["code"].Value.Enum {
		codes = append(codes, fmt.Sprint(code))
	}
	return codes, nil
}

// Inline returns a copy of a schema in which every reference is replaced by its target, for clients
// that don't resolve references.
func Inline(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if ref == nil || ref.Value == nil {
		return ref
	}
	s := *ref.Value
	s.Items, s.Not = Inline(s.Items), Inline(s.Not)
	s.OneOf, s.AnyOf, s.AllOf = inlineAll(s.OneOf), inlineAll(s.AnyOf), inlineAll(s.AllOf)
	s.AdditionalProperties.Schema = Inline(s.AdditionalProperties.Schema)
	if s.Properties != nil {
		properties := make(openapi3.Schemas, len(s.Properties))
		for name, property := range s.Properties {
			properties[name] = Inline(property)
		}
		s.Properties = properties
	}
	return &openapi3.SchemaRef{Value: &s}
}

func inlineAll(refs openapi3.SchemaRefs) openapi3.SchemaRefs {
	out := make(openapi3.SchemaRefs, len(refs))
	for i, ref := range refs {
		out[i] = Inline(ref)
	}
	return out
}
