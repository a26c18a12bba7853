package plaintext

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold normalises a text for searches. It keeps letters with their marks and digits, in lower case and in the form NFKC
// (Unicode Standard Annex #15), and replaces everything between them by one space. So a text is found however its
// accents are encoded. The stored texts and the words searched for are folded here, not by the database: SQLite, and
// Postgres with the locale C, know the lower case of ASCII letters only.
func Fold(text string) string {
	var b strings.Builder
	gap := true
	for _, r := range norm.NFKC.String(text) {
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
		}
	}
	return norm.NFC.String(b.String())
}
