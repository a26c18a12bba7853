package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// line is a connection of a client.
type line struct {
	net.Conn
	in *bufio.Reader
}

func (n *node) dial(t *testing.T) line {
	t.Helper()
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return line{conn, bufio.NewReader(conn)}
}

// ask sends bytes and reads an answer.
func (l line) ask(request string) (*http.Response, error) {
	if _, err := io.WriteString(l, request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

// TestConnectionsOfAPeerAreBounded checks that idle connections of one address don't use up a node's memory, and that a
// trusted proxy may have more.
func TestConnectionsOfAPeerAreBounded(t *testing.T) {
	t.Parallel()
	const request = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, proxies := range []string{"", "127.0.0.0/8"} {
		n := run(t, func(o *Options) { o.Config.TrustedProxies = proxies }, func(s *Server) { s.connections = NewPlaces(10, 2) })
		first, second := n.dial(t), n.dial(t)
		for _, l := range []line{first, second} {
			if _, err := l.ask(request); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.dial(t).ask(request); (err == nil) != (proxies != "") {
			t.Errorf("proxies %q: the third connection: %v", proxies, err)
		}
		if _, err := second.ask(request); err != nil {
			t.Errorf("proxies %q: the second connection: %v", proxies, err)
		}
		first.Close()
		for again := time.Now().Add(20 * time.Second); ; {
			if _, err := n.dial(t).ask(request); err == nil {
				break
			} else if time.Now().After(again) {
				t.Fatalf("proxies %q: after the first is closed: %v", proxies, err)
			}
		}
	}
}

// TestEndedStreamGivesItsConnectionBack checks that the connection of a stream counts only while it is open. A stream
// closes the connection below the one that was counted.
func TestEndedStreamGivesItsConnectionBack(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) { o.Config.StreamsMax, o.Config.StreamsPerAddress = 9, 9 }, func(s *Server) {
		s.connections = NewPlaces(10, 1)
		s.App.Get("/api/stream", func(c *fiber.Ctx) error { return s.Stream(c, "text/event-stream", func(*Stream) {}) })
	})
	for i := range 3 {
		for again := time.Now().Add(20 * time.Second); ; {
			l := n.dial(t)
			_, err := io.WriteString(l, "GET /api/stream HTTP/1.1\r\nHost: x\r\nUser-Agent: test/1.0\r\n\r\n")
			if err == nil {
				_, err = l.in.ReadString('\n')
			}
			if l.Close(); err == nil {
				break
			} else if time.Now().After(again) {
				t.Fatalf("stream %d: %v", i+1, err)
			}
		}
	}
}

// TestLongBodiesOfAPeerAreBounded checks that announced bodies, for which fasthttp makes room at once, don't use up a
// node's memory.
func TestLongBodiesOfAPeerAreBounded(t *testing.T) {
	t.Parallel()
	const length = MaxBody + 1
	n := run(t, nil, func(s *Server) {
		s.longBodies = NewPlaces(10, 1)
		s.App.Post("/api/x", func(c *fiber.Ctx) error { return c.SendString(fmt.Sprint(len(c.Body()))) })
		s.AllowAnonymousBody("/api/x", 2*MaxBody)
	})
	head := func(fields string) string { return "POST /api/x HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" }
	body := strings.Repeat("a", length)
	long := head(fmt.Sprintf("Content-Length: %d\r\n", length)) + body
	chunked := head("Transfer-Encoding: chunked\r\n") + fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", MaxBody, body[:MaxBody], 1, "a")
	short := head("Content-Length: 1\r\n") + "a"

	first := n.dial(t)
	if _, err := io.WriteString(first, head(fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue\r\n", length))); err != nil {
		t.Fatal(err)
	}
	for range 2 { // "HTTP/1.1 100 Continue" and an empty line
		if _, err := first.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for name, request := range map[string]string{"long": long, "chunked": chunked} {
		if r, err := n.dial(t).ask(request); err != nil || r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if r, err := n.dial(t).ask(short); err != nil || r.StatusCode != 200 || r.Close {
		t.Errorf("short: %v, %v", r, err)
	}
	if r, err := first.ask(body); err != nil || r.StatusCode != 200 || !r.Close {
		t.Errorf("the first one, which gives its place back with its connection: %v, %v", r, err)
	}
	for name, request := range map[string]string{"long": long, "chunked": chunked} {
		for again := time.Now().Add(20 * time.Second); ; {
			if r, err := n.dial(t).ask(request); err == nil && r.StatusCode == 200 {
				break
			} else if time.Now().After(again) {
				t.Fatalf("%s, after the first one: %v, %v", name, r, err)
			}
		}
	}
}
