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
	"github.com/valyala/fasthttp"
)

// talk writes bytes to the socket. It reads the answers until the server closes the connection or has sent
// the wanted number.
func (n *node) talk(t *testing.T, request string, answers int) []reply {
	t.Helper()
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	// Like most clients, talk sends the whole request first. The write fails if the server closes before it
	// has read the rest of a refused body.
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	var out []reply
	for len(out) < answers {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", len(out)+1, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, reply{resp, string(body)})
	}
	return out
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Post("/api/x", func(c *fiber.Ctx) error { return c.SendString(fmt.Sprint(len(c.Body()))) })
	})
	const head = "POST /api/x HTTP/1.1\r\nHost: x\r\n"
	chunks := func(size int) string {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("a", size))
	}
	tests := []struct {
		name, request string
		status        int
		code, body    string
	}{
		{"64 KiB", head + "Content-Length: 65536\r\n\r\n" + strings.Repeat("a", MaxBody), 200, "", "65536"},
		{"64 KiB + 1", head + "Content-Length: 65537\r\n\r\n" + strings.Repeat("a", MaxBody+1), 413, "payload_too_large", ""},
		{"900 KB", head + "Content-Length: 900000\r\n\r\n" + strings.Repeat("a", 900000), 413, "payload_too_large", ""},
		{"64 KiB chunked", head + "Transfer-Encoding: chunked\r\n\r\n" + chunks(MaxBody), 200, "", "65536"},
		{"64 KiB + 1 chunked", head + "Transfer-Encoding: chunked\r\n\r\n" + chunks(MaxBody+1), 413, "payload_too_large", ""},
		{"broken chunk size", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", 400, "invalid_request", ""},
		{"broken chunk end", head + "Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", 400, "invalid_request", ""},
		{"bad length", head + "Content-Length: ten\r\n\r\n", 400, "invalid_request", ""},
		{"bad request line", "NONSENSE\r\n\r\n", 400, "invalid_request", ""},
		{"space in header name", head + "Bad Header: x\r\n\r\n", 400, "invalid_request", ""},
		{"8 KiB of headers", head + "X-Long: " + strings.Repeat("a", 8000) + "\r\nContent-Length: 0\r\n\r\n", 200, "", "0"},
		{"20 KiB of headers", head + "X-Long: " + strings.Repeat("a", 20000) + "\r\n\r\n", 431, "invalid_request", ""},
		{"long address", "GET /api/" + strings.Repeat("a", 20000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "invalid_request", ""},
		{"TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "invalid_request", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := n.talk(t, tt.request, 1)[0]
			if r.StatusCode != tt.status || (tt.body != "" && r.body != tt.body) {
				t.Fatalf("got %d %s", r.StatusCode, r.body)
			}
			if tt.code == "" {
				return
			}
			if got := r.code(t); got != tt.code {
				t.Errorf("code %s", got)
			}
			if !r.Close {
				t.Error("the connection stays open after a request that was not read completely")
			}
			if e := n.logs.entry(t, r.Header.Get("X-Request-Id")); e["status"] != float64(tt.status) {
				t.Errorf("log %v", e)
			}
		})
	}
	t.Cleanup(func() { // after the parallel cases
		if logs := n.logs.text(); strings.Contains(logs, "X-Long") || !strings.Contains(logs, "error when reading request headers") {
			t.Error("want a log with the cause and without headers")
		}
	})
}

