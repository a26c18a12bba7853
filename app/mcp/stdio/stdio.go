// Package stdio connects a client that speaks MCP over standard input and output to an installation. Each
// input line is one JSON-RPC message, which is posted to the installation. Each message of the answer
// becomes one output line. So the client gets the installation's own tools, whatever version it has.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/mcp"
)

const (
	maxMessage = 2 << 20 // bytes of one line, more than an installation accepts
	maxAtOnce  = 16      // messages under way
	timeout    = time.Minute
)

// Options are the options of Run. All but Key are required.
type Options struct {
	BaseURL string // of the installation, without a slash at the end
	Key     string // an agent's API key; without one, the tools only read
	Version string // of this program, for the User-Agent
	In      io.Reader
	Out     io.Writer
	Log     io.Writer // for everything that isn't an answer to a message
}

// Run passes messages on until In ends and every message has been answered, or until ctx ends. An error
// with one message becomes the answer to that message.
func Run(ctx context.Context, o Options) error {
	// A redirect could send the key and the message to an address that the user didn't choose.
	client := &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p := &proxy{Options: o, url: o.BaseURL + mcp.Path, client: client, turns: make(chan struct{}, maxAtOnce)}
	if o.Key == "" {
		p.url = o.BaseURL + mcp.PublicPath
	}
	read := make(chan error, 1)
	go func() { read <- p.read(ctx) }()
	select {
	case err := <-read:
		return err
	case <-ctx.Done(): // the read may continue: an input can't be interrupted
		return ctx.Err()
	}
}

// proxy passes messages between a client and an installation.
type proxy struct {
	Options
	url    string
	client *http.Client
	turns  chan struct{}

	mu      sync.Mutex // guards Out and version
	version string     // of the protocol, once it was negotiated
}

// read passes on every line of In.
func (p *proxy) read(ctx context.Context) error {
	var underWay sync.WaitGroup
	defer underWay.Wait()
	lines := bufio.NewReader(p.In)
	for {
		line, long, err := readLine(lines)
		switch {
		case long:
			p.refuseLong(line)
		case len(line) > 0:
			p.turns <- struct{}{}
			underWay.Go(func() {
				defer func() { <-p.turns }()
				p.pass(ctx, line)
			})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
	}
}

// readLine returns the next line without the space around it. Of a line of more than maxMessage bytes it returns only
// the beginning and the end, and long is then true.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, bytes.TrimSuffix(part, []byte("\n"))...)
		if len(line) > maxMessage {
			line, long = append(line[:keptEnd], line[len(line)-keptEnd:]...), true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), long, err
		}
	}
}

// keptEnd is how many bytes are kept of the beginning and of the end of a message that is too long.
const keptEnd = 4 << 10

// The id of a message that is too long, at its beginning or at its end, where clients write it.
var (
	idFirst = regexp.MustCompile(`^\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"]*"\s*,)*\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)`)
	idLast  = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"]*"\s*)*\}$`)
)

// refuseLong answers a message that is too long. line is what readLine returns of it. Clients end the session if an
// answer has no id, so a message without one gets no answer.
func (p *proxy) refuseLong(line []byte) {
	text := fmt.Sprintf("This message is longer than %d bytes. Send less in one call.", maxMessage)
	for _, id := range []*regexp.Regexp{idFirst, idLast} {
		if found := id.FindSubmatch(line); found != nil {
			p.fail(message{ID: found[1]}, codeInvalid, text, nil)
			return
		}
	}
	fmt.Fprintf(p.Log, "pulsecast mcp: %s\n", text)
}

// pass posts one message and writes the answer.
func (p *proxy) pass(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil && !mistyped(err) {
		p.fail(message{ID: json.RawMessage("null")}, codeParseError, "This line is not one JSON-RPC message.", nil)
		return
	}
	answers, err := p.post(ctx, &m, line)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		p.fail(m, codeRefused, refused.text, refused.problem)
		return
	}
	if err != nil {
		p.fail(m, codeInternal, err.Error(), nil)
		return
	}
	for _, answer := range answers {
		p.learn(&m, answer)
		p.write(answer)
	}
}

// mistyped reports whether a message only has a member of another type than the proxy reads. The installation says what
// is wrong with it.
func mistyped(err error) bool {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok && wrong.Field != ""
}

// learn stores the protocol version that the installation chose.
func (p *proxy) learn(m *message, answer []byte) {
	var chosen struct {
		Result struct{ ProtocolVersion string }
	}
	if m.Method == "initialize" && json.Unmarshal(answer, &chosen) == nil {
		p.mu.Lock()
		p.version = chosen.Result.ProtocolVersion
		p.mu.Unlock()
	}
}

// write writes one message in one line.
func (p *proxy) write(answer []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, answer); err != nil {
		fmt.Fprintf(p.Log, "pulsecast mcp: %s sent an answer that isn't JSON: %.200q\n", p.url, answer)
		return
	}
	line.WriteByte('\n')
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.Out.Write(line.Bytes()); err != nil {
		fmt.Fprintf(p.Log, "pulsecast mcp: write an answer: %v\n", err)
	}
}

// fail answers a message with an error. A notification gets no answer, so its error is only logged.
func (p *proxy) fail(m message, code int, text string, data json.RawMessage) {
	if len(m.ID) == 0 {
		fmt.Fprintf(p.Log, "pulsecast mcp: %s: %s\n", m.Method, text)
		return
	}
	type rpcError struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	answer, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{"2.0", m.ID, rpcError{code, text, data}})
	if err != nil {
		panic(err) // strings, ints and JSON from an input always encode
	}
	p.write(answer)
}
