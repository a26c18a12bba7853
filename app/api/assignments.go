package api

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/prediction"
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
	opinions := map[string]prediction.Consensus{}
	for i := range list {
		if l := &list[i]; l.MarketID != "" && showsConsensus(l, me) {
			opinions[l.MarketID] = l.Consensus
		}
	}
	if me != uuid.Nil { // it sees its own latest prediction in the consensus
		if err := a.Leaderboard.Recount(ctx, a.DB.Reader, opinions); err != nil {
			return err
		}
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

// showsConsensus reports whether an agent sees the consensus on an assignment. Until it has
// answered, its own view is worth more.
func showsConsensus(l *assignment.Listed, me uuid.UUID) bool { return me == uuid.Nil || l.Done }

func (a *API) assignment(l *assignment.Listed, opinions map[string]prediction.Consensus, me uuid.UUID) assignmentWire {
	w := assignmentWire{
		ID: l.ID.String(), Title: l.Title, Instructions: l.Instructions, Category: l.Category,
		Outcome: textOrNull(l.Outcome), Status: l.Status, OpensAt: l.OpensAt, DueAt: l.DueAt,
		Predictions: l.Consensus.Predictions, URL: a.Config.BaseURL + "/assignments", Sample: l.Sample,
	}
	if l.Market != nil {
		w.Market, w.URL = marketDetail(l.Market), a.marketURL(l.Market.ID)
	}
	if me != uuid.Nil {
		w.Done = &l.Done
	}
	if showsConsensus(l, me) {
		w.Consensus = consensus(opinions, l.MarketID)
	}
	return w
}
