package plaintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCheck checks that an accepted text has no characters that a database refuses or that mislead
// a reader.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"plain", "a\nb", "a\x00b", "\u202ea", "\xff", "e\u0301", "\u2066", "\x7f", "\u0085", "👩‍👩‍👧"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, s string, multiline bool) {
		if Check(s, multiline) != "" {
			return
		}
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || strings.ContainsFunc(s, Reorders) || (!multiline && strings.ContainsAny(s, "\r\n")) {
			t.Errorf("%q is accepted", s)
		}
	})
}

// FuzzCut checks that Cut returns valid UTF-8 of at most the given number of characters.
func FuzzCut(f *testing.F) {
	f.Add("some text", 4)
	f.Add("👩‍👩‍👧", 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if !utf8.ValidString(s) || most < 1 || most > 1000 {
			return
		}
		if cut := Cut(s, most); !utf8.ValidString(cut) || utf8.RuneCountInString(cut) > most {
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
