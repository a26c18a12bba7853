package web

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzAddress checks that the parameters of a page are refused, or are plain text that survives in
// a link.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"", "q=rain&cursor=x", "q=%00", "q=%ff", "q=%E2%80%AE", "q=" + strings.Repeat("x", 500), "q=a&q=b", "&&=;"} {
		f.Add(seed)
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, query string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().SetRequestURI("/markets?" + query)
		a, err := readAddress(c, "q", "category", "cursor")
		if err != nil {
			return
		}
		if plaintext.Check(a.get("q"), false) != "" {
			t.Errorf("%q gives q=%q", query, a.get("q"))
		}
		if link, err := url.Parse(a.with("category", "crypto")); err != nil || link.Query().Get("category") != "crypto" {
			t.Errorf("%q gives the link %v, %v", query, link, err)
		}
	})
}

// FuzzMarkdown checks that any text of an operator renders as a page without scripts.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# A\n\n## B\n\ntext", "---\na: b\n---\n# A", "<script>x</script>", "| a |\n|---|\n| b |", "```\nx", "[x](javascript:y)", strings.Repeat("> ", 300), "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		html, _, err := renderMarkdown(source, 1)
		if err == nil && utf8.Valid(source) && strings.Contains(strings.ToLower(html), "<script") {
			t.Errorf("%q renders a script", source)
		}
	})
}