// TestLargeBodiesNeedAKey checks that a request without a credential can't make the server wait, with memory for it,
// for a body that only agents may send.
func TestLargeBodiesNeedAKey(t *testing.T) {
	t.Parallel()
	const large = 1 << 20
	n := run(t, nil, func(s *Server) {
		received := func(c *fiber.Ctx) error { return c.SendString(fmt.Sprint(len(c.Body()))) }
		s.App.Post("/api/large", received)
		s.App.Post("/api/open", received)
		s.AllowBody("/api/large", large)
		s.AllowAnonymousBody("/api/open", large)
	})
	const key = "Authorization: Bearer key\r\n"
	for _, tt := range []struct {
		name, path, header string
		announced, sent    int
		status             int
		says               string
	}{
		{"announced without a key", "/api/large", "", large, 0, 401, "missing_credentials"},
		{"announced without a key, with a query", "/api/large?dryRun=true", "", large, 0, 401, "missing_credentials"},
		{"too large with a key", "/api/large", key, large + 1, 0, 413, "1048576 bytes"},
		{"too large at another path", "/api/x", key, large, 0, 413, "65536 bytes"},
		{"with a key", "/api/large", key, large, large, 200, "1048576"},
		{"ordinary without a key", "/api/large", "", MaxBody, MaxBody, 200, "65536"},
		{"without a key where none is needed", "/api/open", "", large, large, 200, "1048576"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := n.talk(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s",
				tt.path, tt.header, tt.announced, strings.Repeat("a", tt.sent)), 1)[0]
			if r.StatusCode != tt.status || !strings.Contains(r.body, tt.says) {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
		})
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Post("/api/:x", func(c *fiber.Ctx) error { return c.SendString(c.Params("x") + string(c.Body())) })
	})
	request := "POST /api/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1" +
		"GET /api/b HTTP/1.1\r\nHost: x\r\n\r\n" +
		"POST /api/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n3\r\n0\r\n\r\n" +
		"BROKEN\r\n\r\n"
	got := n.talk(t, request, 4)
	ids := map[string]bool{}
	for i, want := range []int{200, 405, 200, 400} {
		if got[i].StatusCode != want {
			t.Errorf("answer %d: %d %s", i, got[i].StatusCode, got[i].body)
		}
		ids[got[i].Header.Get("X-Request-Id")] = true
	}
	if got[0].body != "a1" || got[2].body != "c3" || len(ids) != 4 {
		t.Errorf("bodies %q, %q; ids %v", got[0].body, got[2].body, ids)
	}
	if got[3].code(t) != "invalid_request" {
		t.Error(got[3].body)
	}
}

// A client that sends its whole body before it reads must still get the refusal. If the server closed the
// connection at once, it would be reset while the client writes.
func TestARefusedBodyIsStillTaken(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) { s.App.Post("/api/x", ok) })
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	const piece, pieces = 4 << 10, 900
	if _, err := fmt.Fprintf(conn, "POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", piece*pieces); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if _, err := in.Peek(1); err != nil { // refused because of its length
		t.Fatal(err)
	}
	for i := range pieces {
		if _, err := io.WriteString(conn, strings.Repeat("a", piece)); err != nil {
			t.Fatalf("piece %d: %v", i, err)
		}
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 413 {
		t.Errorf("%v, %v", resp, err)
	}
}

// A few hundred bytes of nested gzip can decode to more than any node's memory.
func TestEncodedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Post("/api/x", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
	})
	packed := fasthttp.AppendGzipBytes(nil, fasthttp.AppendGzipBytes(nil, make([]byte, 10*MaxBody)))
	tests := []struct {
		coding, body string
		status       int
	}{
		{"gzip", string(fasthttp.AppendGzipBytes(nil, []byte("{}"))), 415},
		{"gzip, gzip", string(packed), 415},
		{"br", "x", 415},
		{"x-unknown", "{}", 415},
		{"identity", "{}", 200},
	}
	for _, tt := range tests {
		r := n.talk(t, fmt.Sprintf("POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", tt.coding, len(tt.body), tt.body), 1)[0]
		if r.StatusCode != tt.status || (tt.status == 200 && r.body != tt.body) {
			t.Errorf("%s: %d %.200s", tt.coding, r.StatusCode, r.body)
		}
		if tt.status == 415 && (r.code(t) != "unsupported_media_type" || r.Header.Get("Accept-Encoding") != "identity") {
			t.Errorf("%s: %v %s", tt.coding, r.Header, r.body)
		}
	}
}
