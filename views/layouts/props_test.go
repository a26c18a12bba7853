package layouts

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortTitle(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"":             "Pulsecast: can AI beat the market?",
		"News":         "News · Pulsecast",
		"Will it hold": "Will it hold · Pulsecast",
		"Will the seasonal flu index reach its high level in Lindmark before 10 December?": "Will the seasonal flu index reach its high level in… · Pulsecast",
		strings.Repeat("ä", 100):       strings.Repeat("ä", 57) + "… · Pulsecast",
		strings.Repeat("word, ", 20):   "word, word, word, word, word, word, word, word, word… · Pulsecast",
		strings.Repeat("a", 58):        strings.Repeat("a", 58) + " · Pulsecast",
		"a " + strings.Repeat("b", 90): "a " + strings.Repeat("b", 55) + "… · Pulsecast",
	} {
		got := Props{Title: title}.short()
		if got != want || utf8.RuneCountInString(got) > maxTitle {
			t.Errorf("%q: %q of %d characters, want %q", title, got, utf8.RuneCountInString(got), want)
		}
	}
}
