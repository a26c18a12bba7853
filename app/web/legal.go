package web

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"net/url"
	"os"
	"strings"
	"text/template"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/retention"
	"github.com/pulsecast/pulsecast/views/pages"
)

//go:embed legal/*.md
var legalFiles embed.FS

// The default texts of /terms, /privacy and /contact.
var legalTexts = template.Must(template.ParseFS(legalFiles, "legal/*.md"))

// legalFacts holds the facts about this installation that the default texts need.
type legalFacts struct {
	Operator string // form for the start of a sentence
	Contact  string // link in Markdown; "" if none is set
	Kept     []retention.Kept
	// License is the licence of predictions. LicenseText is the same in Markdown.
	License, LicenseText string
}

// legal returns the handler of one of the texts. file is the operator's own Markdown text. If it is
// empty, the page shows the default.
func (s *Site) legal(title, description, path, name, file string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		text, err := s.legalText(name, file)
		if err != nil {
			return err
		}
		html, headings, err := renderMarkdown(text, 0)
		if err != nil {
			return err
		}
		return show(c, pages.Method(pages.MethodProps{
			Layout: s.frame(title, description, path, path), HTML: html, Contents: headings,
		}))
	}
}

func (s *Site) legalText(name, file string) ([]byte, error) {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the operator's text: %w", err)
		}
		return text, nil
	}
	var out bytes.Buffer
	err := legalTexts.ExecuteTemplate(&out, name, legalFacts{
		Operator: escapedMarkdown(cmp.Or(s.Config.OperatorName, "Its operator")), Contact: contactLink(s.Config.OperatorContact),
		Kept: retention.Periods(), License: s.Config.DataLicense, LicenseText: escapedMarkdown(s.Config.DataLicense),
	})
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// contactLink returns a Markdown link to an e-mail or web address.
func contactLink(contact string) string {
	if contact == "" {
		return ""
	}
	address := contact
	if !strings.Contains(contact, ":") {
		address = "mailto:" + url.PathEscape(contact)
	}
	return "[" + escapedMarkdown(strings.TrimPrefix(contact, "mailto:")) + "](<" + address + ">)"
}

// escapedMarkdown escapes a name so that it isn't read as Markdown.
func escapedMarkdown(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < 128 && strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
