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

// openAssignments are what every caller sees, before it is cut to one.
type openAssignments []assignment.Listed

var assignmentTopics = []generation.Topic{
	generation.Assignments, generation.Markets, generation.Predictions, generation.Consensus,
}

// listAssignments answers from the copy in memory. A caller with a bearer gets what it has
// done added to it.
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
		return a.ownAssignments(c, found.Value.(openAssignments))
	}
	sendAnswer(c, found, sharedCaching)
	return nil
}

func (a *API) readAssignments(ctx context.Context, limit int) (*answer.Answer, error) {
	open, err := a.assignments.List(ctx, a.DB.Reader, assignment.Filter{Limit: limit}, a.Now())
	if err != nil {
		return nil, err
	}
	made, err := encoded(a.assignmentsFor(open, uuid.Nil))
	if err == nil {
		made.Value = openAssignments(open)
	}
	return made, err
}

func (a *API) ownAssignments(c *fiber.Ctx, open openAssignments) error {
	open = slices.Clone(open)
	ctx, db := c.UserContext(), a.DB.Reader
	if err := a.assignments.MarkDone(ctx, db, open, callerID(c)); err != nil {
		return err
	}
	if err := a.recountShown(ctx, open, callerID(c)); err != nil {
		return err
	}
	return respondOwn(c, a.assignmentsFor(open, callerID(c)))
}

// recountShown counts the consensus that an agent sees, so that its latest prediction is in it.
func (a *API) recountShown(ctx context.Context, open openAssignments, me uuid.UUID) error {
	shown := map[string]prediction.Consensus{}
	for i := range open {
		if l := &open[i]; l.MarketID != "" && showsConsensus(l, me) {
			shown[l.MarketID] = l.Consensus
		}
	}
	if err := a.Leaderboard.Recount(ctx, a.DB.Reader, shown); err != nil {
		return err
	}
	for i := range open {
		if c, ok := shown[open[i].MarketID]; ok {
			open[i].Consensus = c
		}
	}
	return nil
}

func (a *API) assignmentsFor(open openAssignments, me uuid.UUID) assignmentsWire {
	w := assignmentsWire{true, make([]assignmentWire, len(open))}
	for i := range open {
		w.Assignments[i] = a.assignment(&open[i], me)
	}
	return w
}

// showsConsensus reports whether an agent sees the consensus on an assignment. Until it has
// answered, its own view is worth more.
func showsConsensus(l *assignment.Listed, me uuid.UUID) bool { return me == uuid.Nil || l.Done }

func (a *API) assignment(l *assignment.Listed, me uuid.UUID) assignmentWire {
	w := assignmentWire{
		ID: l.ID.String(), Title: l.Title, Instructions: l.Instructions, Category: l.Category,
		Outcome: textOrNull(l.Outcome), Status: l.Status, OpensAt: l.OpensAt, DueAt: l.DueAt,
		Predictions: l.Consensus.Predictions, URL: a.Config.BaseURL + "/assignments", Sample: l.Sample,
	}
	if l.Market != nil {
		w.Market, w.URL = a.marketDetail(l.Market), a.marketURL(l.Market.ID)
	}
	if me != uuid.Nil {
		w.Done = &l.Done
	}
	if showsConsensus(l, me) {
		w.Consensus = consensus(l.Consensus)
	}
	return w
}
