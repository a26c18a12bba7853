package api

import (
	"context"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/generation"
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

type assignmentsWire struct {
	OK          bool             `json:"ok"`
	Assignments []assignmentWire `json:"assignments"`
}

// assignmentsQuery asks for the open assignments.
type assignmentsQuery struct{ limit int }

var assignmentTopics = []generation.Topic{
	generation.Assignments, generation.Markets, generation.Predictions, generation.Consensus,
}

// listAssignments answers from the copy in memory. To a caller with a bearer it adds what
// that agent has done.
func (a *API) listAssignments(c *fiber.Ctx) error {
	limit, err := ParseLimit(c.Context().QueryArgs())
	if err != nil {
		return err
	}
	query, err := a.query(c, assignmentsQuery{limit}, assignmentTopics)
	if err != nil {
		return err
	}
	found := a.answers.Find(&query)
	if found == nil {
		found, err = a.answers.Load(c.UserContext(), &query, func(ctx context.Context) (*answer.Answer, error) {
			return a.readAssignments(ctx, limit)
		})
		if err != nil {
			return err
		}
	}
	if caller(c) != nil {
		return a.ownAssignments(c, slices.Clone(found.Value.([]assignment.Listed)))
	}
	sendAnswer(c, found, sharedCaching)
	return nil
}

// readAssignments makes the answer that is the same for every caller without a bearer; its
// Value is the list.
func (a *API) readAssignments(ctx context.Context, limit int) (*answer.Answer, error) {
	list, err := a.assignments.List(ctx, a.DB.Reader, assignment.Filter{Limit: limit}, a.Now())
	if err != nil {
		return nil, err
	}
	made, err := encoded(a.toAssignments(list, opinionsOn(list, uuid.Nil), uuid.Nil))
	if err == nil {
		made.Value = list
	}
	return made, err
}

func (a *API) ownAssignments(c *fiber.Ctx, list []assignment.Listed) error {
	ctx, me := c.UserContext(), callerID(c)
	if err := a.assignments.MarkDone(ctx, a.DB.Reader, list, me); err != nil {
		return err
	}
	opinions := opinionsOn(list, me)
	// It sees its own latest prediction in the consensus.
	if err := a.Leaderboard.Recount(ctx, a.DB.Reader, opinions); err != nil {
		return err
	}
	return respondOwn(c, a.toAssignments(list, opinions, me))
}

// opinionsOn returns the consensus on the markets of a list where an agent sees it.
func opinionsOn(list []assignment.Listed, me uuid.UUID) map[string]prediction.Consensus {
	opinions := map[string]prediction.Consensus{}
	for i := range list {
		if l := &list[i]; l.MarketID != "" && showsConsensus(l, me) {
			opinions[l.MarketID] = l.Consensus
		}
	}
	return opinions
}

func (a *API) toAssignments(
	list []assignment.Listed, opinions map[string]prediction.Consensus, me uuid.UUID,
) assignmentsWire {
	w := assignmentsWire{true, make([]assignmentWire, len(list))}
	for i := range list {
		w.Assignments[i] = a.assignment(&list[i], opinions, me)
	}
	return w
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
