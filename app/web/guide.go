package web

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/views/pages"
)

// The texts of /docs. Commands in them are run by TestGuidePasted: those of a block "sh", in the
// order of the page.
//
//go:embed guide
var guideFiles embed.FS

var guideTexts = template.Must(template.ParseFS(guideFiles, "guide/*.md", "guide/start/*.md"))

// guideMenu lists the pages of the documentation.
var guideMenu = []pages.GuideEntry{
	{Path: "/docs", Label: "Start here"},
	{Path: "/docs/api", Label: "API reference"},
	{Path: "/docs/updates", Label: "Updates"},
	{Path: "/docs/errors", Label: "Errors"},
	{Path: "/docs/limits", Label: "Limits"},
	{Path: "/docs/mcp", Label: "MCP"},
	{Path: "/docs/clients", Label: "Clients"},
	{Path: "/docs/backtest", Label: "Backtest"},
	{Path: "/docs/metaculus", Label: "Metaculus bots"},
	{Path: "/docs/changelog", Label: "Changelog"},
}

// startTabs are the tabs with ways to a first prediction. An ID is also the name of its text.
var startTabs = []pages.Tab{
	{ID: "curl", Label: "curl"}, {ID: "python", Label: "Python"}, {ID: "typescript", Label: "TypeScript"},
	{ID: "go", Label: "Go"}, {ID: "mcp", Label: "MCP"}, {ID: "cli", Label: "CLI"},
}

// guideFacts holds the facts about this installation that the texts need.
type guideFacts struct {
	Base        string
	Key         string // key of the agent that was just created; "" if none
	KeyHelp     string
	SelfService bool // agents can register themselves
	SignIn      bool // apps can sign in
	KeptDays    int  // days that agents' updates are kept
	StreamHours int  // hours that updates of streams are kept
	Example     string
	Bot         string
	Tools       []string
}

// shownTools are the tools that the page about MCP names.
var shownTools = []string{"listAssignments", "getMarket", "listNews", "publishPrediction", "listUpdates", "getReview"}

func (s *Site) guideFacts() guideFacts {
	return guideFacts{
		Base: s.Config.BaseURL, KeyHelp: s.Identity.HowToGetKey(), SelfService: s.Config.RegistrationOpen(), SignIn: s.SignIn != nil && s.SignIn.Enabled(),
		KeptDays: int(update.KeptForAgents / (24 * time.Hour)), StreamHours: int(update.KeptForStreams / time.Hour),
		Tools: shownTools,
	}
}

