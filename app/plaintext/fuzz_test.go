package plaintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCheck checks that an accepted text has no characters that a database refuses or that mislead
// a reader, and that a text is accepted without the invisible ones that were refused.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"plain", "a\nb", "a\x00b", "\u202ea", "\xff", "e\u0301", "\u2066", "\x7f", "\u0085", "👩‍👩‍👧", "a\u200bb", "a\U000e0041", "🏴\U000e0067\U000e0062\U000e0065\U000e007f", "😀\ufe0f\u200d\ufe0e\u200c\u200d"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, s string, multiline bool) {
		message, stripped := Check(s, multiline), StripInvisible(s)
		if left := Check(stripped, multiline); strings.Contains(left, "invisible") {
			t.Errorf("%q is stripped to %q, which %s", s, stripped, left)
		}
		if message != "" {
			return
		}
		if !multiline && stripped != s {
			t.Errorf("%q is accepted, but stripped to %q", s, stripped)
		}
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || strings.ContainsFunc(s, Reorders) || (!multiline && strings.ContainsAny(s, "\r\n")) {
			t.Errorf("%q is accepted", s)
		}
	})
}

// FuzzCut checks that Cut returns valid UTF-8 of at most the given number of characters, without half a flag.
func FuzzCut(f *testing.F) {
	f.Add("some text", 4)
	f.Add("👩‍👩‍👧", 2)
	f.Add("", 0)
	f.Add("🏴\U000e0067\U000e0062\U000e0065\U000e007f", 4)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if !utf8.ValidString(s) || most < 1 || most > 1000 {
			return
		}
		cut := Cut(s, most)
		if !utf8.ValidString(cut) || utf8.RuneCountInString(cut) > most || Check(s, true) == "" && Check(cut, true) != "" {
			t.Errorf("Cut(%q, %d) = %q", s, most, cut)
		}
	})
}

// FuzzFold checks that Fold doesn't change a text that it has folded. So a search for a stored word finds it.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"Cafe\u0301", "\u01c5\u030c", "\u1e9e \u0130\u0307", "ﷺ", "a\u034f\u0301", "\uac00\u11a8", "1\ufe0f\u20e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if again := Fold(once); again != once {
			t.Errorf("%q is folded to %q, and that to %q", s, once, again)
		}
	})
}
