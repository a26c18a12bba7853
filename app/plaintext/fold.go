package plaintext

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold normalises a text for searches. It keeps letters with their marks and digits, in lower case and in the form NFKC
// (Unicode Standard Annex #15), and replaces everything between them by one space. So a text is found however its
// accents are encoded. The stored texts and the words searched for are folded here, not by the database: SQLite, and
// Postgres with the locale C, know the lower case of ASCII letters only.
func Fold(text string) string {
	return FoldKeeping(text, func(rune, string) rune { return 0 })
}

// FoldKeeping is like Fold, but keeps some signs as words. It calls keep with the character before each sign, 0 at the
// start, and the text from the sign on. keep returns the sign, or another one to write for it, or 0 to leave it out.
func FoldKeeping(text string, keep func(before rune, from string) rune) string {
	var b strings.Builder
	gap, before := true, rune(0)
	text = norm.NFKC.String(text)
	b.Grow(len(text))
	for i, r := range text {
		previous := before
		before = r
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		case unicode.Is(unicode.Variation_Selector, r): // says only how to draw a character
		case unicode.IsMark(r) && !gap:
			b.WriteRune(r)
		default:
			gap = true
			if sign := keep(previous, text[i:]); sign != 0 {
				if b.Len() > 0 {
					b.WriteByte(' ')
				}
				b.WriteRune(sign)
			}
		}
	}
	return norm.NFC.String(b.String())
}

// unspaced are scripts that write no spaces between words, so a folded text has many words in one.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// Beginning returns what a folded text with a space before it contains if HasWord is true.
func Beginning(word string) string {
	if isUnspaced(word) {
		return word
	}
	return " " + word
}

func isUnspaced(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.In(first, unspaced...)
}

// HasWord reports whether a word of a folded text begins with a word of a search, as Words returns it. So a search for
// "rate" finds "rates", but a search for "us" doesn't find "houston". A word of a script without spaces matches any part
// of the text.
func HasWord(text, word string) bool {
	if isUnspaced(word) {
		return strings.Contains(text, word)
	}
	for from := 0; ; from++ {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		if from += i; from == 0 || text[from-1] == ' ' {
			return true
		}
	}
}

// MaxWords is the greatest number of different words in a search.
const MaxWords = 32

// Wordless reports whether a search has a text but no letter or digit. Such a search finds nothing.
func Wordless(search string) bool { return search != "" && Fold(search) == "" }

// Words returns the different words of a search, folded and in order. If there are more than MaxWords, it returns what
// is wrong instead, as the rest of a sentence that begins with the name of the search. A bound on the characters isn't
// enough: one character can fold to four words, and a database compares each word with every text that it looks at.
func Words(search string) (words []string, wrong string) {
	words = strings.Fields(Fold(search))
	slices.Sort(words)
	if words = slices.Compact(words); len(words) > MaxWords {
		return nil, fmt.Sprintf("may have at most %d different words, got %d", MaxWords, len(words))
	}
	return words, ""
}
