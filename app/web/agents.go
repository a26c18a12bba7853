package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/web/estimate"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

const (
	latestEvents = 20 // on an agent's page
	eventsPage   = 50 // on a page of the list of all its events
	agentCalls   = 3  // calls in each of the best and worst lists
)

// findAgent returns the agent with a handle, or nil.
func (s *Site) findAgent(ctx context.Context, handle string) (*agent.Agent, error) {
	a, err := s.agents.ByHandle(ctx, s.DB.Reader, handle)
	if p, ok := errors.AsType[*problem.Error](err); ok && p.Status == http.StatusNotFound {
		return nil, nil
	}
	return a, err
}

// pathAgent returns the agent that the path names. A reference agent has no page.
func (s *Site) pathAgent(c *fiber.Ctx) (*agent.Agent, error) {
	a, err := s.findAgent(c.UserContext(), strings.Clone(c.Params("handle")))
	if err == nil && (a == nil || a.Kind == agent.Reference) {
		err = problem.NotFound("There is no agent at this address.")
	}
	return a, err
}

func (s *Site) agent(c *fiber.Ctx, at address) error {
	a, err := s.pathAgent(c)
	if err != nil {
		return err
	}
	asked, err := at.choice("events", "latest", "all")
	if err != nil {
		return err
	}
	if asked == "all" {
		return s.agentEvents(c, a, at)
	}
	ctx, db := c.UserContext(), s.DB.Reader
	stats, err := s.Leaderboard.Stats(ctx, db, a.ID)
	if err != nil {
		return err
	}
	events, err := s.Leaderboard.Highlights(ctx, db, a.ID, latestEvents, agentCalls)
	if err != nil {
		return err
	}
	list, next, err := s.predictions.List(ctx, db, prediction.Filter{AgentID: a.ID, Limit: pageSize})
	if err != nil {
		return err
	}
	review, err := s.Leaderboard.Review(ctx, db, a.ID, agent.Viewer{})
	if err != nil {
		return err
	}
	p := s.Record(RecordOf{a, stats, review, events})
	p.Layout.NoIndex = at.narrowed() || stats.Resolved == 0
	if stats.Resolved == 0 {
		keepFromSearch(c)
	}
	p.Predictions, p.More = s.predictionList(list), next != ""
	if events.Older != "" {
		p.AllEvents = at.with("events", "all")
	}
	return show(c, pages.Agent(p))
}

// agentEvents sends a page of the list of all events of an agent.
func (s *Site) agentEvents(c *fiber.Ctx, a *agent.Agent, at address) error {
	events, next, err := s.Leaderboard.EventsOf(c.UserContext(), s.DB.Reader, a.ID, eventsPage, at.get("cursor"))
	if err != nil {
		return err
	}
	p := pages.AgentEventsProps{
		Layout: s.frame("Events of "+a.Name, "The settled events behind the rank of "+a.Name+".", "/agents/"+a.Handle, "/leaderboard"),
		Agent:  components.Agent{Handle: a.Handle, Name: a.Name, Model: a.Model}, Events: eventRows(events, a.Closed()), Pages: at.pages(next),
	}
	p.Layout.NoIndex = true
	return show(c, pages.AgentEvents(p))
}

// RecordOf is the data of an agent's page, except its predictions.
type RecordOf struct {
	Agent  *agent.Agent
	Stats  *leaderboard.Stats
	Review *leaderboard.Review
	Events *leaderboard.Highlights
}

// Record returns the props of an agent's page.
func (s *Site) Record(r RecordOf) pages.AgentProps {
	p := s.agentProps(r.Agent, r.Stats)
	p.Review, p.Extremes = s.reviewProps(r.Review), leaderboard.MaxReviewed
	erased := r.Agent.Closed()
	p.Events, p.Best, p.Worst = eventRows(r.Events.Latest, erased), eventRows(r.Events.Best, erased), eventRows(r.Events.Worst, erased)
	return p
}

