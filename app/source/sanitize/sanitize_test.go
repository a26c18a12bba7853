package sanitize_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"  plain  ":                          "plain",
		"a\x00b\x07c":                        "abc",
		"a\xffb":                             "ab",
		"two\r\nlines\there":                 "two lines here",
		"abc\u202edef\u2066":                 "abcdef",
		"Zürich — 5 %":                       "Zürich — 5 %",
		"family \U0001f469\u200d\U0001f467":  "family \U0001f469\u200d\U0001f467",
		"\ufeffa\u200b\u2060 b\U000e0041":    "a b",
		"a\ufe0f\U000e0101\u200b\U000e0102b": "a\ufe0fb",
	} {
		if got := sanitize.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProseKeepsLines(t *testing.T) {
	t.Parallel()
	if got := sanitize.Prose(" a\r\nb\n\n\tc\x00 "); got != "a\nb\n\n\tc" {
		t.Errorf("got %q", got)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"one two three four", 10, "one two…"},
		{"one two, three four", 10, "one two…"},
		{"unbreakableword", 10, "unbreakab…"},
		{"a unbreakableword", 10, "a unbreak…"},
		{"äöü äöü äöü", 8, "äöü äöü…"},
		{"a 🏴\U000e0067\U000e0062\U000e0065\U000e007f", 5, "a 🏴…"},
	}
	for _, c := range cases {
		got := sanitize.Shorten(c.in, c.limit)
		if got != c.want || utf8.RuneCountInString(got) > c.limit {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestWebURL(t *testing.T) {
	t.Parallel()
	for in, keep := range map[string]bool{
		"https://example.org/a?b=c&d": true, "http://example.org": true, "HTTPS://EXAMPLE.ORG/": true,
		"": false, "self": false, "default": false, "nsfw": false, "/r/science": false, "//example.org": false,
		"javascript:alert(1)": false, "data:text/html,x": false, "ftp://example.org": false,
		"https://": false, "https://exa mple.org": false, "https://example.org/a\x00b": false,
		"https://bbc.com@evil.example/": false, "https://@evil.example/": false, "https://a:b@evil.example/": false, "https://example.org/@user": true,
		"https://example.org/a\u200b": false, "https://example.org/" + strings.Repeat("a", 2048): false,
	} {
		if got := sanitize.WebURL(in); (got != "") != keep {
			t.Errorf("WebURL(%.60q) = %.60q", in, got)
		}
	}
}

func TestReadHTML(t *testing.T) {
	t.Parallel()
	got := sanitize.ReadHTML(`<p>One &amp; <b>two</b>s<br>three&nbsp;four</p><script>no()</script><p>five</p><a href="https://e.org/?a=1&amp;b=2"> [link] </a>`)
	if got.Text != "One & twos three four five [link]" {
		t.Errorf("text %q", got.Text)
	}
	if len(got.Links) != 1 || got.Links[0] != (sanitize.Link{Href: "https://e.org/?a=1&b=2", Text: "[link]"}) {
		t.Errorf("links %v", got.Links)
	}
	if got := sanitize.ReadHTML("kept <b"); got.Text != "kept" {
		t.Errorf("broken markup: got %q", got.Text)
	}
}

// TestReadLongHTML checks that only the start of a fragment is read, because open elements cost memory, and that a cut
// in the middle of a character or an element loses nothing before it.
func TestReadLongHTML(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	link := `<a href="https://e.org/">[link]</a>`
	for name, c := range map[string]struct {
		fragment, text string
		links          int
	}{
		"short enough":      {strings.Repeat("<b>", (most-len(link))/3) + link, "[link]", 1},
		"too deep":          {strings.Repeat("<b>", most/3+1) + link, "", 0},
		"cut in a link":     {strings.Repeat(".", most-len(link)/2) + link, strings.Repeat(".", most-len(link)/2), 0},
		"cut in a letter":   {"." + strings.Repeat("é", most/2) + link, "." + strings.Repeat("é", most/2-1), 0},
		"cut in an element": {"." + strings.Repeat("<b>", most) + link, ".", 0},
	} {
		if got := sanitize.ReadHTML(c.fragment); got.Text != c.text || len(got.Links) != c.links {
			t.Errorf("%s: got %d bytes of text and the links %v", name, len(got.Text), got.Links)
		}
	}
}
