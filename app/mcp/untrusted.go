package mcp

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// marked is the extension of openapi.yaml for text that others wrote at any length.
	marked = "x-untrusted"
	// untrusted is the field of an answer that holds such text.
	untrusted = "untrusted"

	maxText  = 500 // runes of one text in a list
	maxItems = 5   // elements of one array of texts in a list
)

// shape says where text of others is in an answer. A nil shape means that there is none in this value.
type shape struct {
	texts  []string          // properties of this object that hold such text
	fields map[string]*shape // the other properties with such text somewhere inside
	items  *shape            // of the elements of an array
}

// readShape returns the shape of a schema, or nil if it has no marked property.
func readShape(ref *openapi3.SchemaRef) *shape {
	if ref == nil || ref.Value == nil {
		return nil
	}
	s := &shape{items: readShape(ref.Value.Items), fields: map[string]*shape{}}
	for _, part := range parts(ref.Value) {
		if below := readShape(part); below != nil {
			s.texts = append(s.texts, below.texts...)
			maps.Copy(s.fields, below.fields)
			s.items = firstOf(s.items, below.items)
		}
	}
	for name, property := range ref.Value.Properties {
		if holdsText(property) {
			s.texts = append(s.texts, name)
		} else if below := readShape(property); below != nil {
			s.fields[name] = below
		}
	}
	slices.Sort(s.texts)
	if len(s.texts) == 0 && len(s.fields) == 0 && s.items == nil {
		return nil
	}
	return s
}

// parts returns the schemas that a schema is combined from.
func parts(s *openapi3.Schema) openapi3.SchemaRefs {
	return slices.Concat(s.AllOf, s.OneOf, s.AnyOf)
}

func firstOf(a, b *shape) *shape {
	if a != nil {
		return a
	}
	return b
}

func holdsText(ref *openapi3.SchemaRef) bool {
	yes, _ := ref.Value.Extensions[marked].(bool)
	return yes
}

// names adds the names of the texts in lists, and of those in single records, to two sets.
func (s *shape) names(inList bool, listed, single map[string]bool) {
	if s == nil {
		return
	}
	set := single
	if inList {
		set = listed
	}
	for _, name := range s.texts {
		set[name] = true
	}
	for _, below := range s.fields {
		below.names(inList, listed, single)
	}
	s.items.names(true, listed, single)
}

// rewrite moves the text of others in an answer into the field untrusted of its record. In lists it leaves
// the text out, or cuts it short if include is true.
func (s *shape) rewrite(answer []byte, include bool) ([]byte, error) {
	if s == nil {
		return answer, nil
	}
	var out bytes.Buffer
	r := rewriter{jsontext.NewDecoder(bytes.NewReader(answer)), jsontext.NewEncoder(&out), include}
	if err := r.value(s, false); err != nil {
		return nil, fmt.Errorf("take texts out of an answer: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

type rewriter struct {
	in      *jsontext.Decoder
	out     *jsontext.Encoder
	include bool
}

func (r rewriter) value(s *shape, inList bool) error {
	switch kind := r.in.PeekKind(); {
	case s != nil && kind == '{':
		return r.object(s, inList)
	case s != nil && kind == '[':
		return r.array(s)
	}
	v, err := r.in.ReadValue()
	if err != nil {
		return err
	}
	return r.out.WriteValue(v)
}

func (r rewriter) array(s *shape) error {
	if err := r.token(); err != nil {
		return err
	}
	for r.in.PeekKind() != ']' {
		if err := r.value(s.items, true); err != nil {
			return err
		}
	}
	return r.token()
}

func (r rewriter) object(s *shape, inList bool) error {
	if err := r.token(); err != nil {
		return err
	}
	texts := map[string]jsontext.Value{}
	for r.in.PeekKind() != '}' {
		token, err := r.in.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if slices.Contains(s.texts, name) {
			v, err := r.in.ReadValue()
			if err != nil {
				return err
			}
			texts[name] = v.Clone()
			continue
		}
		if err := r.out.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := r.value(s.fields[name], inList); err != nil {
			return err
		}
	}
	if err := r.untrusted(texts, inList); err != nil {
		return err
	}
	return r.token()
}

// token copies one token.
func (r rewriter) token() error {
	t, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	return r.out.WriteToken(t)
}

// untrusted writes the texts of one record.
func (r rewriter) untrusted(texts map[string]jsontext.Value, inList bool) error {
	if len(texts) == 0 || (inList && !r.include) {
		return nil
	}
	truncated := false
	if inList {
		for name, v := range texts {
			short, cut, err := shorten(v)
			if err != nil {
				return err
			}
			texts[name], truncated = short, truncated || cut
		}
	}
	object := map[string]any{"truncated": truncated}
	for name, v := range texts {
		object[name] = v
	}
	if err := r.out.WriteToken(jsontext.String(untrusted)); err != nil {
		return err
	}
	return json.MarshalEncode(r.out, object, json.Deterministic(true))
}

// shorten cuts texts and arrays inside a value. It reports whether it cut any.
func shorten(value jsontext.Value) (jsontext.Value, bool, error) {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, false, err
	}
	v, cut := shortened(v)
	short, err := json.Marshal(v, json.Deterministic(true))
	return short, cut, err
}

func shortened(value any) (_ any, cut bool) {
	switch v := value.(type) {
	case string:
		if runes := []rune(v); len(runes) > maxText {
			return strings.TrimSpace(string(runes[:maxText])) + "…", true
		}
	case []any:
		if len(v) > maxItems {
			v, cut = v[:maxItems], true
		}
		for i := range v {
			short, one := shortened(v[i])
			v[i], cut = short, cut || one
		}
		return v, cut
	case map[string]any:
		for name := range v {
			short, one := shortened(v[name])
			v[name], cut = short, cut || one
		}
	}
	return value, cut
}
