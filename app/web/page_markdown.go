package web

import (
	"bytes"
	"fmt"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/PuerkitoBio/goquery"
	"github.com/gofiber/fiber/v2"
)

const markdownType = "text/markdown"

// prefersMarkdown returns whether a request prefers Markdown to HTML.
func prefersMarkdown(c *fiber.Ctx) bool {
	if !bytes.Contains(c.Request().Header.Peek(fiber.HeaderAccept), []byte(markdownType)) {
		return false // most requests send this
	}
	return c.Accepts(fiber.MIMETextHTML, markdownType) == markdownType
}

// noText selects elements that make sense only on a screen.
const noText = "script, style, svg, form, button, input, select, .visually-hidden, .toc, .thumb, nav[aria-label='Pages']"

var markdownConverter = converter.NewConverter(
	converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
)

// pageMarkdown returns the main part of a page as Markdown, below its title and address. Links
// become absolute.
func pageMarkdown(html []byte, address string) ([]byte, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", address, err)
	}
	main := doc.Find("main").First()
	main.Find(noText).Remove()
	main.Find(".tabs > label").Each(func(_ int, label *goquery.Selection) {
		label.ReplaceWithHtml("<h3>" + label.Text() + "</h3>")
	})
	text, err := markdownConverter.ConvertNode(main.Nodes[0], converter.WithDomain(address))
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", address, err)
	}
	return append(bytes.TrimSpace(text), '\n'), nil
}
