package plaintext

import (
	"strings"
	"unicode"
)

// Fold normalises a text for searches. It keeps letters and digits, in lower case, and replaces everything between
// them by one space. The stored texts and the words searched for are folded here, not by the database: SQLite, and
// Postgres with the locale C, know the lower case of ASCII letters only.
func Fold(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
