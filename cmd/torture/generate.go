package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pulsecast/pulsecast/app/contract"
)

// generator makes requests from the OpenAPI document, both allowed and forbidden ones.
type generator struct {
	*rand.Rand
	operations []contract.Operation
	known      map[string][]string // existing values by parameter name
}

// generated is a request as it is sent.
type generated struct {
	operation string
	method    string
	target    string // path and query
	header    [][2]string
	body      []byte
}

func (g generated) String() string {
	return fmt.Sprintf("%s: %s %.300s %q %.300q", g.operation, g.method, g.target, g.header, g.body)
}

// nasty are texts that parsers often handle wrongly.
var nasty = []string{
	"", " ", "\x00", "%00", "%zz", "null", "true", "-1", "0", "1e309", "NaN", "999999999999999999999999", "' OR '1'='1", "\"", "\\", "../../etc/passwd",
	"\xff\xfe", "\u202eabc", "e\u0301", "😀", "\u200b", "{}", "[]", "a,b", "a;b", "*", "%", "_", "+", "0x10", "2026-02-30T25:61:61Z",
	"9999-12-31T23:59:59.999999999Z", "00000000-0000-0000-0000-000000000000", "updates", "me", "AAAA", "----", "W/\"", "<script>", "\r\nX: y", "\t",
}

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// junk returns a text that is likely to be refused.
func (g *generator) junk() string {
	switch g.IntN(4) {
	case 0:
		raw := make([]byte, g.IntN(40))
		for i := range raw {
			raw[i] = byte(g.Uint32())
		}
		return string(raw)
	case 1:
		return strings.Repeat(pick(g, nasty), 1+g.IntN(300))
	}
	return pick(g, nasty)
}

// request returns a request for a random operation.
func (g *generator) request() generated {
	op := pick(g, g.operations)
	r := generated{operation: op.OperationID, method: op.Method, target: op.Path}
	query := url.Values{}
	for _, p := range op.Parameters {
		name, needed := p.Value.Name, p.Value.Required
		if !needed && g.oneIn(2) {
			continue
		}
		value := g.parameter(name, p.Value.Schema)
		switch p.Value.In {
		case openapi3.ParameterInPath:
			value = cmp.Or(value, "-") // an empty value would make another path
			r.target = strings.Replace(r.target, "{"+name+"}", url.PathEscape(value), 1)
		case openapi3.ParameterInQuery:
			query.Add(name, value)
			if g.oneIn(20) {
				query.Add(name, g.parameter(name, p.Value.Schema))
			}
		case openapi3.ParameterInHeader:
			r.header = append(r.header, [2]string{name, value})
		}
	}
	if g.oneIn(15) {
		query.Add(g.junk(), g.junk())
	}
	if len(query) > 0 {
		r.target += "?" + query.Encode()
	}
	r.headers(g, &op)
	if body := op.Body(); body != nil && !g.oneIn(20) {
		r.body = g.body(body)
	}
	return r
}

