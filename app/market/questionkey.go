package market

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// QuestionKey normalises a question, so that two questions with the same key ask the same. It ignores letter case, white
// space and punctuation. It keeps the signs that change what is asked: "<3%" isn't ">3%", "-1" isn't "1", and "1.5"
// isn't "1-5".
func QuestionKey(question string) string { return plaintext.FoldKeeping(question, meaning) }

// maxMatchKey is the longest match key in bytes. Postgres can't index a text of more than 2704 bytes that it can't
// compress.
const maxMatchKey = 2000

// matchKey returns the key of a question to be stored, or "" if it is too long. Then no title is linked to the market.
func matchKey(question string) string {
	key := QuestionKey(question)
	if len(key) > maxMatchKey {
		return ""
	}
	return key
}

// meaning returns the sign at the start of from if it changes what a question asks, and 0 if it doesn't. before is the
// character before it. Dashes and minus signs count as the same. All signs but punctuation are kept, although some of
// them say nothing: a title that isn't linked gets a warning, but a wrong link can't be undone.
func meaning(before rune, from string) rune {
	sign, size := utf8.DecodeRuneInString(from)
	if sign == '\u2212' || unicode.Is(unicode.Pd, sign) {
		sign = '-'
	}
	next, _ := utf8.DecodeRuneInString(from[size:])
	switch {
	case strings.ContainsRune("-.,:/", sign): // part of a number, unless it follows a letter, as in "F-16"
		if !unicode.IsLetter(before) && (unicode.IsDigit(next) || sign == '-' && (next == '.' || unicode.Is(unicode.Sc, next))) {
			return sign
		}
		return 0
	case strings.ContainsRune("%‰‱", sign), unicode.In(sign, unicode.Sm, unicode.Sc, unicode.So):
		return sign
	}
	return 0
}
