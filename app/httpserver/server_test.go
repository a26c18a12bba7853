package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// agentID is the agent behind the key "good".
var agentID = uuid.MustParse("0190a000-0000-7000-8000-000000000001")

type principal struct{ id uuid.UUID }

func (p principal) AgentID() uuid.UUID { return p.id }

func authenticate(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
	switch bearer {
	case "good":
		return principal{agentID}, nil
	case "disabled":
		return nil, problem.New(problem.CodeAgentDisabled, "An admin has disabled this agent.")
	case "down":
		return nil, problem.Unavailable("The identity provider does not answer.", 3*time.Second)
	}
	return nil, problem.InvalidCredentials("Get another.")
}

func testOptions(logs io.Writer) Options {
	return Options{
		Config: &config.Config{
			BaseURL: "http://pulse.test", EdgeFilter: "on", LogFormat: "json", Registration: "open",
		},
		Version:      "0.1.0",
		Logger:       slog.New(slog.NewJSONHandler(logs, nil)),
		Authenticate: authenticate,
		HowToGetKey:  "Get a key with POST http://pulse.test/api/agents.",
	}
}

// journal is a log that a test can read while the server writes it.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// entry is the log line of a request.
func (j *journal) entry(t *testing.T, id string) map[string]any {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range bytes.SplitSeq(j.buf.Bytes(), []byte("\n")) {
		var e map[string]any
		if json.Unmarshal(line, &e) == nil && e["request_id"] == id {
			return e
		}
	}
	t.Fatalf("no line for request %s in %s", id, &j.buf)
	return nil
}

// node is a server on a loopback listener.
type node struct {
	*Server
	addr string
	logs *journal
}

// run starts a server with adjusted options and the routes of the test.
func run(t testing.TB, adjust func(*Options), routes func(*Server)) *node {
	t.Helper()
	logs := &journal{}
	opts := testOptions(logs)
	if adjust != nil {
		adjust(&opts)
	}
	s := New(opts)
	if routes != nil {
		routes(s)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
	return &node{Server: s, addr: ln.Addr().String(), logs: logs}
}

// reply is a response, read to its end.
type reply struct {
	*http.Response
	body string
}

var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       20 * time.Second,
}

// do sends a request with headers "Name: value".
func (n *node) do(t testing.TB, method, path string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+n.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "test-agent/1.0")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if strings.EqualFold(name, "User-Agent") {
			req.Header.Set(name, value)
			continue
		}
		req.Header.Add(name, value)
	}
	return send(t, req)
}

func send(t testing.TB, req *http.Request) reply {
	t.Helper()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(body)}
}

// code checks the form of a refusal and returns its code.
func (r reply) code(t testing.TB) string {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q, body %s", got, r.body)
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	if p["ok"] != false || p["status"] != float64(r.StatusCode) || p["type"] != "http://pulse.test/docs/errors#error-"+p["code"].(string) ||
		p["requestId"] != r.Header.Get("X-Request-Id") || p["requestId"] == "" || p["title"] == "" || p["detail"] == "" {
		t.Fatalf("problem %s with X-Request-Id %q and status %d", r.body, r.Header.Get("X-Request-Id"), r.StatusCode)
	}
	if _, isArray := p["errors"].([]any); !isArray {
		t.Fatalf("errors is not an array: %s", r.body)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("Cache-Control %q", r.Header.Get("Cache-Control"))
	}
	return p["code"].(string)
}

func ok(c *fiber.Ctx) error { return c.JSON(fiber.Map{"ok": true}) }

func TestStopAnswersRequestsInFlight(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	logs := &journal{}
	s := New(testOptions(logs))
	s.App.Get("/api/slow", func(c *fiber.Ctx) error {
		close(entered)
		<-release
		return c.SendString("done")
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Server: s, addr: ln.Addr().String(), logs: logs}
	started := make(chan error, 1)
	go func() { started <- s.Start(context.Background(), ln) }()
	answers := make(chan reply, 1)
	go func() { answers <- n.do(t, "GET", "/api/slow") }()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	if err := <-started; err != nil { // the listener is closed, the request still waits
		t.Fatalf("Start: %v", err)
	}
	if conn, err := net.Dial("tcp", n.addr); err == nil {
		conn.Close()
		t.Error("a new connection was accepted while stopping")
	}
	select {
	case err := <-stopped:
		t.Fatalf("Stop returned before the request was answered: %v", err)
	default:
	}
	close(release)
	if a := <-answers; a.StatusCode != 200 || a.body != "done" {
		t.Errorf("in-flight request got %d %q", a.StatusCode, a.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestStopGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/stuck", func(c *fiber.Ctx) error {
			close(entered)
			<-release
			return nil
		})
	})
	go func() { _, _ = client.Get("http://" + n.addr + "/api/stuck") }()
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := n.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v", err)
	}
	close(release)
}

// A client that connects and sends no request must not turn a clean stop into a failure.
func TestStopCutsSilentConnections(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(*Server) {})
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n.do(t, "GET", "/livez") // the listener accepts in order, so it has accepted this client too
	if err := n.Stop(context.Background()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestUserContextHasADeadlineAndEnds(t *testing.T) {
	t.Parallel()
	contexts := make(chan context.Context, 1)
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/x", func(c *fiber.Ctx) error {
			ctx := c.UserContext()
			at, has := ctx.Deadline()
			if left := time.Until(at); !has || left > requestTimeout || left < requestTimeout-5*time.Second {
				t.Errorf("deadline in %s", left)
			}
			if ctx.Err() != nil {
				t.Errorf("ended before the answer: %v", ctx.Err())
			}
			child, cancel := context.WithCancel(ctx)
			_ = cancel // ends with its parent
			contexts <- child
			return ok(c)
		})
		s.App.Get("/api/late", func(c *fiber.Ctx) error {
			ctx, cancel := context.WithTimeout(c.UserContext(), time.Nanosecond)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		})
	})
	n.do(t, "GET", "/api/x")
	select {
	case <-(<-contexts).Done():
	case <-time.After(time.Minute):
		t.Error("the context outlives its request")
	}
	if r := n.do(t, "GET", "/api/late"); r.StatusCode != 503 || r.code(t) != "unavailable" || r.Header.Get("Retry-After") != "1" {
		t.Errorf("a missed deadline is %d %s", r.StatusCode, r.body)
	}
}
