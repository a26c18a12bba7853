package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// This file reads a message before the SDK does, and writes the errors that the SDK leaves without an id or words by
// its own types.

// firstWithStatus is the first version of the protocol in which an error in an answer also has an HTTP status
// (SEP-2575).
const firstWithStatus = "2026-07-28"

// maxID is the greatest number that the SDK repeats exactly.
const maxID = 1<<53 - 1

// message is the part of a JSON-RPC message that is read here.
type message struct {
	id     json.RawMessage // nil if the message has none that an answer could repeat
	method string
}

// readMessage reads a message. The error is what an answer says.
func readMessage(body []byte) (message, *jsonrpc.Error) {
	members, twice, err := membersOf(body)
	if err != nil {
		return message{}, invalidMessage("Send one JSON-RPC 2.0 message: a JSON object with jsonrpc, id, method and params.")
	}
	var m message
	if id, ok := members["id"]; ok && twice != "id" && string(id) != "null" {
		if m.id = readID(id); m.id == nil {
			return m, invalidMessage("id must be a string, or a whole number from %d to %d.", -maxID, maxID)
		}
	}
	method, params := members["method"], members["params"]
	switch {
	case twice != "":
		return m, invalidMessage("The member %.64q is sent twice. Send each member once.", twice)
	case string(members["jsonrpc"]) != `"2.0"`:
		return m, invalidMessage(`jsonrpc must be "2.0".`)
	case method != nil && json.Unmarshal(method, &m.method) != nil:
		return m, invalidMessage("method must be a string.")
	case len(params) == 0 || string(params) == "null":
		return m, nil
	}
	switch _, twice, err := membersOf(params); {
	case err != nil:
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params must be an object."}
	case twice != "":
		return m, invalidMessage("The member %.64q of params is sent twice. Send each member once.", twice)
	}
	return m, nil
}

func invalidMessage(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// membersOf returns the members of a JSON object, and the name of one that it has twice, or "". The values may repeat
// names and have broken text: the tools refuse that in their arguments.
func membersOf(object []byte) (members map[string]jsontext.Value, twice string, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return nil, "", fmt.Errorf("not an object: %w", err)
	}
	members = map[string]jsontext.Value{}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, "", err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, "", err
		}
		if _, ok := members[name]; ok {
			twice = name
		}
		members[name] = value.Clone()
	}
	if _, err := d.ReadToken(); err != nil { // the end of the object
		return nil, "", err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, "", fmt.Errorf("more than one value: %w", err)
	}
	return members, twice, nil
}

// readID returns an id as an answer repeats it, or nil if it can't be repeated.
func readID(id jsontext.Value) json.RawMessage {
	switch id.Kind() {
	case '"':
		if id.IsValid() {
			return json.RawMessage(id)
		}
	case '0':
		number := whole(string(id))
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= -maxID && n <= maxID {
			return json.RawMessage(number)
		}
	}
	return nil
}

// refuse answers a message with an error. A message without an id gets a problem.
func (m message) refuse(c *fiber.Ctx, e *jsonrpc.Error) error {
	if m.id == nil {
		return invalid(fiber.StatusBadRequest, e.Message)
	}
	status := fiber.StatusBadRequest
	switch old := c.Get("MCP-Protocol-Version") < firstWithStatus; {
	case old && (e.Code == jsonrpc.CodeMethodNotFound || e.Code == jsonrpc.CodeInvalidParams):
		status = fiber.StatusOK
	case e.Code == jsonrpc.CodeMethodNotFound:
		status = fiber.StatusNotFound
	}
	return c.Status(status).JSON(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", m.id, e})
}

// restate writes the refusals of the SDK as those of this package.
func (m message) restate(c *fiber.Ctx) error {
	status, body := c.Response().StatusCode(), c.Response().Body()
	var answer struct{ Error *jsonrpc.Error }
	if bytes.Contains(body, []byte(`"error":{`)) && json.Unmarshal(body, &answer) == nil && answer.Error != nil {
		if e := m.reworded(answer.Error); e != nil {
			return m.refuse(c, e)
		}
		return nil
	}
	if status < fiber.StatusBadRequest || json.Valid(body) {
		return nil
	}
	text := strings.TrimSpace(string(bytes.ToValidUTF8(body, nil)))
	if _, unknown := strings.CutPrefix(text, "JSON RPC not handled: "); unknown && m.id != nil {
		return m.refuse(c, m.reworded(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}))
	}
	if wrong, ok := strings.CutPrefix(text, "invalid request: "); ok && m.id != nil {
		return m.refuse(c, invalidMessage("This is not a valid request: %s.", wrong))
	}
	return invalid(status, "This is not a valid request of the Model Context Protocol: "+text+".")
}

// goType finds the member and the type in the SDK's error about params that it can't read.
var goType = regexp.MustCompile(`into Go (?:struct field \w+\.\w+\.([\w.]+)|value) of type (\S+)`)

// reworded returns an error that says what to send instead, or nil if the SDK's own does.
func (m message) reworded(e *jsonrpc.Error) *jsonrpc.Error {
	switch {
	case e.Code == jsonrpc.CodeMethodNotFound:
		return &jsonrpc.Error{Code: e.Code, Message: fmt.Sprintf(
			"There is no method %.64q here. tools/list, prompts/list, resources/list and resources/templates/list say what there is.", m.method)}
	case !strings.Contains(e.Message, "unmarshaling "):
		return nil
	}
	text := "params have a member of another type than the protocol gives it."
	if found := goType.FindStringSubmatch(e.Message); found != nil && found[1] != "" {
		text = found[1] + " of params must be " + typeName(found[2]) + "."
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

// typeName returns the words for what JSON has for a type of Go.
func typeName(goType string) string {
	switch {
	case goType == "string":
		return "a string"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int") || strings.HasPrefix(goType, "uint") || strings.HasPrefix(goType, "float"):
		return "a number"
	case strings.HasPrefix(goType, "[]"):
		return "an array"
	}
	return "an object"
}
