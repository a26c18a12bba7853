package web

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/PuerkitoBio/goquery"
	"github.com/gofiber/fiber/v2"
	"golang.org/x/net/html"
)

const (
	markdownType = "text/markdown"
	markdownUTF8 = markdownType + "; charset=utf-8"
)

// prefersMarkdown returns whether a request prefers Markdown to HTML.
func prefersMarkdown(c *fiber.Ctx) bool {
	if !bytes.Contains(c.Request().Header.Peek(fiber.HeaderAccept), []byte(markdownType)) {
		return false // most requests send this
	}
	return c.Accepts(fiber.MIMETextHTML, markdownType) == markdownType
}

const (
	// noText selects elements that make sense only on a screen: .narrow-note repeats columns for phones, and a legend
	// belongs to a picture.
	noText = "script, style, svg, form, button, input, select, .visually-hidden, .narrow-note, .legend, .toc, .thumb, nav[aria-label='Pages']"
	// inline selects elements that only styles keep apart from the next one.
	inline = "a, abbr, b, bdi, em, i, small, span, strong, time"
)

var markdownConverter = converter.NewConverter(
	converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
)

// pageMarkdown returns the banners of a page as quotes, and below them its main part as Markdown. Links become
// absolute.
func pageMarkdown(page []byte, address string) ([]byte, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", address, err)
	}
	main := doc.Find("main").First()
	main.Find(noText).Remove()
	main.Find(".tabs > label").Each(func(_ int, label *goquery.Selection) {
		label.ReplaceWithHtml("<h3>" + label.Text() + "</h3>")
	})
	main.Find(inline).Each(func(_ int, s *goquery.Selection) {
		if next := s.Nodes[0].NextSibling; next != nil && next.Type == html.ElementNode {
			s.AfterHtml(" ")
		}
	})
	text, err := markdownConverter.ConvertNode(main.Nodes[0], converter.WithDomain(address))
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", address, err)
	}
	var out bytes.Buffer
	for _, banner := range doc.Find("#banners .banner").EachIter() {
		fmt.Fprintf(&out, "> %s\n\n", strings.Join(strings.Fields(banner.Text()), " "))
	}
	out.Write(bytes.TrimSpace(text))
	out.WriteByte('\n')
	return out.Bytes(), nil
}
