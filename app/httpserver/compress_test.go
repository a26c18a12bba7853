package httpserver

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/zstd"
)

func TestCompression(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("a long answer ", 200) + `"}`
	answer := func(body string, headers ...string) fiber.Handler {
		return func(c *fiber.Ctx) error {
			c.Set("Content-Type", "application/json")
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				c.Set(name, value)
			}
			return c.SendString(body)
		}
	}
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/long", answer(long))
		s.App.Get("/api/tagged", answer(long, `ETag: "abc"`, "Vary: Authorization"))
		s.App.Get("/api/varied", answer(long, "Vary: accept-encoding"))
		s.App.Get("/api/short", answer(`{"ok":true}`))
		s.App.Get("/api/done", answer(long, "Content-Encoding: zstd", "Vary: Accept-Encoding"))
		s.App.Get("/image", answer(long, "Content-Type: image/png"))
		s.App.Get("/page", answer(long, "Content-Type: text/html; charset=utf-8"))
		s.App.Get("/badge", answer(long, "Content-Type: image/svg+xml"))
		s.App.Get("/admin/page", answer(long, "Content-Type: text/html; charset=utf-8"))
		s.App.Get("/api/error", func(*fiber.Ctx) error { return fiber.NewError(404, "x") })
	})
	tests := []struct{ path, accept, coding, vary, etag string }{
		{"/api/long", "gzip, deflate, br, zstd", "zstd", "Accept-Encoding", ""},
		{"/api/long", "gzip", "gzip", "Accept-Encoding", ""},
		{"/api/long", "br;q=0.5, GZIP;q=0.8", "gzip", "Accept-Encoding", ""},
		{"/api/long", "br;q=0, *", "zstd", "Accept-Encoding", ""},
		{"/api/long", "gzip;q=0", "", "Accept-Encoding", ""},
		{"/api/long", "deflate, brx", "", "Accept-Encoding", ""},
		{"/api/long", "identity", "", "Accept-Encoding", ""},
		{"/api/tagged", "gzip", "gzip", "Authorization, Accept-Encoding", `W/"abc"`},
		{"/api/tagged", "identity", "", "Authorization, Accept-Encoding", `"abc"`},
		{"/api/varied", "gzip", "gzip", "accept-encoding", ""},
		{"/api/short", "gzip", "", "", ""},
		{"/api/done", "gzip, zstd", "zstd", "Accept-Encoding", ""},
		{"/image", "gzip", "", "", ""},
		{"/page", "br", "br", "Accept-Encoding", ""},
		{"/badge", "br", "br", "Accept-Encoding", ""},
		{"/admin/page", "br", "", "", ""},
		{"/api/error", "br", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.accept, func(t *testing.T) {
			t.Parallel()
			r := n.do(t, "GET", tt.path, "Accept-Encoding: "+tt.accept)
			if r.Header.Get("Content-Encoding") != tt.coding || r.Header.Get("Vary") != tt.vary || r.Header.Get("ETag") != tt.etag {
				t.Errorf("Content-Encoding %q, Vary %q, ETag %q", r.Header.Get("Content-Encoding"), r.Header.Get("Vary"), r.Header.Get("ETag"))
			}
			if tt.coding != "" && tt.path != "/api/done" { // whose handler only says that it is encoded
				if got := decode(t, r.body, tt.coding); got != long {
					t.Errorf("decodes to %.80q", got)
				}
			}
			head := n.do(t, "HEAD", tt.path, "Accept-Encoding: "+tt.accept)
			if head.ContentLength != r.ContentLength || head.Header.Get("Content-Encoding") != tt.coding {
				t.Errorf("HEAD says %d bytes of %q, GET %d", head.ContentLength, head.Header.Get("Content-Encoding"), r.ContentLength)
			}
		})
	}
}

func decode(t *testing.T, body, coding string) string {
	t.Helper()
	var in io.Reader = strings.NewReader(body)
	switch coding {
	case "br":
		in = brotli.NewReader(in)
	case "zstd":
		packed, err := zstd.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		in = packed
	case "gzip":
		zip, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		in = zip
	}
	out, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
