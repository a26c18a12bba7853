// Package plaintext holds the rules for text that callers send: readable characters
// only, so that what is stored shows the same everywhere and can hide nothing, and
// of a bounded length.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check tells what is wrong with a text, as the rest of a sentence about it, or ""
// when it is fine. Refused are invalid UTF-8, NUL and other control characters, and
// the characters that reorder or isolate text direction (Unicode's Trojan Source
// set). Line breaks and tabs are fine when multiline is set.
func Check(s string, multiline bool) string {
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			return "has invalid UTF-8; send valid UTF-8"
		case multiline && (r == '\n' || r == '\r' || r == '\t'):
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			if !multiline {
				return "has a line break; send a single line"
			}
		case unicode.IsControl(r):
			return fmt.Sprintf("has the control character U+%04X; leave it out", r)
		case Reorders(r):
			return fmt.Sprintf("has U+%04X, which changes the direction of text; leave it out", r)
		}
	}
	return ""
}

// CheckLength is Check of a text of least to most characters; least is 0 for a text
// that may be left out.
func CheckLength(s string, least, most int, multiline bool) string {
	switch n := utf8.RuneCountInString(s); {
	case n < least:
		return fmt.Sprintf("is required: send %d to %d characters", least, most)
	case n > most:
		return fmt.Sprintf("may be at most %d characters, got %d", most, n)
	}
	return Check(s, multiline)
}

// Cut shortens a text to at most that many characters; the last is then an ellipsis.
func Cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:most-1]), " ") + "…"
}

// Reorders tells whether a character can show a text in another order than it is
// read: the embeddings, overrides and isolates of UAX #9, and what ends them.
// The plain marks LRM, RLM and ALM reorder nothing by themselves and are part of
// ordinary Hebrew and Arabic.
func Reorders(r rune) bool {
	return (r >= '\u202A' && r <= '\u202E') || (r >= '\u2066' && r <= '\u2069')
}
