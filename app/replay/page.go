package replay

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/version"
	"github.com/pulsecast/pulsecast/app/web"
	"github.com/pulsecast/pulsecast/static"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
	"github.com/pulsecast/pulsecast/views/pages"
)

const (
	// reportTimeout is the maximum time for making a report.
	reportTimeout = 5 * time.Minute
	// shownRows is how many predictions the page of a report lists.
	shownRows = 500
)

// report sends the operator the record of a run, as JSON or as a page for a browser.
func (s *Server) report(c *fiber.Ctx) error {
	if token := c.Query("token"); token != "" && c.Get(fiber.HeaderAuthorization) == "" {
		c.Request().Header.Set(fiber.HeaderAuthorization, "Bearer "+strings.Clone(token))
	}
	run, err := s.operated(c)
	if err != nil {
		return err
	}
	format := c.Query("format")
	if !slices.Contains([]string{"", "json", "html"}, format) {
		return problem.InvalidParameter("format", "must be json or html")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), reportTimeout)
	defer cancel()
	s.reports.Lock() // each report takes much memory and CPU time
	defer s.reports.Unlock()
	m, err := s.makeReport(ctx, run)
	if err != nil {
		return fmt.Errorf("report of run %s: %w", run.ID, err)
	}
	if format == "json" || (format == "" && c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML) {
		return respond(c, m.report)
	}
	return s.reportPage(ctx, c, run, m)
}

func (s *Server) reportPage(ctx context.Context, c *fiber.Ctx, run *Run, m *made) error {
	now := func() time.Time { return m.report.Through }
	site := web.New(web.Dependencies{
		Config: &s.build.settings, Version: version.Build(), Now: now, Sample: func() bool { return false },
		Markets: signal.NewFeed(api.MarketCodec(), now), News: signal.NewFeed(api.NewsCodec(), now),
	})
	p := pages.ReplayProps{
		Record:   site.Record(web.RecordOf{Agent: m.agent, Stats: m.stats, Review: m.review, Events: m.events}),
		Warnings: m.report.Warnings, Facts: m.facts(), Parts: m.parts(), More: max(0, len(m.report.List)-shownRows),
	}
	p.Record.Row.Missing, p.Record.Row.Reason = nil, "a replay isn’t ranked"
	p.Record.Layout = layouts.Props{
		Title: run.Name + ": replay", Base: s.base, Path: root + "/" + run.ID + "/report", NoIndex: true, Bare: true, Version: version.Build(),
	}
	for _, f := range m.report.List[:min(shownRows, len(m.report.List))] {
		p.Rows = append(p.Rows, pages.ReplayRow{
			Question: f.Question, At: components.When{At: f.At, Now: now()}, Confidence: f.Confidence, Baseline: f.Baseline, Value: f.Result,
			Edge: f.Edge, Status: f.Status,
		})
	}
	var out bytes.Buffer
	if err := pages.Replay(p).Render(ctx, &out); err != nil {
		return fmt.Errorf("render a report: %w", err)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(m.relink(run, out.Bytes()))
}

// relink changes the links on a page. Links to predictions lead to their worlds. Links to other
// pages lead to the world at the start of the run. The worlds of a bound run open only with their
// keys, so there a prediction links to the list, and other links are removed.
func (m *made) relink(run *Run, page []byte) []byte {
	for _, f := range m.report.List {
		to := prefix(run.ID, writeMoment(f.At)) + "/predictions/" + f.ID
		if run.Bound {
			to = "#predictions"
		}
		page = bytes.ReplaceAll(page, []byte(`href="/predictions/`+f.ID+`"`), []byte(`href="`+to+`"`))
	}
	begin := prefix(run.ID, writeMoment(run.From))
	return pageLink.ReplaceAllFunc(page, func(link []byte) []byte {
		path := pageLink.FindSubmatch(link)[1]
		switch {
		case bytes.HasPrefix(path, []byte(static.Prefix)), bytes.HasPrefix(path, []byte(root+"/")):
			return link
		case run.Bound:
			return nil
		}
		return fmt.Appendf(nil, ` href="%s%s"`, begin, path)
	})
}

// pageLink matches a link to a page of the service.
var pageLink = regexp.MustCompile(` href="(/[^"]*)"`)

// embedFiles embeds the files that a page loads, so that the page opens from a folder without a server.
func embedFiles(page []byte) []byte {
	return loaded.ReplaceAllFunc(page, func(attribute []byte) []byte {
		parts := loaded.FindSubmatch(attribute)
		f, ok := static.Find(string(parts[2]))
		if !ok {
			return attribute // belongs to another version of the service
		}
		return fmt.Appendf(nil, `%s="data:%s;base64,%s"`, parts[1], strings.ReplaceAll(f.ContentType, " ", ""), base64.StdEncoding.EncodeToString(f.Content))
	})
}

// loaded matches an attribute that names a file which the page loads.
var loaded = regexp.MustCompile(`(href|src)="(` + static.Prefix + `[^"]*)"`)

func (m *made) facts() []pages.ReplayFact {
	run, day := &m.report.Run, func(at time.Time) string { return at.UTC().Format("2 January 2006 15:04 UTC") }
	cutoff := "not declared"
	if run.ModelCutoff != nil {
		cutoff = day(*run.ModelCutoff)
	}
	model := run.Model
	if model == "" {
		model = "not declared"
	}
	web := map[OpenWeb]string{WebOpen: "yes, as declared", WebClosed: "no, as declared", WebUnknown: "not declared"}[run.OpenWeb]
	list := []pages.ReplayFact{
		{Name: "Run", Value: run.ID}, {Name: "Days", Value: day(run.From) + " to " + day(run.To)}, {Name: "Model", Value: model},
		{Name: "Cut-off of the model", Value: cutoff}, {Name: "Could search the live web", Value: web},
		{Name: "Runs under this name over the same days", Value: components.Count(m.report.RunsOnSameDays)},
		{Name: "Outcomes known up to", Value: day(m.report.Through)},
	}
	if n := m.report.Predictions.Pairs; n > 0 {
		list = append(list, pages.ReplayFact{Name: "Planned pairs of market and moment", Value: components.Count(n)})
	}
	return list
}

func (m *made) parts() (list []pages.ReplayPart) {
	for _, part := range []struct {
		name  string
		score *Score
	}{{"before: the model may have read how they ended", m.report.Before}, {"after", m.report.After}} {
		if part.score == nil {
			continue
		}
		s := part.score
		p := pages.ReplayPart{Name: part.name, Events: int(s.Events), Edge: s.Edge, Odds: s.Odds, Brier: s.Brier, Market: s.MarketBrier}
		p.Skill = s.Skill
		if s.BestGuess != nil && s.RangeLow != nil && s.RangeHigh != nil {
			p.Range = &components.Range{BestGuess: *s.BestGuess, Low: *s.RangeLow, High: *s.RangeHigh}
		}
		list = append(list, p)
	}
	return list
}
