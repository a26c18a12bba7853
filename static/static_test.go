package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

func TestPath(t *testing.T) {
	for name, want := range map[string]struct{ path, contentType string }{
		"css/app.css":    {`^/static/css/app\.[0-9a-f]{8}\.css$`, "text/css; charset=utf-8"},
		"js/htmx.min.js": {`^/static/js/htmx\.min\.[0-9a-f]{8}\.js$`, "text/javascript; charset=utf-8"},
		"favicon.svg":    {`^/static/favicon\.[0-9a-f]{8}\.svg$`, "image/svg+xml"},
	} {
		t.Run(name, func(t *testing.T) {
			hashed := Path(name)
			if !regexp.MustCompile(want.path).MatchString(hashed) {
				t.Errorf("Path = %q; want %s", hashed, want.path)
			}
			found, ok := Find(hashed)
			if !ok || len(found.Content) == 0 || found.ContentType != want.contentType {
				t.Fatalf("Find = %+v, %v; want %q", found, ok, want.contentType)
			}
			embedded, err := files.ReadFile(name)
			if err != nil || !bytes.Equal(found.Content, embedded) {
				t.Errorf("Find returns other bytes than %s (%v)", name, err)
			}
			named, ok := Named(name)
			if !ok || named.Path != hashed {
				t.Errorf("Named = %+v, %v", named, ok)
			}
		})
	}
}

func TestFindRefusesOtherPaths(t *testing.T) {
	for _, path := range []string{
		"", "/", "/static/", "/static/css/app.css", "/static/css/app.00000000.css",
		"/static/css/input.css", "/static/../static.go", "css/app.css",
		strings.TrimPrefix(Path("css/app.css"), "/"),
	} {
		if _, ok := Find(path); ok {
			t.Errorf("Find(%q) finds a file", path)
		}
	}
}

func TestPathPanicsForAnUnknownName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Path("css/typo.css")
}

func TestEncoded(t *testing.T) {
	file, ok := Find(Path("js/htmx.min.js"))
	if !ok {
		t.Fatal("no htmx")
	}
	decode := map[string]func([]byte) io.Reader{
		"":   func(b []byte) io.Reader { return bytes.NewReader(b) },
		"br": func(b []byte) io.Reader { return brotli.NewReader(bytes.NewReader(b)) },
		"gzip": func(b []byte) io.Reader {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
	}
	for coding, want := range map[string]string{"": "", "br": "br", "gzip": "gzip", "zstd": ""} {
		body, encoding := file.Encoded(coding)
		if encoding != want {
			t.Errorf("Encoded(%q) is %q; want %q", coding, encoding, want)
			continue
		}
		plain, err := io.ReadAll(decode[encoding](body))
		if err != nil || !bytes.Equal(plain, file.Content) {
			t.Errorf("Encoded(%q) does not decode to the file: %v", coding, err)
		}
		if encoding != "" && len(body) > len(file.Content)/2 {
			t.Errorf("Encoded(%q) is %d bytes of %d", coding, len(body), len(file.Content))
		}
	}
}

// TestStylesheetKeepsComponents checks that the stylesheet has every class of the components, even
// if no page uses it yet. The pages' security policy forbids inline styles.
func TestStylesheetKeepsComponents(t *testing.T) {
	file, ok := Named("css/app.css")
	if !ok {
		t.Fatal("no app.css")
	}
	css := file.Content
	for _, class := range []string{
		"page", "site-header", "site-nav", "site-footer", "card", "table", "table-wrap", "num",
		"badge", "badge-sample", "badge-provisional", "badge-proven", "badge-open", "badge-resolved", "badge-void",
		"banner", "banner-stale", "button", "input", "select", "chip-row", "chip", "stat",
		"prob-bar", "chart", "prose", "code-block", "muted", "pos", "neg", "pagination", "empty",
		"visually-hidden", "skip-link",
	} {
		if !regexp.MustCompile(`\.` + class + `\b`).Match(css) {
			t.Errorf("app.css has no .%s", class)
		}
	}
	for _, part := range []string{"prefers-color-scheme:dark", "data-theme=dark", "prefers-reduced-motion", ":focus-visible"} {
		if !bytes.Contains(css, []byte(part)) {
			t.Errorf("app.css has no %s", part)
		}
	}
}
