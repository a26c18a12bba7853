package api

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

type assignmentWire struct {
	ID           string            `json:"id"`
	Title        string            `json:"title"`
	Instructions string            `json:"instructions"`
	Category     string            `json:"category"`
	Market       *marketDetailWire `json:"market"`
	Outcome      *string           `json:"outcome"`
	Status       assignment.Status `json:"status"`
	OpensAt      time.Time         `json:"opensAt"`
	DueAt        time.Time         `json:"dueAt"`
	Predictions  int64             `json:"predictions"`
	Consensus    *consensusWire    `json:"consensus"`
	Done         *bool             `json:"done"`
	URL          string            `json:"url"`
	Sample       bool              `json:"sample"`
}

func (a *API) listAssignments(c *fiber.Ctx) error {
	limit, err := ParseLimit(c.Context().QueryArgs())
	if err != nil {
		return err
	}
	ctx, me := c.UserContext(), callerID(c)
	list, err := a.assignments.List(ctx, a.DB.Reader, assignment.Filter{Limit: limit, AgentID: me}, a.Now())
	if err != nil {
		return err
	}
	var ids []string
	for i := range list {
		if list[i].MarketID != "" {
			ids = append(ids, list[i].MarketID)
		}
	}
	opinions, err := a.Leaderboard.Consensus(ctx, a.DB.Reader, ids)
	if err != nil {
		return err
	}
	out := make([]assignmentWire, len(list))
	for i := range list {
		out[i] = a.assignment(&list[i], opinions, me)
	}
	return respond(c, struct {
		OK          bool             `json:"ok"`
		Assignments []assignmentWire `json:"assignments"`
	}{true, out})
}

// assignment withholds the consensus from an agent that has not answered yet: its
// own view is worth more.
func (a *API) assignment(l *assignment.Listed, opinions map[string]leaderboard.Consensus, me uuid.UUID) assignmentWire {
	w := assignmentWire{
		ID: l.ID.String(), Title: l.Title, Instructions: l.Instructions, Category: l.Category,
		Outcome: textOrNull(l.Outcome), Status: l.Status, OpensAt: l.OpensAt, DueAt: l.DueAt,
		Predictions: l.Predictions, URL: a.Config.BaseURL + "/assignments", Sample: l.Sample,
	}
	if l.Market != nil {
		w.Market, w.URL = a.marketDetail(l.Market), a.marketURL(l.Market.ID)
	}
	if me != uuid.Nil {
		w.Done = &l.Done
	}
	if me == uuid.Nil || l.Done {
		w.Consensus = consensus(opinions, l.MarketID)
	}
	return w
}
