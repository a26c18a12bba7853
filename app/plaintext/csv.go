package plaintext

import "strings"

// CSVCell returns a text for a CSV file. It puts an apostrophe before a text that a spreadsheet would run as a formula,
// so that the spreadsheet shows it as text.
func CSVCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
