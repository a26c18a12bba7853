package web

import (
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/web/card"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxCards is how many pictures are kept. Each has about 30 kB.
const maxCards = 256

// pictureType is the media type of a card.
const pictureType = "image/png"

// boardCard is the address of the picture for the board and the home page.
const boardCard = "/leaderboard/card.png"

// cards draws the pictures of shared links and keeps the latest. The key is the whole content of a
// picture, so an outdated picture is never shown.
type cards struct {
	drawing sync.Mutex // one drawing at a time, so that many requests can't occupy every core
	drawn   *lru.Cache[card.Card, []byte]
}

func newCards() *cards {
	drawn, err := lru.New[card.Card, []byte](maxCards)
	if err != nil {
		panic(err) // unreachable: the size is above zero
	}
	return &cards{drawn: drawn}
}

func (s *cards) of(c card.Card) ([]byte, error) {
	if picture, ok := s.drawn.Get(c); ok {
		return picture, nil
	}
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if picture, ok := s.drawn.Get(c); ok {
		return picture, nil
	}
	picture, err := c.PNG()
	if err == nil {
		s.drawn.Add(c, picture)
	}
	return picture, err
}

func (s *Site) sendCard(c *fiber.Ctx, k card.Card) error {
	picture, err := s.cards.of(k)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, pictureType)
	if len(c.Response().Header.Peek(fiber.HeaderCacheControl)) == 0 {
		c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	}
	c.Set(resourcePolicy, "cross-origin") // other sites show it
	return c.Send(picture)
}

func (s *Site) predictionCard(c *fiber.Ctx) error {
	r, err := s.pathPrediction(c)
	if err != nil {
		return err
	}
	if _, err := s.keepNewcomer(c, r.AgentID); err != nil {
		return err
	}
	p := s.predictionProps(r)
	if p.Until != "" {
		c.Set(fiber.HeaderCacheControl, pageLife) // until its reveal
	}
	return s.sendCard(c, cardOfPrediction(p))
}

func cardOfPrediction(p components.Prediction) card.Card {
	k := card.Card{
		Kicker: "Open prediction", Title: p.About(), Fallback: "A prediction by " + p.Agent.Handle,
		By: named(p.Agent), Sample: p.Sample,
	}
	if p.Until != "" {
		k.Kicker = "Not revealed yet"
		k.Figures[0] = card.Figure{Label: "What the agent says", Value: p.Waits(), Tone: card.Accent}
		return k
	}
	figures := []card.Figure{{Label: saysWords(p), Value: components.Percent(p.Confidence), Tone: card.Accent}}
	if p.MarketThen != nil {
		k.Bar = card.Bar{Shown: true, Agent: p.Confidence, Market: *p.MarketThen}
		figures = append(figures, card.Figure{Label: "Market then", Value: components.Percent(*p.MarketThen)})
	}
	switch p.Status {
	case "open":
		if p.Price != nil {
			figures = append(figures, card.Figure{Label: "Market now", Value: components.Percent(*p.Price)})
		}
		if held := heldOnCard(p); held != "" {
			figures = append(figures, card.Figure{Label: "Baseline", Value: held})
		}
	case "resolved":
		k.Kicker = "Settled prediction"
		if p.Value != nil {
			figures = append(figures, card.Figure{Label: "Outcome", Value: outcomeWords(*p.Value)})
		}
		if p.Edge != nil {
			label := "Edge, in points"
			if held := heldOnCard(p); held != "" {
				label = "Edge against " + held
			}
			figures = append(
				figures, card.Figure{Label: label, Value: components.Signed(*p.Edge, 1), Tone: toneOf(*p.Edge)},
			)
		}
	default:
		k.Kicker = "Void prediction"
	}
	copy(k.Figures[:], figures)
	return k
}

// heldOnCard returns the baseline, or "" if it reads like the market's price at publication.
func heldOnCard(p components.Prediction) string {
	if p.Baseline == nil || p.MarketThen == nil {
		return ""
	}
	held := components.Percent(*p.Baseline)
	if held == components.Percent(*p.MarketThen) {
		return ""
	}
	return held
}

func saysWords(p components.Prediction) string {
	switch p.Outcome {
	case "", "Yes":
		return "Agent says yes"
	case "No":
		return "Agent says no"
	}
	// An outcome's name may have any length and script.
	if p.AddedOutcome() != "" {
		return "Agent, on one outcome"
	}
	return "Agent"
}

func outcomeWords(y float64) string {
	switch y {
	case 1:
		return "happened"
	case 0:
		return "didn't happen"
	default:
		return components.Percent(y)
	}
}

// toneOf colours an edge as the pages do. An edge that is shown as zero is neutral.
func toneOf(v float64) card.Tone {
	switch {
	case v >= 0.05:
		return card.Good
	case v <= -0.05:
		return card.Bad
	default:
		return card.Plain
	}
}

// named returns an agent's name with its declared model.
func named(a components.Agent) string {
	if a.Model == "" {
		return a.Name
	}
	return a.Name + " · " + a.Model
}

func (s *Site) agentCard(c *fiber.Ctx) error {
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
	return s.sendCard(c, cardOfAgent(s.agentProps(a, stats).Row))
}

func cardOfAgent(r pages.BoardRow) card.Card {
	k := card.Card{Kicker: "AI agent", Title: r.Agent.Name, Fallback: r.Agent.Handle, By: r.Agent.Model, Sample: r.Sample}
	if r.Rank == 0 {
		copy(k.Figures[:], []card.Figure{
			{Label: "Rank", Value: r.Unranked()},
			{Label: "Settled events", Value: components.Count(r.Events)},
		})
		return k
	}
	k.Intervals[0] = interval(r)
	tone := card.Plain
	odds := "none yet"
	if r.Odds != nil {
		odds = strings.ReplaceAll(components.Odds(*r.Odds), "\u00a0", " ")
	}
	if r.Proven {
		tone = card.Good
	}
	copy(k.Figures[:], []card.Figure{
		{Label: "Rank, plausibly " + r.RankRange(), Value: components.Count(r.Rank)},
		{Label: "True edge, 95 % range", Value: rangeOnCard(r.Range)},
		{Label: "Odds against no edge", Value: odds, Tone: tone},
	})
	return k
}

func rangeOnCard(r *components.Range) string {
	if r == nil {
		return "none yet"
	}
	return r.String()
}

func interval(r pages.BoardRow) card.Interval {
	name := r.Agent.Name
	if name == "" {
		name = r.Agent.Handle
	}
	i := card.Interval{Name: name, Low: r.Skill, Mid: r.Skill, High: r.Skill, Proven: r.Proven}
	if r.Range != nil {
		i.Low, i.High = r.Range.Low, r.Range.High
	}
	return i
}

func (s *Site) leaderboardCard(c *fiber.Ctx) error {
	page, err := s.Leaderboard.Read(
		c.UserContext(), s.DB.Reader, leaderboard.Filter{Window: leaderboard.All, Limit: homeBoard},
	)
	if err != nil {
		return err
	}
	k := card.Card{Kicker: "Leaderboard", Title: "Can AI beat the market?", Sample: s.Sample()}
	n := 0
	for _, r := range s.boardRows(page.Entries, page.Need) {
		if r.Rank == 0 || n == card.MaxIntervals {
			continue
		}
		k.Intervals[n] = interval(r)
		n++
	}
	if n > 0 {
		k.By = "Bars: 95 % range of the true edge. Marks: skill, which orders the board."
	} else {
		k.By = "Predictions by AI agents, scored against the market. No agent is ranked yet."
	}
	return s.sendCard(c, k)
}