// headers adds credentials and the headers of content negotiation.
func (r *generated) headers(g *generator, op *contract.Operation) {
	add := func(name, value string) { r.header = append(r.header, [2]string{name, value}) }
	switch {
	case g.oneIn(12):
		add("Authorization", "Bearer "+g.junk())
	case op.Bearer() == contract.Required && !g.oneIn(12), op.Bearer() == contract.Optional && g.oneIn(2):
		add("Authorization", "Bearer "+pick(g, g.known["key"]))
	}
	if op.RequestBody != nil {
		kind := "application/json"
		if g.oneIn(15) {
			kind = pick(g, []string{"", "text/plain", "application/json; charset=latin1", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", g.junk()})
		}
		add("Content-Type", kind)
	}
	if g.oneIn(4) {
		add("Accept", pick(g, []string{"*/*", "text/html", "application/json;q=0", "application/problem+json, */*;q=0.1", "text/html;q=1.5", g.junk()}))
	}
	if g.oneIn(4) {
		add("Accept-Encoding", pick(g, []string{"gzip", "br;q=1, gzip;q=0", "identity;q=0", "*;q=0", "zstd, gzip;q=x", g.junk()}))
	}
	if r.method == "POST" && g.oneIn(3) {
		add("Idempotency-Key", pick(g, []string{"a", `"quoted"`, `"open`, strings.Repeat("k", 300), g.junk()}))
	}
}

// parameter returns an existing value, a value that the schema allows, or junk.
func (g *generator) parameter(name string, schema *openapi3.SchemaRef) string {
	if g.oneIn(4) {
		return g.junk()
	}
	if known := g.known[name]; len(known) > 0 && !g.oneIn(3) {
		return pick(g, known)
	}
	value := g.value(schema, 0)
	if text, ok := value.(string); ok {
		return text
	}
	packed, _ := json.Marshal(value)
	return string(packed)
}

// body returns JSON that the schema allows. Some bodies are then changed.
func (g *generator) body(schema *openapi3.SchemaRef) []byte {
	value := g.value(schema, 0)
	if object, ok := value.(map[string]any); ok && g.oneIn(2) {
		g.disturb(object)
	}
	packed, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	if g.oneIn(6) {
		packed = g.mangle(packed)
	}
	return packed
}

// disturb changes one field of an object, or of an object inside it.
func (g *generator) disturb(object map[string]any) {
	names := make([]string, 0, len(object))
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok && g.oneIn(2) {
			g.disturb(inner)
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 || g.oneIn(4) {
		object[g.junk()] = g.junk()
		return
	}
	name := pick(g, names)
	switch g.IntN(4) {
	case 0:
		delete(object, name)
	case 1:
		object[strings.ToUpper(name)] = object[name]
	default:
		object[name] = pick(g, []any{nil, true, -1, 1e300, 0.123456789, g.junk(), []any{}, []any{nil}, map[string]any{}, []any{map[string]any{"url": g.junk(), "title": g.junk()}}})
	}
}

// mangle changes bytes so that they may no longer be JSON.
func (g *generator) mangle(text []byte) []byte {
	at := g.IntN(len(text) + 1)
	switch g.IntN(6) {
	case 0:
		return text[:at]
	case 1:
		return bytes.Join([][]byte{text[:at], []byte(g.junk()), text[at:]}, nil)
	case 2:
		return append(slices.Clone(text), text...)
	case 3:
		return bytes.Repeat([]byte(`{"a":[`), 5000)
	case 4:
		return append([]byte("\xef\xbb\xbf"), text...)
	}
	return bytes.Replace(text, []byte("{"), []byte(`{"title":"twice","title":"twice",`), 1)
}

// value returns a value that, in most cases, the schema allows.
func (g *generator) value(ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil || depth > 6 {
		return nil
	}
	s := ref.Value
	switch {
	case len(s.Enum) > 0:
		return pick(g, s.Enum)
	case s.Const != nil:
		return s.Const
	case len(s.OneOf) > 0:
		return g.value(pick(g, s.OneOf), depth+1)
	case len(s.AnyOf) > 0:
		return g.value(pick(g, s.AnyOf), depth+1)
	case len(s.AllOf) > 0:
		return g.value(pick(g, s.AllOf), depth+1)
	case s.Type == nil || len(*s.Type) == 0:
		return g.junk()
	}
	switch pick(g, *s.Type) {
	case "object":
		object := map[string]any{}
		for name, property := range s.Properties {
			if slices.Contains(s.Required, name) || g.oneIn(2) {
				object[name] = g.value(property, depth+1)
				if known := g.known[name]; len(known) > 0 && g.oneIn(2) {
					object[name] = pick(g, known)
				}
			}
		}
		return object
	case "array":
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(s.Items, depth+1))
		}
		return list
	case "integer":
		return int64(g.number(s))
	case "number":
		return float64(int(g.number(s)*100)) / 100
	case "boolean":
		return g.oneIn(2)
	case "string":
		return g.text(s)
	}
	return nil
}

func (g *generator) number(s *openapi3.Schema) float64 {
	low, high := 0.0, 100.0
	if s.Min != nil {
		low = *s.Min
	}
	if s.Max != nil {
		high = *s.Max
	}
	return low + g.Float64()*(high-low)
}

func (g *generator) text(s *openapi3.Schema) string {
	switch {
	case s.Format == "date-time":
		return time.Now().Add(time.Duration(g.IntN(1000)-100) * time.Hour).UTC().Format(time.RFC3339)
	case s.Format == "uri":
		return "https://example.org/" + fmt.Sprint(g.IntN(1000))
	case s.Format == "uuid":
		return pick(g, append(g.known["id"], "00000000-0000-7000-8000-000000000000"))
	case strings.Contains(s.Pattern, "[0-9]"):
		return fmt.Sprint(g.IntN(1000))
	}
	n := int(s.MinLength) + g.IntN(30)
	if s.MaxLength != nil && g.oneIn(6) {
		n = int(min(*s.MaxLength, 12_000)) + g.IntN(2)
	}
	words := strings.Repeat("will it rain tomorrow ", n/22+1)
	return words[:max(n, int(s.MinLength))]
}
