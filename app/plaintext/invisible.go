package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxInvisible is how many invisible characters may follow each other. More could hide a text. Arabic needs up to three:
// ZWJ, ZWNJ and ZWJ.
const maxInvisible = 3

// blackFlag begins the flag of a part of a country, such as Scotland. Tags that spell the part follow it, and endOfTags.
const (
	blackFlag = '\U0001F3F4'
	endOfTags = '\U000E007F'
)

// needless holds invisible characters that no text needs, but that programs read: zero-width spaces, invisible operators,
// deprecated format characters, annotations, Hangul fillers and tags.
var needless = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x180E, Hi: 0x180E, Stride: 1}, {Lo: 0x200B, Hi: 0x200B, Stride: 1}, {Lo: 0x2060, Hi: 0x2065, Stride: 1},
		{Lo: 0x206A, Hi: 0x206F, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1},
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, {Lo: 0xFFF0, Hi: 0xFFFB, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE00FF, Stride: 1}, {Lo: 0xE01F0, Hi: 0xE0FFF, Stride: 1}},
}

// copied reports whether a needless character is one that a text often has because it was copied from a page: a zero-width
// space, a word joiner or a byte order mark.
func copied(r rune) bool { return r == '\u200B' || r == '\u2060' || r == '\uFEFF' }

// Invisible reports whether a character is invisible: a format character such as the zero-width
// space, a tag, a variation selector or a filler.
func Invisible(r rune) bool {
	return r >= '\u00AD' && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800'
}

// StripInvisible returns a text without the invisible characters that Check refuses in a line, because they can hide a
// text from people. It keeps those that scripts and emoji need: joiners, marks of direction, a variation selector after a visible
// character, and the tags of flags.
func StripInvisible(s string) string {
	var before invisibles
	rest := s
	return strings.Map(func(r rune) rune {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		if before.refuse(r, rest) {
			return -1
		}
		return r
	}, s)
}

// checkInvisible returns "" if StripInvisible changes nothing, and otherwise what is wrong, like Check. It allows characters
// that were copied if multiline is set. The text must be valid UTF-8.
func checkInvisible(s string, multiline bool) string {
	before := invisibles{allowCopied: multiline}
	n, first := 0, rune(0)
	for i, r := range s {
		if !before.refuse(r, s[i+utf8.RuneLen(r):]) {
			continue
		}
		if n++; n == 1 {
			first = r
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("has the invisible character U+%04X; leave it out", first)
	}
	return fmt.Sprintf("has %d invisible characters to leave out, the first U+%04X", n, first)
}

// invisibles reads a text character by character. Its zero value is before the first one.
type invisibles struct {
	allowCopied bool

	shown bool // a visible character was read, and no space since
	n     int  // invisible characters since the last visible one
	tags  int  // characters left of the tags of a flag
}

// refuse reports whether the next character is to be left out. rest is the text after it.
func (i *invisibles) refuse(r rune, rest string) bool {
	switch {
	case i.tags > 0:
		i.tags--
		return false
	case unicode.Is(needless, r) && !(i.allowCopied && copied(r)):
		return true
	case !Invisible(r):
		i.shown, i.n = !unicode.IsSpace(r), 0
		if r == blackFlag {
			i.tags = tagsOfFlag(rest)
		}
		return false
	case i.n == maxInvisible || unicode.Is(unicode.Variation_Selector, r) && (i.n > 0 || !i.shown):
		return true
	}
	i.n++
	return false
}

// tagsOfFlag returns how many characters of tags follow a black flag: 3 to 7 that spell a part of a country in small
// letters and digits (Unicode Technical Standard #51, Annex C), and the end. It returns 0 if they are no such flag.
func tagsOfFlag(rest string) int {
	n := 0
	for _, r := range rest {
		switch {
		case r == endOfTags && n >= 3:
			return n + 1
		case n == 7 || !(r >= '\U000E0030' && r <= '\U000E0039' || r >= '\U000E0061' && r <= '\U000E007A'):
			return 0
		}
		n++
	}
	return 0
}
