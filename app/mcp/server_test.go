package mcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

// someone is the agent of every bearer.
type someone struct{}

func (someone) AgentID() uuid.UUID { return uuid.Nil }

// TestStopWaitsForCalls checks that a call in flight is answered when the service stops. Its prediction has
// been published, and its author must learn that.
func TestStopWaitsForCalls(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + ln.Addr().String()
	cfg := &config.Config{BaseURL: base, LogFormat: "off"}
	s := New(Dependencies{Config: cfg})
	h := httpserver.New(httpserver.Options{Config: cfg, Authenticate: func(context.Context, string, func() (func(error), error)) (httpserver.Principal, error) {
		return someone{}, nil
	}})
	began, answer := make(chan struct{}), make(chan struct{})
	h.App.Get("/api/health", func(c *fiber.Ctx) error {
		close(began)
		<-answer
		return c.JSON(fiber.Map{"ok": true})
	})
	s.Register(h)
	served := make(chan error, 1)
	go func() { served <- h.Start(t.Context(), ln) }()

	got := make(chan string, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", base+Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"getHealth"}}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer key")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		got <- fmt.Sprint(res.StatusCode, " ", string(body), " ", err)
	}()
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(t.Context()) }()
	for err == nil { // until new connections are refused
		var c net.Conn
		if c, err = net.Dial("tcp", ln.Addr().String()); err == nil {
			c.Close()
		}
	}
	close(answer)
	if body := <-got; !strings.Contains(body, `"structuredContent":{"ok":true}`) {
		t.Errorf("the call in flight got %q", body)
	}
	for _, end := range []chan error{stopped, served} {
		if err := <-end; err != nil {
			t.Error(err)
		}
	}
}
