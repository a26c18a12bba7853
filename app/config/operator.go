package config

import (
	"fmt"
	"net/mail"
	"os"
	"strings"
	"unicode/utf8"
)

// maxText is the largest size of the operator's own texts, in bytes.
const maxText = 256 << 10

// checkOperator checks that the pages about the operator can be shown.
func (c *Config) checkOperator() error {
	if strings.ContainsFunc(c.OperatorName, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("OPERATOR_NAME: must be one line")
	}
	if contact := strings.TrimPrefix(c.OperatorContact, "mailto:"); contact != "" && checkBase("OPERATOR_CONTACT", contact) != nil {
		if at, err := mail.ParseAddress(contact); err != nil || at.Address != contact || strings.ContainsAny(contact, "<> ") {
			return fmt.Errorf("OPERATOR_CONTACT: %q is neither a mail address nor an http(s) address", c.OperatorContact)
		}
	}
	for _, f := range []struct{ name, path string }{{"TERMS_FILE", c.TermsFile}, {"PRIVACY_FILE", c.PrivacyFile}} {
		if f.path == "" {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if len(text) > maxText || !utf8.Valid(text) {
			return fmt.Errorf("%s: %s must be UTF-8 and at most %d KiB", f.name, f.path, maxText>>10)
		}
	}
	return nil
}
