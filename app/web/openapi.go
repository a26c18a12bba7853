package web

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/views/pages"
)

// reference is the OpenAPI document in the form that /docs/api shows.
type reference struct {
	groups  []pages.OperationGroup
	schemas []pages.Schema
}

func newReference() (*reference, error) {
	doc, err := contract.Document()
	if err != nil {
		return nil, err
	}
	groups, err := operationGroups(doc.Tags)
	if err != nil {
		return nil, err
	}
	var schemas []pages.Schema
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if members := properties(doc.Components.Schemas[name]); len(members) > 0 {
			schemas = append(schemas, pages.Schema{
				Name: name, Text: doc.Components.Schemas[name].Value.Description, Properties: members,
			})
		}
	}
	return &reference{groups, schemas}, nil
}

func operationGroups(tags openapi3.Tags) ([]pages.OperationGroup, error) {
	operations, err := contract.Operations()
	if err != nil {
		return nil, err
	}
	var groups []pages.OperationGroup
	for _, tag := range tags {
		g := pages.OperationGroup{
			ID: "api-" + tag.Name, Name: strings.ToUpper(tag.Name[:1]) + tag.Name[1:], Text: tag.Description,
		}
		for _, op := range operations {
			if !slices.Contains(op.Tags, tag.Name) {
				continue
			}
			shown, err := operation(op)
			if err != nil {
				return nil, err
			}
			g.Operations = append(g.Operations, shown)
		}
		if len(g.Operations) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func operation(op contract.Operation) (pages.Operation, error) {
	html, _, err := renderMarkdown([]byte(op.Description), 3)
	if err != nil {
		return pages.Operation{}, err
	}
	o := pages.Operation{
		ID: "op-" + op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Text: html,
		Bearer: string(op.Bearer()), Body: properties(op.Body()),
	}
	for _, ref := range op.Parameters {
		p := ref.Value
		o.Parameters = append(o.Parameters, pages.Property{
			Name: p.Name, Type: typeName(p.Schema) + placeSuffix(p.In), Ref: refName(p.Schema), Required: p.Required, Text: sentence(p.Description, p.Schema),
		})
	}
	if response := op.Responses.Status(200); response != nil {
		for name, media := range response.Value.Content {
			o.AnswerType = name
			if name == "application/json" {
				o.Answer = properties(media.Schema)
			}
		}
	}
	return o, nil
}

func placeSuffix(place string) string {
	if place == "query" {
		return ""
	}
	return ", " + place
}

// properties returns the members of an object. If the object is made of several parts, it returns
// the members of all parts.
func properties(ref *openapi3.SchemaRef) []pages.Property {
	if ref == nil || ref.Value == nil {
		return nil
	}
	var out []pages.Property
	for _, part := range ref.Value.AllOf {
		out = append(out, properties(part)...)
	}
	required := ref.Value.Required
	for _, name := range propertyOrder(ref.Value) {
		p := ref.Value.Properties[name]
		out = append(out, pages.Property{
			Name: name, Type: typeName(p), Ref: refName(p), Required: slices.Contains(required, name), Text: sentence("", p),
		})
	}
	return out
}

// propertyOrder lists required members first, in the order of the required list, which is the order
// of the document. The map has no order.
func propertyOrder(s *openapi3.Schema) []string {
	var names []string
	for _, name := range s.Required {
		if s.Properties[name] != nil {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// refName returns the record that a schema names directly, in a list, or as an alternative to null.
func refName(ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	if name := ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]; name != "" {
		if len(properties(&openapi3.SchemaRef{Value: ref.Value})) == 0 {
			return ""
		}
		return name
	}
	if ref.Value.Items != nil {
		return refName(ref.Value.Items)
	}
	for _, part := range ref.Value.OneOf {
		if name := refName(part); name != "" {
			return name
		}
	}
	return ""
}

// typeName describes a type in words: "string or null", "list of Prediction", "integer 1 to 100".
func typeName(ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil {
		return "any"
	}
	s := ref.Value
	if name := refName(ref); name != "" && ref.Ref != "" {
		return name
	}
	if len(s.OneOf) > 0 {
		var parts []string
		for _, part := range s.OneOf {
			parts = append(parts, typeName(part))
		}
		return strings.Join(parts, " or ")
	}
	if s.Type == nil {
		if s.Const != nil {
			return fmt.Sprint(s.Const)
		}
		return "any"
	}
	var words []string
	for _, t := range s.Type.Slice() {
		if t == "array" {
			t = "list of " + typeName(s.Items)
		}
		words = append(words, t)
	}
	name := strings.Join(words, " or ")
	switch {
	case s.Format == "date-time":
		name = strings.Replace(name, "string", "time", 1)
	case s.Format != "":
		name = strings.Replace(name, "string", s.Format, 1)
	}
	return name + bounds(s)
}

func bounds(s *openapi3.Schema) string {
	switch {
	case s.Min != nil && s.Max != nil:
		return " " + decimal(*s.Min) + " to " + decimal(*s.Max)
	case s.Min != nil:
		return " from " + decimal(*s.Min)
	case s.MaxLength != nil && s.MinLength > 0:
		return ", " + strconv.FormatUint(s.MinLength, 10) + " to " + strconv.FormatUint(*s.MaxLength, 10) + " characters"
	case s.MaxLength != nil:
		return ", at most " + strconv.FormatUint(*s.MaxLength, 10) + " characters"
	default:
		return ""
	}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// sentence returns a description with the facts that the type doesn't show: choices and default.
func sentence(text string, ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil {
		return text
	}
	s := ref.Value
	if text == "" {
		text = s.Description
	}
	if len(s.Enum) > 0 && len(s.Enum) < 12 {
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprint(e))
		}
		text = strings.TrimSpace(text + " One of " + strings.Join(words, ", ") + ".")
	}
	if s.Default != nil {
		text = strings.TrimSpace(text + " Default " + fmt.Sprint(s.Default) + ".")
	}
	return text
}
