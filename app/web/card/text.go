package card

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRead is how many characters of a text are read. No card shows more.
const maxRead = 400

// drawable returns a text on one line as the font can draw it. It drops emoji and other signs
// without a glyph. If more than a tenth of the letters and digits have no glyph, it returns the
// fallback instead of a text with gaps. Right-to-left scripts have no glyphs, so text direction
// never matters here.
func drawable(s, fallback string) string {
	var out strings.Builder
	letters, missing, read := 0, 0, 0
	for _, r := range s {
		if read++; read > maxRead {
			break
		}
		switch {
		case unicode.IsSpace(r):
			out.WriteByte(' ')
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
			if has(r) {
				out.WriteRune(r)
			} else {
				missing++
			}
		case unicode.IsGraphic(r) && has(r):
			out.WriteRune(r)
		}
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	if text == "" || missing*10 > letters {
		return fallback
	}
	return text
}

const ellipsis = "…"

// wrap breaks a text into lines of at most a given width. Text that doesn't fit ends in an
// ellipsis. A word longer than a line is broken.
func (p *pen) wrap(s string, width int, st style, lines int) []string {
	var rows []string
	row := ""
	words := strings.Fields(s)
	for len(words) > 0 {
		word := words[0]
		candidate := strings.TrimPrefix(row+" "+word, " ")
		switch {
		case p.width(candidate, st) <= width:
			row, words = candidate, words[1:]
			continue
		case row == "": // the word alone is too long
			head := p.head(word, width, st)
			words[0] = word[len(head):]
			row = head
		}
		if len(rows) == lines-1 {
			return append(rows, p.cut(row+" "+strings.Join(words, " "), width, st))
		}
		rows, row = append(rows, row), ""
	}
	if row != "" {
		rows = append(rows, row)
	}
	return rows
}

// cut returns a text that fits on one line of a width, with an ellipsis if it is too long.
func (p *pen) cut(s string, width int, st style) string {
	if p.width(s, st) <= width {
		return s
	}
	return strings.TrimRight(p.head(s, width-p.width(ellipsis, st), st), " ,;:.–-") + ellipsis
}

// head returns the longest start of a text that fits, at least one character.
func (p *pen) head(s string, width int, st style) string {
	end := 0
	for end < len(s) {
		_, n := utf8.DecodeRuneInString(s[end:])
		if end > 0 && p.width(s[:end+n], st) > width {
			break
		}
		end += n
	}
	return s[:end]
}
