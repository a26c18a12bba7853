// Package sanitize makes text from upstreams safe to store and show: no control
// characters, no invalid UTF-8, no direction overrides, no hidden text, bounded length.
package sanitize

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// maxURL is the longest address kept, in bytes. The API has the same limit.
const maxURL = 2048

// Line returns s as one line. It replaces line breaks and tabs by spaces, removes the other characters that package
// plaintext refuses, and trims white space.
func Line(s string) string {
	return clean(strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r\n", "\n"), func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return keep(r)
	})
}

// Prose returns s with its line breaks and tabs. It removes the other characters that package plaintext refuses, and trims
// white space.
func Prose(s string) string {
	return clean(strings.ToValidUTF8(s, ""), func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return keep(r)
	})
}

// clean maps the characters of s, removes the invisible ones that can hide a text, and trims white space.
func clean(s string, mapping func(rune) rune) string {
	return strings.TrimSpace(plaintext.StripInvisible(strings.Map(mapping, s)))
}

// keep drops control characters and those that change the direction of text, which requests must not have. An upstream
// can't be asked to send something else.
func keep(r rune) rune {
	if unicode.IsControl(r) || plaintext.Reorders(r) {
		return -1
	}
	return r
}

// Squeeze returns Line(s) with single spaces.
func Squeeze(s string) string { return strings.Join(strings.Fields(Line(s)), " ") }

// Shorten cuts s to at most limit runes, including a final "…". It cuts at the last word boundary in the second
// half, or else inside a word.
func Shorten(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	cut := limit - 1
	for at := cut; at > limit/2; at-- {
		if unicode.IsSpace(runes[at]) {
			cut = at
			break
		}
	}
	end := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:-–—", r) }
	return strings.TrimRightFunc(plaintext.TrimTags(string(runes[:cut])), end) + "…"
}

// WebURL returns s if it is an absolute http or https address of at most 2048 bytes, else "". An address with a user name
// is left out: https://known.example@other.example looks like an address of known.example.
func WebURL(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxURL || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || keep(r) < 0 || r == utf8.RuneError
	}) || plaintext.StripInvisible(s) != s {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil || !(u.Scheme == "http" || u.Scheme == "https") {
		return ""
	}
	return s
}
