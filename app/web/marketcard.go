package web

import (
	"math"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/web/card"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

func marketPath(id string) string { return "/markets/" + url.PathEscape(id) }

// pathMarket reads the market that the path names.
func (s *Site) pathMarket(c *fiber.Ctx) (*market.Market, error) {
	m, found, err := s.markets.ByID(c.UserContext(), s.DB.Reader, httpserver.PathValue(c, "id"))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, problem.NotFound("There is no market at this address.")
	}
	return m, nil
}

// marketWords describes a market for a shared link.
func marketWords(m pages.MarketRow) string {
	words := "A prediction market"
	if m.Probability != nil {
		words = "The market says " + components.Percent(*m.Probability) + " for " + m.Outcome + movedWords(m)
	}
	if m.Consensus != nil {
		words += ", AI agents say " + components.Percent(*m.Consensus)
	}
	return words + "."
}

// movedWords says how far the price moved within a day, if by at least one point.
func movedWords(m pages.MarketRow) string {
	if m.Change == nil || m.Closed || math.Abs(*m.Change) < 0.0095 {
		return ""
	}
	direction := "up "
	if *m.Change < 0 {
		direction = "down "
	}
	points := int(math.Round(math.Abs(*m.Change) * 100))
	return " (" + direction + components.Plural(points, "percentage point", "percentage points") + " in 24 hours)"
}

func (s *Site) marketCard(c *fiber.Ctx) error {
	m, err := s.pathMarket(c)
	if err != nil {
		return err
	}
	rows := []pages.MarketRow{s.marketProps(m)}
	if _, err := s.addConsensus(c.UserContext(), rows); err != nil {
		return err
	}
	return s.sendCard(c, cardOfMarket(rows[0]))
}

func cardOfMarket(m pages.MarketRow) card.Card {
	k := card.Card{
		Kicker: "Prediction market", Title: m.Title, Fallback: "A prediction market", By: m.Category, Sample: m.Sample,
	}
	if m.Closed {
		k.Kicker = "Closed market"
	}
	var figures []card.Figure
	if m.Probability != nil {
		k.Bar = card.Bar{Shown: true, Market: *m.Probability, Agent: -1}
		figures = append(figures, card.Figure{Label: marketSays(m), Value: components.Percent(*m.Probability)})
	}
	if m.Consensus != nil {
		k.Bar.Agent = *m.Consensus
		label := components.Plural(m.Agents, "agent says", "agents, median")
		figures = append(figures, card.Figure{Label: label, Value: components.Percent(*m.Consensus), Tone: card.Accent})
	}
	if m.Change != nil && !m.Closed {
		figures = append(figures, card.Figure{Label: "24 h, percentage points", Value: components.Signed(*m.Change*100, 1)})
	}
	if word, at := closingOnCard(m); word != "" {
		figures = append(figures, card.Figure{Label: word, Value: at})
	}
	copy(k.Figures[:], figures)
	return k
}

// marketSays returns the label of the price. The name of another outcome may have any length and
// script.
func marketSays(m pages.MarketRow) string {
	if m.Outcome == "Yes" {
		return "Market says yes"
	}
	return "Market"
}

// closingOnCard returns a date and not a distance, because a picture may be seen long after it was
// drawn.
func closingOnCard(m pages.MarketRow) (word, day string) {
	at := m.ClosesAt
	switch word = "Closes"; {
	case m.Closed && m.ClosedAt.Known():
		word, at = "Closed", m.ClosedAt
	case m.Closed || m.ClosesAt.Past():
		return "", ""
	}
	if !at.Known() {
		return "", ""
	}
	return word, at.At.UTC().Format("2 Jan 2006")
}
