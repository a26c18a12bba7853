package sanitize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzText checks that any input becomes a text that a page can show.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"a", "a\x00b", "\u202e", "\xff", " \n ", "&amp;amp;", strings.Repeat("é", 300), "\u2028", "a\u200b \ufe0f", "🏴\U000e0067\U000e0062\U000e0065\U000e007fabc"} {
		f.Add(seed, 5)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if line := Line(s); plaintext.Check(line, false) != "" {
			t.Errorf("Line(%q) = %q", s, line)
		}
		if prose := Prose(s); plaintext.Check(prose, true) != "" {
			t.Errorf("Prose(%q) = %q", s, prose)
		}
		if limit > 0 && limit < 1000 {
			if short := Shorten(Line(s), limit); utf8.RuneCountInString(short) > limit || plaintext.Check(short, false) != "" {
				t.Errorf("Shorten(%q, %d) = %q", s, limit, short)
			}
		}
	})
}

// FuzzReadHTML checks that a fragment gives plain text and web links.
func FuzzReadHTML(f *testing.F) {
	for _, seed := range []string{`<p>a <a href="https://x.org">b</a></p>`, `<script>x</script>`, `<a href="javascript:x">y`, `<<<`, `&#0;`, `<!--`, `<![CDATA[`, strings.Repeat("<div>", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fragment string) {
		if got := ReadHTML(fragment); strings.Contains(got.Text, "\x00") || !utf8.ValidString(got.Text) {
			t.Errorf("%q: got %+v", fragment, got)
		}
	})
}

// FuzzWebURL checks that the result is a web address or empty.
func FuzzWebURL(f *testing.F) {
	for _, seed := range []string{"https://x.org/a?b#c", "javascript:x", "//x.org", "https://", "http://x\x00", "https://x y", "HTTPS://X", "data:,x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u := strings.ToLower(WebURL(s))
		if u != "" && !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			t.Errorf("WebURL(%q) = %q", s, u)
		}
	})
}
