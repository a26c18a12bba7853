package api

import (
	"context"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
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
	NextCursor  *string          `json:"nextCursor"`
}

// assignmentsQuery asks for a page of the open assignments.
type assignmentsQuery struct {
	limit int
	after string
}

// openAssignments are the open assignments as every caller sees them, before they are tailored to one
// agent.
type openAssignments struct {
	list []assignment.Listed
	next string
}

var assignmentTopics = []generation.Topic{
	generation.Assignments, generation.Markets, generation.Predictions, generation.Consensus,
}

// listAssignments answers from the copy in memory. For a caller with a bearer it adds what that agent has
// done.
func (a *API) listAssignments(c *fiber.Ctx) error {
	q, err := parseAssignments(c.Context().QueryArgs())
	if err != nil {
		return err
	}
	query, err := a.query(c, q, assignmentTopics)
	if err != nil {
		return err
	}
	found := a.answers.Find(&query)
	if found == nil {
		found, err = a.load(c, &query, a.admit, shared(q == assignmentsQuery{limit: DefaultLimit}, httpserver.Listing),
			func(ctx context.Context) (*answer.Answer, error) { return a.readAssignments(ctx, q) })
		if err != nil {
			return a.sendLastGood(c, &query, err)
		}
	}
	if caller(c) != nil {
		return a.ownAssignments(c, found.Value.(openAssignments))
	}
	a.sendFound(c, found, sharedCaching)
	return nil
}

func parseAssignments(args *fasthttp.Args) (q assignmentsQuery, err error) {
	if q.limit, err = ParseLimit(args); err != nil {
		return q, err
	}
	q.after, err = text(args, "cursor", maxParameter)
	return q, err
}

func (a *API) readAssignments(ctx context.Context, q assignmentsQuery) (*answer.Answer, error) {
	list, next, err := a.assignments.List(ctx, a.DB.Reader, assignment.Filter{Limit: q.limit, Cursor: q.after}, a.Now())
	if err != nil {
		return nil, err
	}
	open := openAssignments{list, next}
	made, err := encoded(a.assignmentsFor(open, uuid.Nil))
	if err == nil {
		made.Value = open
	}
	return made, err
}

func (a *API) ownAssignments(c *fiber.Ctx, open openAssignments) error {
	admission, err := a.admit(c, httpserver.Listing)
	if err != nil {
		return err
	}
	defer admission.Leave()
	open.list = slices.Clone(open.list)
	ctx, db := c.UserContext(), a.DB.Reader
	if err := a.assignments.MarkDone(ctx, db, open.list, callerID(c)); err != nil {
		return err
	}
	if err := a.recountShown(ctx, open.list, callerID(c)); err != nil {
		return err
	}
	return respondOwn(c, a.assignmentsFor(open, callerID(c)))
}

// recountShown recounts each consensus that an agent sees, so that it contains the agent's latest prediction.
func (a *API) recountShown(ctx context.Context, open []assignment.Listed, me uuid.UUID) error {
	shown := map[string]prediction.Consensus{}
	for i := range open {
		if l := &open[i]; l.MarketID != "" && showsConsensus(l, me) {
			shown[l.MarketID] = l.Consensus
		}
	}
	if err := a.Leaderboard.Recount(ctx, a.DB.Reader, shown, me, a.Now()); err != nil {
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
	w := assignmentsWire{true, make([]assignmentWire, len(open.list)), textOrNull(open.next)}
	for i := range open.list {
		w.Assignments[i] = a.assignment(&open.list[i], me)
	}
	return w
}

// showsConsensus reports whether an agent sees the consensus on an assignment. An agent sees it only after
// its own answer, because an independent view is worth more. Readers without a key always see it.
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