func (s *Site) agentProps(a *agent.Agent, st *leaderboard.Stats) pages.AgentProps {
	p := pages.AgentProps{
		Row: s.boardRowOf(&st.Row), Description: a.Description, Framework: a.Framework, Homepage: a.Homepage,
		Disabled: a.Status == agent.Disabled, Hidden: a.Visibility.HidesProfile(), Joined: s.when(a.CreatedAt),
		Open: int(st.Open), Resolved: int(st.Resolved), Void: int(st.Void), LogEdge: st.Row.LogEdge, LiveEdge: st.LiveEdge,
		History: skillHistory(st.History), UntilProven: st.UntilProven,
	}
	p.Scale = components.EstimateScale([]components.Estimate{p.Row.Estimate})
	p.Row.Agent = components.Agent{Handle: a.Handle, Name: a.Name, Model: a.Model}
	p.Row.Sample, p.Row.Closed, p.Row.Predictions, p.Row.Bins = a.Sample, a.Closed(), int(st.Total), binProps(st.Calibration)
	if st.Row.Provisional {
		p.Row.Missing = missing(st.Requirements())
	}
	if m := st.Murphy; m != nil {
		p.Murphy = &pages.Murphy{
			Predictions: int(st.Row.Resolved), Brier: m.Brier,
			Reliability: m.Reliability, Resolution: m.Resolution, Uncertainty: m.Uncertainty,
		}
	}
	var estimates []components.Estimate
	for i := range st.Categories {
		r := &st.Categories[i]
		p.Categories = append(p.Categories, pages.CategoryRow{
			Estimate: estimate.Of(r), Category: r.Category, Events: int(r.Events), Brier: r.Brier, MarketBrier: r.MarketBrier,
		})
		estimates = append(estimates, estimate.Of(r))
	}
	p.CategoryScale = components.EstimateScale(estimates)
	p.Layout = s.frame(a.Name, agentWords(p.Row), "/agents/"+a.Handle, "/leaderboard")
	p.Layout.Feed, p.Layout.Image = "/agents/"+a.Handle+".atom", "/agents/"+a.Handle+"/card.png"
	return p
}

// agentWords describes an agent's skill in one line, for a shared link.
func agentWords(r pages.BoardRow) string {
	if r.Events == 0 {
		return r.Agent.Name + " has no settled events yet."
	}
	words := r.Agent.Name + ". " + r.Sentence() + "."
	if r.Odds != nil {
		words += " Odds against having no edge: " + components.Odds(*r.Odds) + "."
	}
	return words
}

func skillHistory(points []leaderboard.SkillPoint) []components.SkillPoint {
	out := make([]components.SkillPoint, 0, len(points))
	for _, p := range points {
		day, err := time.Parse(time.DateOnly, p.Day)
		if err != nil {
			continue // the column holds only valid days
		}
		e := components.Estimate{Skill: p.Skill}
		if p.SkillLow != nil && p.SkillHigh != nil {
			low, high := *p.SkillLow, *p.SkillHigh
			e.Range = &components.Range{BestGuess: (low + high) / 2, Low: low, High: high}
		}
		out = append(out, components.SkillPoint{Day: day, Estimate: e, Events: int(p.Events)})
	}
	return out
}

// eventRows lists events of an agent. erased says that its texts were erased.
func eventRows(events []leaderboard.Event, erased bool) []pages.EventRow {
	out := make([]pages.EventRow, len(events))
	for i := range events {
		e := &events[i]
		out[i] = pages.EventRow{Title: e.Title, Category: e.Category, Value: e.Value.Float(), Day: dayWords(e.Day)}
		if e.Title == "" {
			out[i].Title = "Event " + e.Key
		}
		for j := range e.Predictions {
			out[i].Predictions = append(out[i].Predictions, eventPrediction(&e.Predictions[j], erased))
		}
	}
	return out
}

func eventPrediction(p *prediction.Prediction, erased bool) pages.EventPrediction {
	out := pages.EventPrediction{
		ID: p.ID.String(), Confidence: p.Confidence, Baseline: p.Baseline, Value: p.ResolutionValue, Edge: points(p.Edge),
	}
	shown := components.Prediction{Title: p.Title, Outcome: p.Outcome, Hidden: p.Hidden, Erased: erased}
	out.Title, out.Outcome = shown.About(), shown.AddedOutcome()
	if p.WeightIndex != nil {
		out.Weight = score.Weight(*p.WeightIndex)
	}
	return out
}

// dayWords turns "2026-11-21" into "21 Nov 2026".
func dayWords(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format("2 Jan 2006")
}

// badgeWords returns a ranked agent's rank and range in a few words.
func badgeWords(r pages.BoardRow) string {
	words := "rank " + components.Count(r.Rank)
	if r.RankLow != r.RankHigh {
		words += " (" + r.RankRange() + ")"
	}
	if r.Range == nil {
		return words
	}
	words += ", edge " + r.Range.String()
	if r.Proven {
		words += ", proven"
	}
	return words
}

// badge sends a picture of the agent's rank for use on other sites.
func (s *Site) badge(c *fiber.Ctx) error {
	a, err := s.pathAgent(c)
	if err != nil {
		return err
	}
	stats, err := s.Leaderboard.Stats(c.UserContext(), s.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	if stats.Resolved == 0 {
		keepFromSearch(c)
	}
	r := s.boardRowOf(&stats.Row)
	r.Closed = a.Closed()
	b := components.BadgeProps{Name: a.Name, Value: r.Unranked(), Proven: r.Rank > 0 && r.Proven}
	if r.Rank > 0 {
		b.Value = badgeWords(r)
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	c.Set(resourcePolicy, "cross-origin") // let other sites show it
	return send(c, "image/svg+xml", components.Badge(b))
}
