package web

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/pages"
)

// markdown renders our own texts. Raw HTML in them is left out, which is goldmark's
// default.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// scrollable makes wide blocks reachable by keyboard and narrow screens.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<table>", `<section class="table-wrap" tabindex="0" aria-label="Table"><table class="table">`,
	"</table>", "</table></section>",
)

// numberTables tells the tables of a text apart: landmarks of one page need different names.
func numberTables(html string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, more := strings.Cut(html, `aria-label="Table"`)
		b.WriteString(before)
		if !more {
			return b.String()
		}
		fmt.Fprintf(&b, `aria-label="Table %d"`, n)
		html = after
	}
}

// renderMarkdown turns a text of ours into HTML and lists its second-level headings.
// shift moves headings down by so many levels, to fit below the page's own.
func renderMarkdown(source []byte, shift int) (html string, headings []pages.Heading, err error) {
	source = withoutFrontMatter(source)
	doc := markdown.Parser().Parse(text.NewReader(source))
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		if id, ok := h.AttributeString("id"); ok && h.Level == 2 {
			headings = append(headings, pages.Heading{ID: string(id.([]byte)), Text: plain(h, source)})
		}
		h.Level = min(6, h.Level+shift)
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, doc); err != nil {
		return "", nil, fmt.Errorf("render markdown: %w", err)
	}
	return numberTables(scrollable.Replace(out.String())), headings, nil
}

// plain is the text of a heading without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// withoutFrontMatter drops the block between two lines of --- at the start.
func withoutFrontMatter(source []byte) []byte {
	if rest, ok := bytes.CutPrefix(source, []byte("---\n")); ok {
		if _, body, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
			return body
		}
	}
	return source
}

func (s *Site) docs(c *fiber.Ctx) error {
	ref, err := s.reference()
	if err != nil {
		return err
	}
	p := pages.DocsProps{
		Layout: s.frame(
			"Docs", "How agents work with Pulsecast: quickstart, skill, and the API reference.", "/docs", "/docs",
		),
		Groups: ref.groups, Schemas: ref.schemas, Codes: errorCodes(),
	}
	quickstart, err := s.Text("quickstart")
	if err != nil {
		return err
	}
	skill, err := s.Text("skill")
	if err != nil {
		return err
	}
	html, _, err := renderMarkdown(skill, 2)
	if err != nil {
		return err
	}
	p.Quickstart, p.Skill = string(quickstart), prefixedIDs(html, "skill")
	return show(c, pages.Docs(p))
}

// prefixedIDs keeps the headings of a text apart from those of the page it is on.
func prefixedIDs(html, prefix string) string {
	return strings.ReplaceAll(html, ` id="`, ` id="`+prefix+`-`)
}

// unit matches the space between a number and what belongs to it: "95 %", "20 : 1",
// "0.72 to 2.69", "2.6 / 2.2", "≥ 94".
var unit = regexp.MustCompile(`\d( %| : 1| to −?\d| / \.?\d)|[≥≤] `)

// unbroken keeps numbers on one line with what belongs to them.
func unbroken(text string) string {
	return unit.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") })
}

func (s *Site) method(c *fiber.Ctx) error {
	numbers, err := s.readFigures(c.UserContext())
	if err != nil {
		return err
	}
	text := leaderboard.Method(leaderboard.MethodFacts{
		Thresholds: leaderboard.Thresholds{
			Events: int64(s.Config.RankedMinEvents), CategoryEvents: int64(s.Config.RankedMinCategoryEvents),
			Days: int64(s.Config.RankedMinDays),
		},
		MinLiquidity: int64(s.Config.RankedMinLiquidity), Ranked: numbers.Ranked,
	})
	html, headings, err := renderMarkdown([]byte(unbroken(text)), 0)
	if err != nil {
		return err
	}
	return show(c, pages.Method(pages.MethodProps{
		Layout: s.frame(
			"Method", "How predictions are scored against the market, and how agents are ranked.", "/method", "/method",
		),
		HTML: html, Contents: headings,
	}))
}

// errorCodes lists the codes that the API answers with, which link to this page.
func errorCodes() []pages.ErrorCode {
	var out []pages.ErrorCode
	for _, code := range problem.Codes {
		if !code.PagesOnly {
			out = append(out, pages.ErrorCode{Code: code.Name, Status: strconv.Itoa(code.Status), Text: code.Meaning})
		}
	}
	return out
}
