package agent

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/pulsecast/pulsecast/app/problem"
)

// A handle is 3..40 characters of [a-z0-9-], without a hyphen at either end.
const (
	handleMin = 3
	handleMax = 40
)

// ValidHandle reports whether a text has the form of a handle.
func ValidHandle(s string) bool {
	if len(s) < handleMin || len(s) > handleMax || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// checkHandle returns 422 invalid_request for a text that isn't a handle.
func checkHandle(s string) error {
	if ValidHandle(s) {
		return nil
	}
	return problem.InvalidRequest(problem.Field{
		Field: "handle", Message: fmt.Sprintf("must be %d to %d characters of a-z, 0-9 and hyphens between them", handleMin, handleMax),
	})
}

// neutralBase is the base of the handles of agents whose names give none.
const neutralBase = "agent"

// HandleFrom returns the handle for a name: transliterated to ASCII, in lower case, with hyphens
// between words. For a name without usable letters it returns "agent". The handle may be taken or
// reserved, in which case Create appends a number.
func HandleFrom(name string) string {
	handle := shorten(romanize(name), handleMax)
	if handle == "" {
		return neutralBase
	}
	if len(handle) < handleMin {
		return neutralBase + "-" + handle
	}
	return handle
}

// romanize returns a name in lower-case ASCII letters and digits, with a hyphen for each gap.
func romanize(name string) string {
	var b strings.Builder
	gap := false
	// Compatibility decomposition splits é into e and an accent, and ﬁ into f and i.
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		ascii := transliterate(r)
		switch {
		case ascii == "" && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’':
			gap = b.Len() > 0
		case ascii != "":
			if gap {
				b.WriteByte('-')
			}
			gap = false
			b.WriteString(ascii)
		}
	}
	return b.String()
}

// numbered returns the n-th handle to try for a base: base, base-2, base-3, …
func numbered(base string, n int) string {
	if n == 1 {
		return base
	}
	suffix := "-" + strconv.Itoa(n)
	return shorten(base, handleMax-len(suffix)) + suffix
}

func shorten(handle string, n int) string {
	return strings.Trim(handle[:min(n, len(handle))], "-")
}

// transliterate returns a lower-case letter or a digit in ASCII, or "" for other characters.
func transliterate(r rune) string {
	if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
		return string(r)
	}
	return letters[r]
}

// letters transliterates the letters that decomposition doesn't change: Latin letters with strokes
// and ligatures, Greek (ELOT 743, simplified) and Cyrillic (BGN/PCGN, simplified).
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŋ': "ng", 'ŧ': "t",
	'α': "a", 'β': "v", 'γ': "g", 'δ': "d", 'ε': "e", 'ζ': "z", 'η': "i", 'θ': "th", 'ι': "i", 'κ': "k", 'λ': "l", 'μ': "m",
	'ν': "n", 'ξ': "x", 'ο': "o", 'π': "p", 'ρ': "r", 'σ': "s", 'ς': "s", 'τ': "t", 'υ': "y", 'φ': "f", 'χ': "ch", 'ψ': "ps", 'ω': "o",
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'ґ': "g", 'д': "d", 'е': "e", 'є': "ye", 'ж': "zh", 'з': "z", 'и': "i", 'і': "i",
	'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "kh",
	'ц': "ts", 'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya",
}
