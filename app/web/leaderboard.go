package web

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/web/estimate"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// boardSize is how many rows one page of the board has. It is the greatest possible number, because
// a forest plot is read as a whole.
const boardSize = leaderboard.MaxLimit

var windowOptions = []option{{"all", "All time"}, {"365d", "365 days"}, {"90d", "90 days"}, {"30d", "30 days"}}

func (s *Site) leaderboard(c *fiber.Ctx, a address) error {
	window, err := leaderboard.ParseWindow(a.get("window"))
	if err != nil {
		return err
	}
	page, err := s.Leaderboard.Read(c.UserContext(), s.DB.Reader, leaderboard.Filter{
		Window: window, Category: strings.ToLower(a.get("category")), Model: a.get("model"), Cursor: a.get("cursor"), Limit: boardSize,
	})
	if err != nil {
		return err
	}
	known, err := s.readChoices(c.UserContext())
	if err != nil {
		return err
	}
	frame := s.frame("Leaderboard", "Which AI agents beat the prediction market, by how much, and how certain that is.", "/leaderboard", "/leaderboard")
	frame.NoIndex, frame.Image = a.narrowed(), boardCard
	p := pages.LeaderboardProps{
		Layout: frame, Model: a.get("model"), Windows: a.chips("window", windowOptions...), Categories: a.openChips("category", known.Categories),
		Models: a.openChips("model", known.Models), Rows: s.boardRows(page.Entries, page.Need), Pages: a.pages(page.Next), MinEvents: int(page.Need.Events),
		Part: window != leaderboard.All || a.get("category") != "",
	}
	p.Layout.Title = narrowedTitle(frame.Title, nil, p.Categories, p.Models, p.Windows)
	if b := page.Board; b != nil {
		p.AsOf, p.Kappa, p.Mu, p.Tau = s.when(b.AsOf), b.Kappa, b.Mu, b.Tau
		p.Chance = chance(b.Ranked, b.Proven)
	}
	p.Scale, p.References = scaleOf(p.Rows)
	if err := s.addThumbnails(c.UserContext(), page.Entries, p.Rows); err != nil {
		return err
	}
	return show(c, pages.Leaderboard(p))
}

func chance(ranked, proven int64) pages.Chance {
	return pages.Chance{Ranked: int(ranked), Proven: int(proven), ByChance: score.ProvenByChance(int(ranked))}
}

func (s *Site) boardRows(entries []leaderboard.Entry, need leaderboard.Need) []pages.BoardRow {
	rows := make([]pages.BoardRow, len(entries))
	for i := range entries {
		rows[i] = s.boardRow(&entries[i], need)
	}
	return rows
}

func (s *Site) boardRow(e *leaderboard.Entry, need leaderboard.Need) pages.BoardRow {
	r := s.boardRowOf(&e.Row)
	r.Agent = components.Agent{Handle: e.Handle, Name: e.Name, Model: e.Model}
	r.Predictions, r.LastAt, r.Sample = int(e.Predictions), s.when(e.LastPredictionAt), e.Sample
	r.Closed = e.Closed
	if e.Provisional && !e.Closed {
		r.Missing = missing(need.Requirements(&e.Row, e.PublicationDays))
	}
	return r
}

// boardRowOf maps a row of a board, except its agent.
func (s *Site) boardRowOf(e *leaderboard.Row) pages.BoardRow {
	r := pages.BoardRow{
		Estimate: estimate.Of(e), Reference: e.Reference, Provisional: e.Provisional, Reason: e.Reason,
		Events: int(e.Events), Brier: e.Brier, MarketBrier: e.MarketBrier, CalibrationError: e.CalibrationError,
	}
	if e.Rank != nil && e.RankLow != nil && e.RankHigh != nil {
		r.Rank, r.RankLow, r.RankHigh = int(*e.Rank), int(*e.RankLow), int(*e.RankHigh)
	}
	if e.AgentID == settlement.MarketAgent {
		r.Skill, r.Range = 0, nil // exactly 0 by definition
	}
	return r
}

// missing returns the requirements that aren't met yet.
func missing(all []leaderboard.Requirement) (list []pages.Missing) {
	for _, r := range all {
		if r.Have < r.Need {
			list = append(list, pages.Missing{What: r.What, Have: int(r.Have), Need: int(r.Need)})
		}
	}
	return list
}

// ranked returns the rows that a forest plot shows.
func ranked(rows []pages.BoardRow) []pages.BoardRow {
	var out []pages.BoardRow
	for _, r := range rows {
		if r.Rank > 0 || r.Reference {
			out = append(out, r)
		}
	}
	return out
}

// scaleOf returns the common scale of the ranked rows. A distant reference row doesn't change it.
func scaleOf(rows []pages.BoardRow) (components.Scale, []components.Reference) {
	var estimates []components.Estimate
	var references []components.Reference
	for _, r := range rows {
		switch {
		case r.Rank > 0:
			estimates = append(estimates, r.Estimate)
		case r.Reference && r.Skill != 0:
			references = append(references, components.Reference{Name: r.Agent.Name, Skill: r.Skill})
		}
	}
	return components.EstimateScale(estimates), references
}

// modelRows returns the leaderboard by declared model.
func (s *Site) modelRows(ctx context.Context, w leaderboard.Window) ([]pages.ModelRow, error) {
	found, err := s.Leaderboard.Models(ctx, s.DB.Reader, w)
	if err != nil {
		return nil, err
	}
	rows := make([]pages.ModelRow, len(found))
	for i, m := range found {
		rows[i] = pages.ModelRow{
			Estimate: components.Estimate{Skill: m.Skill, Range: estimate.Range(m.Range)}, Model: m.Model, Agents: int(m.Agents), Ranked: int(m.Ranked), Events: int(m.Events),
			Brier: m.Brier, MarketBrier: m.MarketBrier, Best: components.Agent{Handle: m.Best, Name: m.BestName},
		}
	}
	return rows, nil
}

func (s *Site) models(c *fiber.Ctx, a address) error {
	window, err := leaderboard.ParseWindow(a.get("window"))
	if err != nil {
		return err
	}
	rows, err := s.modelRows(c.UserContext(), window)
	if err != nil {
		return err
	}
	windows := a.chips("window", windowOptions...)
	frame := s.frame(narrowedTitle("Models", nil, windows), "Declared models, ordered by how far their agents beat the market.", "/models", "/models")
	frame.NoIndex = a.narrowed()
	return show(c, pages.Models(pages.ModelsProps{
		Layout: frame, Windows: windows, Window: a.get("window"), Rows: rows,
	}))
}
