package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
)

// object is a request body: one JSON object. It is read field by field, so that the refusal reports every
// wrong field at once, each with what to send instead.
type object struct {
	fields map[string]json.RawMessage
	read   map[string]bool
	wrong  []problem.Field
}

// readObject parses the body of a request. It refuses another content type (415), and anything but one JSON
// object in valid UTF-8 without repeated names (400 invalid_json).
func readObject(c *fiber.Ctx) (*object, error) {
	if err := requireJSON(c.Get(fiber.HeaderContentType)); err != nil {
		return nil, err
	}
	body := c.Body()
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	o := &object{read: map[string]bool{}}
	if err := json.Unmarshal(body, &o.fields); err != nil || o.fields == nil {
		return nil, problem.InvalidJSON(`The body must be one JSON object: {"name": value, …}.`)
	}
	return o, nil
}

func requireJSON(contentType string) error {
	media, params, err := mime.ParseMediaType(contentType)
	charset := strings.ToLower(params["charset"])
	if err != nil || media != fiber.MIMEApplicationJSON || (charset != "" && charset != "utf-8") {
		return problem.UnsupportedMediaType(contentType)
	}
	return nil
}

// checkJSON reads the body once with a strict decoder. encoding/json would accept repeated names and
// silently replace invalid UTF-8.
func checkJSON(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	_, err := d.ReadValue()
	if err == nil {
		if _, err = d.ReadToken(); err == nil {
			return problem.InvalidJSON("The body holds more than one JSON value; send one object.")
		}
	}
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(body)) > 0 {
		return nil
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return problem.InvalidJSON("The body is empty; send one JSON object.")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return problem.InvalidJSON(fmt.Sprintf("The body names %.80q twice. Send each name once.", syntax.JSONPointer))
		}
		return problem.InvalidJSON(fmt.Sprintf("The body is not valid JSON at byte %d: %s. Send one JSON object in UTF-8, each name once.", syntax.ByteOffset, syntax.Err))
	}
	return problem.InvalidJSON("The body is not valid JSON. Send one JSON object in UTF-8, each name once.").With(err)
}

// value returns a field. A null field counts as left out.
func (o *object) value(name string) (json.RawMessage, bool) {
	o.read[name] = true
	raw, ok := o.fields[name]
	return raw, ok && string(raw) != "null"
}

func (o *object) fail(field, format string, args ...any) {
	o.wrong = append(o.wrong, problem.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

// has reports whether the field was sent and isn't null.
func (o *object) has(name string) bool {
	_, ok := o.value(name)
	return ok
}

func (o *object) text(name string) string {
	raw, ok := o.value(name)
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		o.fail(name, "must be a string, got %s", kindOf(raw))
	}
	return s
}

// change returns the new text of a field, or nil if the field was left out. It refuses null, which may mean either.
func (o *object) change(name string) *string {
	raw, sent := o.fields[name]
	if !sent {
		return nil
	}
	if string(raw) == "null" {
		o.read[name] = true
		o.fail(name, `is null: send "" to clear it, or leave it out`)
	}
	s := o.text(name)
	return &s
}

func (o *object) number(name string) *float64 {
	raw, ok := o.value(name)
	if !ok {
		return nil
	}
	var n float64
	switch kind := kindOf(raw); {
	case json.Unmarshal(raw, &n) == nil:
	case kind == aNumber:
		o.fail(name, "is too large a number")
	default:
		o.fail(name, "must be a number, got %s%s", kind, numberIn(raw))
	}
	return &n
}

// numberIn returns a hint that says how to send the number in a JSON string such as "0.72" or "72 %".
func numberIn(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	bare, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(bare), 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return ""
	case percent:
		return fmt.Sprintf(": for %g %% send %g", n, math.Round(n*1e10)/1e12)
	}
	return fmt.Sprintf(": send %g without quotes", n)
}

// boolean returns false if the field was left out. It refuses null, which may mean true or false.
func (o *object) boolean(name string) bool {
	o.read[name] = true
	raw, ok := o.fields[name]
	if !ok {
		return false
	}
	var b bool
	if json.Unmarshal(raw, &b) != nil || string(raw) == "null" {
		o.fail(name, "must be true or false, got %s", kindOf(raw))
	}
	return b
}

func (o *object) time(name string) *time.Time {
	raw, ok := o.value(name)
	if !ok {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		o.fail(name, "must be a string with an RFC 3339 time such as 2027-01-31T00:00:00Z, got %s", kindOf(raw))
		return &time.Time{}
	}
	t, err := parseTime(s)
	if err != nil {
		o.fail(name, "must be an RFC 3339 time with a zone, such as 2027-01-31T00:00:00Z")
	}
	return &t
}

// objects reads an array of at most the given number of objects. Their fields are reported as
// name[i].field.
func (o *object) objects(name string, most int) []*object {
	if !o.has(name) {
		return nil
	}
	list := o.array(name, most)
	out := make([]*object, 0, len(list))
	for i, item := range list {
		inner, ok := newObject(item)
		if !ok {
			o.fail(fmt.Sprintf("%s[%d]", name, i), "must be an object, got %s", kindOf(item))
			continue
		}
		out = append(out, inner)
	}
	return out
}

// newObject reads an object within a body. ok is false for any other value.
func newObject(raw json.RawMessage) (o *object, ok bool) {
	o = &object{read: map[string]bool{}}
	return o, json.Unmarshal(raw, &o.fields) == nil && o.fields != nil
}

// array reads a required array of at most the given number of values.
func (o *object) array(name string, most int) []json.RawMessage {
	raw, ok := o.value(name)
	var list []json.RawMessage
	switch {
	case !ok:
		o.fail(name, "is required: an array of 1 to %d objects", most)
	case json.Unmarshal(raw, &list) != nil:
		o.fail(name, "must be an array of objects, got %s", kindOf(raw))
	case len(list) > most:
		o.fail(name, "may hold at most %d items, got %d", most, len(list))
		return nil
	}
	return list
}

// unknown lists the fields that the service hasn't read, in the order of their names.
func (o *object) unknown() []string {
	var out []string
	for name := range o.fields {
		if !o.read[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// merge adds the domain's complaints to those about the form of the body. It leaves out complaints about fields
// that already have one.
func (o *object) merge(found []problem.Field) []problem.Field {
	reported := map[string]bool{}
	for _, f := range o.wrong {
		reported[f.Field] = true
	}
	for _, f := range found {
		if !reported[f.Field] {
			o.wrong = append(o.wrong, f)
		}
	}
	return o.wrong
}

const aNumber = "a number"

func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return aNumber
	}
}
