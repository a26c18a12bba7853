package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/httpserver"
)

// userAgent replaces the caller's User-Agent in requests to the API. MCP libraries send their own names,
// which their users can't change.
const userAgent = "pulsecast-mcp/1.0"

// caller is the sender of a call.
type caller struct {
	// admit is httpserver.Server.Admit for the request. It is for answers that no call of the API makes.
	admit func(cost httpserver.Cost) (*httpserver.Admission, error)
	// charge counts the units of an answer from memory.
	charge    func(cost httpserver.Cost) error
	addr      netip.Addr // invalid if the listener is not TCP
	requestID string
	bearers   [][]byte // every Authorization header: the API refuses two headers, and an empty one
}

type callerKey struct{}

// handle returns the handler that calls the operation of a tool. A refusal of the API is not a protocol error
// but a result for the model, which can then send something else. A refusal has no structured content,
// because that would have to follow the schema of the tool's answer.
func (s *Server) handle(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		text, note, err := s.call(ctx, t, r.Params.Arguments)
		if refused, ok := errors.AsType[*refusedError](err); ok {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: refused.text}}}, nil
		}
		if err != nil {
			by, _ := ctx.Value(callerKey{}).(caller)
			s.log.Error("mcp: an answer of the API can't be rewritten", "request_id", by.requestID, "tool", t.name, "error", err)
			return nil, told(err)
		}
		result := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: json.RawMessage(text)}
		if note != "" {
			result.Content = append(result.Content, &sdk.TextContent{Text: note})
		}
		return result, nil
	}
}

// refusedError is a call that the API or the tool refuses. The text is for the caller: a sentence, or the
// problem as JSON.
type refusedError struct {
	status int // 0 if no request was made
	text   string
}

func (e *refusedError) Error() string { return e.text }

// call returns the answer of a tool as JSON. If the answer is not current, it also returns a note. If the
// call is refused, the error is a *refusedError.
func (s *Server) call(ctx context.Context, t *tool, arguments json.RawMessage) (answer, note string, err error) {
	request, include, err := t.request(arguments)
	if err != nil {
		return "", "", &refusedError{text: err.Error()}
	}
	response := s.ask(ctx, request)
	if status := response.StatusCode(); status >= fiber.StatusBadRequest {
		return "", "", &refusedError{status, t.reword(string(response.Body()))}
	}
	if age, stale := httpserver.StaleAge(&response.Header); stale {
		note = "This answer is the last good copy, made " + age + " s ago, because a newer one can't be made now."
	}
	text, err := t.texts.rewrite(response.Body(), include)
	return string(text), note, err
}

// ask sends a request to the server for the caller in ctx.
func (s *Server) ask(ctx context.Context, request *fasthttp.Request) *fasthttp.Response {
	by, _ := ctx.Value(callerKey{}).(caller)
	request.Header.SetUserAgent(userAgent)
	for _, bearer := range by.bearers {
		request.Header.AddBytesV(fiber.HeaderAuthorization, bearer)
	}
	var fctx fasthttp.RequestCtx
	fctx.Init(request, net.TCPAddrFromAddrPort(netip.AddrPortFrom(by.addr, 0)), nil)
	s.answer(&fctx)
	noteScope(ctx, &fctx.Response)
	return &fctx.Response
}

// request makes the API request for a tool's arguments. It also returns whether lists must include text of
// others. Its errors are for the caller.
func (t *tool) request(arguments json.RawMessage) (_ *fasthttp.Request, texts bool, err error) {
	given, err := t.given(arguments)
	if err != nil {
		return nil, false, err
	}
	if t.parameters[include] != "" {
		if texts, err = includes(given[include]); err != nil {
			return nil, false, err
		}
		delete(given, include)
	}
	request, err := t.send(given)
	return request, texts, err
}

// includes reads the argument include.
func includes(value json.RawMessage) (texts bool, err error) {
	switch word, err := scalar(value); {
	case err != nil || (word != "" && word != "texts"):
		return false, errors.New(`include must be "texts", or left out`)
	default:
		return word != "", nil
	}
}

// given reads the arguments and refuses those that the tool doesn't take.
func (t *tool) given(arguments json.RawMessage) (map[string]json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 {
		// encoding/json would take the last of two values and silently repair broken text.
		if !jsontext.Value(arguments).IsValid() || json.Unmarshal(arguments, &given) != nil {
			return nil, errors.New("arguments must be one JSON object in UTF-8, each name once")
		}
	}
	for name := range given {
		if t.schema.Properties[name] == nil {
			return nil, fmt.Errorf("%s takes no argument %.64q; it takes %s", t.name, name,
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(t.schema.Properties)), ", "), "none"))
		}
	}
	return given, nil
}

// send writes arguments to the places that the operation has for them: the path, the query, the headers and
// the body.
func (t *tool) send(given map[string]json.RawMessage) (*fasthttp.Request, error) {
	request, path, query := new(fasthttp.Request), t.path, url.Values{}
	for name, in := range t.parameters {
		if in == include {
			continue
		}
		value, err := scalar(given[name])
		if err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
		if t.is(name, openapi3.TypeInteger) {
			value = whole(value)
		}
		switch {
		case in == "path" && (value == "" || value == "." || value == ".."):
			return nil, fmt.Errorf("%s is missing: send the value that another tool's answer gives for it", name)
		case in == "path":
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
		case string(given[name]) == "null" && t.is(name, openapi3.TypeBoolean): // null may mean either, and a publication can't be taken back
			return nil, fmt.Errorf("%s must be true or false, not null; leave it out for false", name)
		case given[name] == nil || string(given[name]) == "null":
		case in == "query":
			query.Set(name, value)
		default:
			request.Header.Set(t.headers[name], value)
		}
		delete(given, name)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	request.SetRequestURI(path)
	request.Header.SetMethod(t.method)
	if t.body {
		body, err := json.Marshal(given)
		if err != nil {
			return nil, fmt.Errorf("arguments must be one JSON object: %w", err)
		}
		request.Header.SetContentType(fiber.MIMEApplicationJSON)
		request.SetBody(body)
	}
	return request, nil
}

// is reports whether an argument has a type of JSON Schema.
func (t *tool) is(name, kind string) bool {
	p := t.schema.Properties[name]
	return p != nil && p.Value != nil && p.Value.Type.Is(kind)
}

// scalar formats a value for a parameter of an address.
func scalar(value json.RawMessage) (string, error) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return "", nil
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err
	case value[0] == '{' || value[0] == '[':
		return "", fmt.Errorf("must be one value")
	}
	return string(value), nil // a number or a boolean, as it was written
}

// whole writes a whole number without a fraction and an exponent: JSON Schema counts 24.0 and 2.4e1 as integers, and the
// API doesn't. Anything else is returned as it is.
func whole(value string) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !strings.ContainsAny(value, ".eE") || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return value
	}
	return strconv.FormatInt(int64(n), 10)
}
