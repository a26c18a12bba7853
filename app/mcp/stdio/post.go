package stdio

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tmaxmax/go-sse"
)

// Error codes of JSON-RPC 2.0.
const (
	codeParseError = -32700
	codeInvalid    = -32600
	codeInternal   = -32603
	codeRefused    = -32000 // the first code that is free for servers
)

// maxAnswer bounds the answer to one message in bytes.
const maxAnswer = 16 << 20

// firstWithNames is the first version of the protocol whose requests repeat the method and
// the name of a tool, prompt or resource in headers (SEP-2243).
const firstWithNames = "2026-07-28"

// message holds the parts of a JSON-RPC message that are read here.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name string
		URI  string
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

// refusedError is a refusal by the installation, with its problem.
type refusedError struct {
	text    string
	problem json.RawMessage
}

func (e *refusedError) Error() string { return e.text }

// post sends a message and returns the messages of the answer. A notification has none.
func (p *proxy) post(ctx context.Context, m *message, line []byte) ([][]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(line))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	p.setHeaders(req.Header, m)
	resp, err := p.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which the message names already
		}
		return nil, fmt.Errorf("%s can't be reached: %w", p.url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", p.url, err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s is longer than %d bytes", p.url, maxAnswer)
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest:
		return nil, fmt.Errorf("%s redirects to %q, which would get the key: give the final address as the base URL", p.url, resp.Header.Get("Location"))
	case resp.StatusCode >= http.StatusBadRequest && !isMessage(body):
		return nil, refusal(resp.StatusCode, body)
	}
	return messages(resp.Header.Get("Content-Type"), body)
}

func (p *proxy) setHeaders(h http.Header, m *message) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("User-Agent", "pulsecast-stdio/"+p.Version)
	if p.Key != "" {
		h.Set("Authorization", "Bearer "+p.Key)
	}
	p.mu.Lock()
	version := cmp.Or(m.Params.Meta.Version, p.version)
	p.mu.Unlock()
	if version == "" {
		return
	}
	h.Set("MCP-Protocol-Version", version)
	if version >= firstWithNames {
		h.Set("Mcp-Method", m.Method)
		if name := cmp.Or(m.Params.Name, m.Params.URI); name != "" {
			h.Set("Mcp-Name", name)
		}
	}
}

// messages splits the body of an answer into messages.
func messages(contentType string, body []byte) ([][]byte, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "text/event-stream" {
		if body = bytes.TrimSpace(body); len(body) == 0 {
			return nil, nil
		}
		return [][]byte{body}, nil
	}
	var all [][]byte
	for event, err := range sse.Read(bytes.NewReader(body), &sse.ReadConfig{MaxEventSize: maxAnswer}) {
		if err != nil {
			return nil, fmt.Errorf("read a stream of events: %w", err)
		}
		if event.Data != "" {
			all = append(all, []byte(event.Data))
		}
	}
	return all, nil
}

// isMessage reports whether the body of a refusal is a JSON-RPC message, which is passed on.
func isMessage(body []byte) bool {
	var m struct{ JSONRPC string }
	return json.Unmarshal(body, &m) == nil && m.JSONRPC != ""
}

// refusal returns the error for a refusal by the installation that isn't a protocol message.
func refusal(status int, body []byte) error {
	var problem struct{ Title, Detail string }
	if json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
		return errors.New(http.StatusText(status) + ": the address may not be that of a Pulsecast installation")
	}
	return &refusedError{problem.Title + ". " + problem.Detail, body}
}
