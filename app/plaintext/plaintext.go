// Package plaintext holds the rules for text that callers send. It must have a bounded length and
// only readable characters, so that it looks the same everywhere and hides nothing.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check returns "" if a text is allowed. Otherwise it returns what is wrong, as the rest of a
// sentence that begins with the text's name. It refuses invalid UTF-8, NUL and other control
// characters, the characters that change the direction of text (see Reorders), and invisible ones
// that can hide a text (see StripInvisible). Only if multiline is set, it allows line breaks, tabs, and zero-width spaces,
// which come with copied texts.
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
	return checkInvisible(s, multiline)
}

// CheckLength is like Check, and also refuses a text with fewer than least or more than most
// characters. With least 0, the text may be left out. Otherwise a text that shows nothing counts as
// left out.
func CheckLength(s string, least, most int, multiline bool) string {
	n := utf8.RuneCountInString(s)
	if least > 0 && n <= most && Blank(s) {
		n = 0
	}
	switch {
	case n >= least && n <= most:
		return Check(s, multiline)
	case n > most:
		return fmt.Sprintf("may be at most %d characters, got %d", most, n)
	case n > 0:
		return fmt.Sprintf("must be %d to %d characters, got %d", least, most, n)
	}
	return fmt.Sprintf("is required: send %d to %d characters", least, most)
}

// CheckLabel is like CheckLength for a single line that is compared with others, such as the name of a
// model. It refuses every invisible character, because two labels must not look the same.
func CheckLabel(s string, least, most int) string {
	if message := CheckLength(s, least, most, false); message != "" {
		return message
	}
	if i := strings.IndexFunc(s, Invisible); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Sprintf("has the invisible character U+%04X; leave it out", r)
	}
	return ""
}

// Blank reports whether a text has only spaces and invisible characters.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !Invisible(r) })
}

// Cut shortens a text to at most most characters, the last of which is an ellipsis. A text that is
// short enough is returned unchanged. most must be at least 1.
func Cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(TrimTags(string([]rune(s)[:most-1])), " ") + "…"
}

// TrimTags returns a text without the tags at its end. They are the rest of a flag that was cut off, which
// Check refuses.
func TrimTags(s string) string {
	return strings.TrimRightFunc(s, func(r rune) bool { return r >= '\U000E0000' && r <= endOfTags })
}

// Printable returns a foreign text with spaces in place of the characters that a terminal obeys: it can't move the
// cursor, color the terminal, or reorder its characters. Line breaks and tabs stay. Invalid UTF-8 becomes U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || Reorders(r):
			return ' '
		}
		return r
	}, s)
}

// PrintableLine is Printable in one line, with single spaces. A foreign text must not look like a line of the command.
func PrintableLine(s string) string { return strings.Join(strings.Fields(Printable(s)), " ") }

// Reorders reports whether a character can make a text appear in another order than it is stored:
// the embeddings, overrides and isolates of UAX #9, and the characters that end them (the set of
// Trojan Source). The marks LRM, RLM and ALM don't count. They are part of ordinary Hebrew and
// Arabic and reorder no other text.
func Reorders(r rune) bool {
	return (r >= '\u202A' && r <= '\u202E') || (r >= '\u2066' && r <= '\u2069')
}
