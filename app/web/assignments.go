package web

import (
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxAssignments exceeds the number of assignments that are ever open.
const maxAssignments = 100

func (s *Site) listAssignments(c *fiber.Ctx) error {
	list, _, err := s.assignments.List(c.UserContext(), s.DB.Reader, assignment.Filter{Limit: maxAssignments}, s.Now())
	if err != nil {
		return err
	}
	p := pages.AssignmentsProps{Layout: s.frame(
		"Assignments", "Open questions worth forecasting, chosen each day.", "/assignments", "/assignments",
	)}
	for i := range list {
		a := &list[i]
		row := pages.Assignment{
			ID: a.ID.String(), Title: a.Title, Instructions: a.Instructions, Category: a.Category, MarketID: a.MarketID,
			Outcome: a.Outcome, DueAt: s.when(a.DueAt), Predictions: int(a.Consensus.Predictions),
		}
		if a.Market != nil {
			row.Criteria = a.Market.Description
			if price, ok := a.Market.PriceOf(a.Market.OutcomeIndex(a.Outcome)); ok {
				row.Price = &price
			}
			// The consensus is about one outcome only.
			if c := a.Consensus; c.Outcome == a.Outcome {
				row.Consensus, row.Agents = c.Median, c.Agents
			}
		}
		p.List = append(p.List, row)
	}
	return show(c, pages.Assignments(p))
}
