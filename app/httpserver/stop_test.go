package httpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// starting is a server that a test stops.
type starting struct {
	*node
	stop    context.CancelCauseFunc
	stopped chan error
}

// launch starts a server on addr.
func launch(t *testing.T, addr string, drain time.Duration, routes func(*Server)) *starting {
	t.Helper()
	logs := &journal{}
	opts := testOptions(logs)
	opts.Config.Drain = drain
	s := New(opts)
	routes(s)
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	l := &starting{node: &node{Server: s, addr: ln.Addr().String(), logs: logs}, stop: cancel, stopped: make(chan error, 1)}
	go func() { l.stopped <- s.Start(ctx, ln) }()
	return l
}

// awaitDrain waits until /readyz says that requests should go elsewhere.
func (l *starting) awaitDrain(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); l.do(t, "GET", "/readyz").StatusCode != 503; {
		if time.Now().After(deadline) {
			t.Fatal("/readyz still says 200")
		}
	}
}

func TestADrainingServerAnswersAndClosesConnections(t *testing.T) {
	t.Parallel()
	l := launch(t, "127.0.0.1:0", time.Hour, func(s *Server) { s.App.Get("/api/x", ok) })
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(conn)
	ask := func() *http.Response {
		if _, err := io.WriteString(conn, get+"\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp
	}
	if resp := ask(); resp.StatusCode != 200 || resp.Close {
		t.Fatalf("before the drain: %d, close %t", resp.StatusCode, resp.Close)
	}
	l.stop(nil)
	l.awaitDrain(t)
	if resp := ask(); resp.StatusCode != 200 || !resp.Close {
		t.Errorf("on a kept-alive connection: %d, close %t", resp.StatusCode, resp.Close)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("the connection stays open: %v", err)
	}
	if r := l.do(t, "GET", "/api/x"); r.StatusCode != 200 || !r.Close {
		t.Errorf("on a new connection: %d, close %t", r.StatusCode, r.Close)
	}
	if err := l.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-l.stopped; err != nil {
		t.Errorf("Start: %v", err)
	}
	if conn, err := net.Dial("tcp", l.addr); err == nil {
		conn.Close()
		t.Error("a stopped server takes connections")
	}
}

func TestAnInterruptedServerCutsRequests(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	l := launch(t, "127.0.0.1:0", time.Hour, func(s *Server) {
		s.App.Get("/api/stuck", func(*fiber.Ctx) error {
			close(entered)
			<-release
			return nil
		})
	})
	defer close(release)
	go func() { _, _ = client.Get("http://" + l.addr + "/api/stuck") }()
	<-entered
	l.stop(ErrInterrupted)
	if err := <-l.stopped; err != nil {
		t.Errorf("Start: %v", err)
	}
	if !strings.Contains(l.logs.text(), "connections cut at stop") {
		t.Error("the log doesn't say that a request was cut")
	}
}

// The server must answer a connection that the kernel has completed, even if the server hasn't accepted it
// yet.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var made []net.Conn
	for range 5 {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		made = append(made, conn)
	}
	refused := make(chan error, 1)
	go func() { refused <- refuseConnections(ln) }()
	for { // until new ones are refused
		conn, err := net.Dial("tcp", ln.Addr().String())
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		made = append(made, conn)
	}
	select {
	case err := <-refused:
		t.Fatalf("refuseConnections didn't wait for the completed connections: %v", err)
	default:
	}
	for range made {
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := <-refused; err != nil {
		t.Error(err)
	}
}
