package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/retention"
)

// TestLegalPages checks that the default texts name the operator, the contact and every period of
// retention. Without settings they name no operator.
func TestLegalPages(t *testing.T) {
	t.Parallel()
	kept := []string{}
	for _, k := range retention.Periods() {
		kept = append(kept, k.What)
	}
	for _, c := range []struct {
		name     string
		set      func(*config.Config)
		path     string
		wants    []string
		wantsNot []string
	}{
		{"terms", named, "/terms", []string{"Rain & Sons runs"}, []string{"<b>"}},
		{"the default licence", func(c *config.Config) { c.DataLicense = "CC BY 4.0" }, "/terms", []string{"(CC BY 4.0): anyone may"}, []string{"this licence"}},
		{"another licence", func(c *config.Config) { c.DataLicense = "CC0 *1.0*" }, "/terms", []string{"under this licence: CC0 *1.0*."}, []string{"CC BY"}},
		{"privacy", named, "/privacy", append([]string{"Rain & Sons runs"}, kept...), nil},
		{"contact by mail", named, "/contact", []string{"help@example.org"}, nil},
		{"contact on the web", func(c *config.Config) { c.OperatorContact = "https://example.org/help" }, "/contact", []string{"https://example.org/help"}, []string{"mailto:"}},
		{"terms without settings", func(*config.Config) {}, "/terms", []string{"Its operator runs"}, []string{"@"}},
		{"contact without settings", func(*config.Config) {}, "/contact", []string{"OPERATOR_CONTACT"}, []string{"mailto:"}},
		{"markup in a name", func(c *config.Config) { c.OperatorName = "<b>Bold</b> *stars*" }, "/terms", []string{"<b>Bold</b> *stars* runs"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page := openWith(t, dbtest.Open(t, database.SQLite), c.set).get(c.path)
			text := page.text("main")
			if page.status != 200 {
				t.Fatalf("status %d: %s", page.status, text)
			}
			for _, want := range c.wants {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
			for _, not := range c.wantsNot {
				if strings.Contains(text, not) {
					t.Errorf("%q is in:\n%s", not, text)
				}
			}
		})
	}
}

func named(c *config.Config) {
	c.OperatorName, c.OperatorContact = "Rain & Sons", "help@example.org"
}

// TestOwnLegalTexts checks that an operator's file replaces the default text and that scripts in it
// don't run.
func TestOwnLegalTexts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.md")
	if err := os.WriteFile(file, []byte("# House rules\n\nBe kind.\n\n<script>alert(1)</script>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openWith(t, dbtest.Open(t, database.SQLite), func(c *config.Config) { c.TermsFile, c.PrivacyFile = file, file })
	for _, path := range []string{"/terms", "/privacy"} {
		page := h.get(path)
		text := page.text("main")
		if page.status != 200 || !strings.Contains(text, "House rules") || !strings.Contains(text, "Be kind.") || strings.Contains(text, "runs this installation") {
			t.Errorf("%s: %d %s", path, page.status, text)
		}
		if strings.Contains(string(page.body), "<script>alert") {
			t.Errorf("%s holds a script of the file", path)
		}
	}
}
