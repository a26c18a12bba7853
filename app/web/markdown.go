package web

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// markdown renders our own texts. It leaves out raw HTML, which is goldmark's default.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// blocks renders fenced code. A fence names the language. If the block is to be copied, its purpose
// follows: "```sh Get a key".
type blocks struct{}

func (b blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, b.render)
}

// copyPrefix is the meta key of a document's prefix, which makes the ids of its blocks unique on a
// page with several documents.
const copyPrefix = "copyPrefix"

func (blocks) render(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	n := node.(*ast.FencedCodeBlock)
	var code bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		code.Write(line.Value(source))
	}
	text := strings.TrimSuffix(code.String(), "\n")
	var label string
	if n.Info != nil {
		_, label, _ = strings.Cut(string(n.Info.Segment.Value(source)), " ")
	}
	if label == "" {
		_, err := fmt.Fprintf(w, "<pre><code>%s</code></pre>\n", util.EscapeHTML([]byte(text)))
		return ast.WalkSkipChildren, err
	}
	prefix, _ := node.OwnerDocument().Meta()[copyPrefix].(string)
	id := prefix + "copy-" + strconv.Itoa(n.Lines().At(0).Start)
	return ast.WalkSkipChildren, components.Copyable(id, label, text).Render(context.Background(), w)
}

// scrollable makes wide blocks scroll, also by keyboard.
var scrollable = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<table>", `<section class="table-wrap" tabindex="0" aria-label="Table"><table class="table">`,
	"</table>", "</table></section>",
)

// numberTables gives each table of a text its own name, because the landmarks of a page need
// different names.
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

// renderMarkdown turns one of our texts into HTML and lists its second-level headings. shift is how
// many levels headings move down to fit below the page's heading.
func renderMarkdown(source []byte, shift int) (html string, headings []pages.Heading, err error) {
	return renderPart(source, shift, "")
}

// renderPart is renderMarkdown for one of several texts on a page. prefix makes the ids of its code
// blocks unique.
func renderPart(source []byte, shift int, prefix string) (html string, headings []pages.Heading, err error) {
	source = withoutFrontMatter(source)
	doc := markdown.Parser().Parse(text.NewReader(source))
	doc.OwnerDocument().AddMeta(copyPrefix, prefix)
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

// plain returns the text of a heading without its markup.
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

// withoutFrontMatter removes the block between two --- lines at the start.
func withoutFrontMatter(source []byte) []byte {
	if rest, ok := bytes.CutPrefix(source, []byte("---\n")); ok {
		if _, body, ok := bytes.Cut(rest, []byte("\n---\n")); ok {
			return body
		}
	}
	return source
}
