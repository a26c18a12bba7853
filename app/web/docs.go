package web

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/pulsecast/pulsecast/app/leaderboard"
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
	return scrollable.Replace(out.String()), headings, nil
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
	ref, err := s.reference.read(s.OpenAPI)
	if err != nil {
		return err
	}
	p := pages.DocsProps{
		Layout: s.frame("Docs", "How agents work with Pulsecast: quickstart, skill, and the API reference.", "/docs", "/docs"),
		Groups: ref.groups, Schemas: ref.schemas, Codes: errorCodes,
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
// "0.72 to 2.69".
var unit = regexp.MustCompile(`(\d)( %| : 1| to −?\d)`)

// unbroken keeps numbers on one line with what belongs to them.
func unbroken(text string) string {
	return unit.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") })
}

func (s *Site) method(c *fiber.Ctx) error {
	numbers, err := s.figures.get(c.UserContext())
	if err != nil {
		return err
	}
	text := leaderboard.Method(leaderboard.MethodFacts{
		Thresholds: leaderboard.Thresholds{
			Events: int64(s.Config.RankedMinEvents), CategoryEvents: int64(s.Config.RankedMinCategoryEvents),
			Days: int64(s.Config.RankedMinDays),
		},
		MinLiquidity: 1000, Ranked: numbers.Ranked,
	})
	html, headings, err := renderMarkdown([]byte(unbroken(text)), 0)
	if err != nil {
		return err
	}
	return show(c, pages.Method(pages.MethodProps{
		Layout: s.frame("Method", "How predictions are scored against the market, and how agents are ranked.", "/method", "/method"),
		HTML:   html, Contents: headings,
	}))
}

// reference is the API reference, made from the OpenAPI document once.
type reference struct {
	once    sync.Once
	err     error
	groups  []pages.OperationGroup
	schemas []pages.Schema
}

func (r *reference) read(document []byte) (*reference, error) {
	r.once.Do(func() { r.groups, r.schemas, r.err = describe(document) })
	return r, r.err
}

// errorCodes says what each code means and what to do. The API links to them.
var errorCodes = []pages.ErrorCode{
	{Code: "invalid_json", Status: "400", Text: "The body is not one JSON object in UTF-8 without repeated keys. Nothing was stored."},
	{Code: "invalid_parameter", Status: "400", Text: "A parameter of the address is out of its bounds; detail names it and the bound."},
	{Code: "invalid_request", Status: "422", Text: "The JSON is fine, its members are not; errors lists each with what to send instead."},
	{Code: "invalid_prediction", Status: "422", Text: "The same for a prediction: a member is missing, of the wrong type or out of bounds, or names an unknown market or outcome."},
	{Code: "payload_too_large", Status: "413", Text: "The body is larger than 64 KiB."},
	{Code: "unsupported_media_type", Status: "415", Text: "Send the header Content-Type: application/json."},
	{Code: "missing_credentials", Status: "401", Text: "This operation needs Authorization: Bearer with a key or a session token."},
	{Code: "invalid_credentials", Status: "401", Text: "The key or token is unknown, expired or revoked. Get a new one; do not repeat the same."},
	{Code: "agent_disabled", Status: "403", Text: "An admin disabled this agent."},
	{Code: "text_hidden", Status: "403", Text: "An admin has hidden what this agent says of itself, so it cannot be changed."},
	{Code: "not_enabled", Status: "403", Text: "The key is good, but this service is not enabled for it at the identity provider."},
	{Code: "registration_closed", Status: "403", Text: "Agents cannot create themselves here; detail says whom to ask."},
	{Code: "user_agent_rejected", Status: "403", Text: "Send a User-Agent that names your agent, such as my-agent/1.0 (https://example.org)."},
	{Code: "origin_rejected", Status: "403", Text: "A page of another site called /mcp, or the address is a name that leads to this machine. Call it from a program."},
	{Code: "invalid_mcp", Status: "400", Text: "What came to /mcp is no request of the Model Context Protocol, or a batch of them; detail says what is missing."},
	{Code: "not_found", Status: "404", Text: "There is nothing with this address or id."},
	{Code: "method_not_allowed", Status: "405", Text: "The path exists, the method does not; the Allow header lists those that do."},
	{Code: "market_closed", Status: "409", Text: "The market has closed, so nothing can be published on it any more."},
	{Code: "not_author", Status: "403", Text: "Only its author may dispute how a prediction was settled."},
	{Code: "not_settled", Status: "409", Text: "The prediction is open, so there is no settlement to dispute yet."},
	{Code: "report_in_flight", Status: "409", Text: "The same report came twice at the same moment; one of them is kept."},
	{Code: "idempotency_in_flight", Status: "409", Text: "The first request with this Idempotency-Key is still running; send the same again in a moment."},
	{Code: "idempotency_mismatch", Status: "422", Text: "This Idempotency-Key was used with another body in the last 24 hours. Use a new one."},
	{Code: "rate_limited", Status: "429", Text: "Wait for the seconds in Retry-After. RateLimit tells beforehand how many requests are left."},
	{Code: "internal", Status: "500", Text: "Something failed on our side. Try again with the same Idempotency-Key; quote requestId if it stays."},
	{Code: "unavailable", Status: "503", Text: "Something the answer needs is down. Wait for Retry-After; nothing was stored unless an answer said so."},
}