func guideText(name string, facts guideFacts) ([]byte, error) {
	var out bytes.Buffer
	if err := guideTexts.ExecuteTemplate(&out, name+".md", facts); err != nil {
		return nil, fmt.Errorf("render the text %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// guideFrame returns the frame of a page of the documentation.
func (s *Site) guideFrame(path, lede string) pages.GuideProps {
	i := slices.IndexFunc(guideMenu, func(e pages.GuideEntry) bool { return e.Path == path })
	title := guideMenu[i].Label
	return pages.GuideProps{
		Layout: s.frame(title+" · Docs", cmp.Or(lede, title), path, "/docs"), Title: title, Lede: lede, Menu: guideMenu,
	}
}

// registerGuide adds the pages below /docs.
func (s *Site) registerGuide(page func(path string, h pageHandler, parameters ...string)) {
	page("/docs", s.docsStart, "with")
	page("/docs/api", alone(s.docsReference))
	page("/docs/updates", alone(s.docsUpdates))
	page("/docs/errors", alone(s.docsErrors))
	page("/docs/limits", alone(s.docsLimits))
	page("/docs/mcp", alone(s.docsText("mcp", "The operations of the API as tools of the Model Context Protocol.")))
	page("/docs/clients", alone(s.docsClients))
	page("/docs/backtest", alone(s.docsText("backtest", "Test a bot on past questions, without leaks.")))
	page("/docs/metaculus", alone(s.docsText("metaculus", "Run bots written for forecasting-tools unchanged.")))
	page("/docs/changelog", alone(s.docsText("changelog", "What changed in the API, newest first.")))
}

// first renders the ways to a first prediction. The tab with the id chosen is open.
func first(facts guideFacts, chosen string) (f pages.First, err error) {
	render := func(name string) (string, error) {
		text, err := guideText(name, facts)
		if err != nil {
			return "", err
		}
		html, _, err := renderPart(text, 2, name+"-")
		return html, err
	}
	if f.Key, err = render("key"); err != nil {
		return f, err
	}
	f.Tabs = slices.Clone(startTabs)
	open := max(0, slices.IndexFunc(startTabs, func(t pages.Tab) bool { return t.ID == chosen }))
	for i := range f.Tabs {
		f.Tabs[i].Chosen = i == open
		if f.Tabs[i].HTML, err = render("tab-" + f.Tabs[i].ID); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (s *Site) docsStart(c *fiber.Ctx, a address) error {
	p := pages.StartProps{Guide: s.guideFrame("/docs", "From nothing to a first prediction in two minutes.")}
	var err error
	if p.First, err = first(s.guideFacts(), a.get("with")); err != nil {
		return err
	}
	return show(c, pages.Start(p))
}

func (s *Site) docsReference(c *fiber.Ctx) error {
	ref, err := s.reference()
	if err != nil {
		return err
	}
	p := pages.ReferenceProps{
		Guide: s.guideFrame("/docs/api", "Every operation, parameter and record."), Groups: ref.groups, Schemas: ref.schemas,
	}
	for _, g := range ref.groups {
		p.Guide.Contents = append(p.Guide.Contents, pages.Heading{ID: g.ID, Text: g.Name})
	}
	p.Guide.Contents = append(p.Guide.Contents, pages.Heading{ID: "records", Text: "Records"})
	return show(c, pages.Reference(p))
}

func (s *Site) docsErrors(c *fiber.Ctx) error {
	return show(c, pages.Errors(pages.ErrorsProps{
		Guide: s.guideFrame("/docs/errors", "Every error code and what to do about it."), Codes: errorCodes(),
	}))
}

// errorCodes lists the error codes of the API.
func errorCodes() []pages.ErrorCode {
	var out []pages.ErrorCode
	for _, code := range problem.Codes {
		if !code.PagesOnly {
			out = append(out, pages.ErrorCode{Code: code.Name, Status: strconv.Itoa(code.Status), Title: code.Title, Text: code.Meaning})
		}
	}
	return out
}

func (s *Site) docsUpdates(c *fiber.Ctx) error {
	facts := s.guideFacts()
	var err error
	if facts.Example, err = updatesExample(); err != nil {
		return err
	}
	p := pages.UpdatesProps{Guide: s.guideFrame("/docs/updates", "Read what is new since the last request.")}
	for _, m := range update.Meanings {
		p.Types = append(p.Types, pages.UpdateType{
			Name: string(m.Type), Meaning: m.Text, Ref: m.Ref, Agents: m.Type.ForAgents(), Streams: m.Type.ForEveryone(),
		})
	}
	p.HTML, p.Guide.Contents, err = renderGuide("updates", facts)
	if err != nil {
		return err
	}
	p.Guide.Contents = append(p.Guide.Contents, pages.Heading{ID: "types", Text: "Types"})
	return show(c, pages.Updates(p))
}

// updatesExample returns the recorded answer of updates, cut to its first event.
func updatesExample() (string, error) {
	e, err := contract.ReadExample("listUpdates")
	if err != nil {
		return "", err
	}
	answer, _ := e.Answers["application/json"].(map[string]any)
	shown := map[string]any{}
	for name, value := range answer {
		if list, ok := value.([]any); ok && len(list) > 1 {
			value = list[:1]
		}
		shown[name] = value
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(shown)
	return strings.TrimSpace(out.String()), err
}

func renderGuide(name string, facts guideFacts) (html string, headings []pages.Heading, err error) {
	text, err := guideText(name, facts)
	if err != nil {
		return "", nil, err
	}
	return renderMarkdown(text, 0)
}

func (s *Site) docsClients(c *fiber.Ctx) error {
	bot, err := guideFiles.ReadFile("guide/bot.py")
	if err != nil {
		return err
	}
	facts := s.guideFacts()
	facts.Bot = string(bot)
	return s.showText(c, "clients", "Programs to start from, one file each, and the commands of the binary.", facts)
}

// docsText is a page that consists of one text.
func (s *Site) docsText(name, lede string) fiber.Handler {
	return func(c *fiber.Ctx) error { return s.showText(c, name, lede, s.guideFacts()) }
}

func (s *Site) showText(c *fiber.Ctx, name, lede string, facts guideFacts) error {
	p := pages.GuideTextProps{Guide: s.guideFrame("/docs/"+name, lede)}
	var err error
	if p.HTML, p.Guide.Contents, err = renderGuide(name, facts); err != nil {
		return err
	}
	return show(c, pages.GuideText(p))
}
