package metaculus

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// maxAssigned is the maximum number of open assignments that are read.
const maxAssigned = 100

type postsWire struct {
	Next     *string    `json:"next"`
	Previous *string    `json:"previous"`
	Results  []postWire `json:"results"`
}

func (a *API) listPosts(c *fiber.Ctx) error {
	q, err := parsePosts(c)
	if err != nil {
		return err
	}
	ctx, me := c.UserContext(), author(c)
	w := postsWire{Results: []postWire{}}
	assigned, err := a.assigned(ctx)
	if err != nil {
		return err
	}
	if q.assignments {
		q.IDs = assigned
		q.none = q.none || (len(assigned) == 0 && len(q.Categories) == 0)
	}
	if err := a.narrowToForecaster(ctx, &q, me); err != nil {
		return err
	}
	if q.none {
		return respond(c, fiber.StatusOK, w)
	}
	page, more, err := a.markets.ListQuestions(ctx, a.DB.Reader, q.QuestionFilter)
	if err != nil {
		return err
	}
	if w.Results, err = a.posts(ctx, me, page, assigned); err != nil {
		return err
	}
	// Resolutions are known only here, so a page may have fewer posts than its limit.
	w.Results = slices.DeleteFunc(w.Results, func(p postWire) bool { return !slices.Contains(q.statuses, p.Status) })
	if more {
		w.Next = a.pageAt(c, q.Offset+q.Limit)
	}
	if q.Offset > 0 {
		w.Previous = a.pageAt(c, max(0, q.Offset-q.Limit))
	}
	return respond(c, fiber.StatusOK, w)
}

// assigned returns the ids of the markets with an open assignment.
func (a *API) assigned(ctx context.Context) ([]string, error) {
	open, _, err := a.assignments.List(ctx, a.DB.Reader, assignment.Filter{Limit: maxAssigned}, a.Now())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, o := range open {
		if o.MarketID != "" {
			ids = append(ids, o.MarketID)
		}
	}
	return ids, nil
}

func (a *API) narrowToForecaster(ctx context.Context, q *postsQuery, me *agent.Agent) (err error) {
	if q.forecaster == 0 {
		return nil
	}
	if q.forecaster != numberOf(me.ID) {
		return problem.InvalidParameter("forecaster_id", "may only be your own id, as in GET "+Base+"/users/me")
	}
	q.Only, err = prediction.MarketsOf(ctx, a.DB.Reader, me.ID)
	return err
}

// pageAt returns the address of the same list at another offset.
func (a *API) pageAt(c *fiber.Ctx, offset int) *string {
	args, err := url.ParseQuery(string(c.Context().URI().QueryString()))
	if err != nil {
		return nil
	}
	args.Set("offset", strconv.Itoa(offset))
	address := a.Config.BaseURL + Base + "/posts/?" + args.Encode()
	return &address
}

// getPost returns one question.
func (a *API) getPost(c *fiber.Ctx) error {
	m, err := a.question(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	assigned, err := a.assigned(c.UserContext())
	if err != nil {
		return err
	}
	list, err := a.posts(c.UserContext(), author(c), []market.Market{*m}, assigned)
	if err != nil {
		return err
	}
	return respond(c, fiber.StatusOK, list[0])
}

// question returns the yes-or-no market with a number, or a not_found error.
func (a *API) question(ctx context.Context, number string) (*market.Market, error) {
	if id, ok := marketID(number); ok {
		m, found, err := a.markets.ByID(ctx, a.DB.Reader, id)
		if err != nil {
			return nil, err
		}
		if found && m.IsQuestion() {
			return m, nil
		}
	}
	return nil, problem.NotFound("There is no yes-or-no question with this id. Ids are in GET " + Base + "/posts/.")
}

// posts adds consensus, outcomes and the caller's forecasts to markets. The number of queries
// doesn't depend on the number of markets.
func (a *API) posts(ctx context.Context, me *agent.Agent, page []market.Market, assigned []string) ([]postWire, error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	db := a.DB.Reader
	consensus, err := a.predictions.Consensus(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	outcomes, err := settlement.OutcomesOf(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	latest, err := prediction.LatestOf(ctx, db, me.ID, ids)
	if err != nil {
		return nil, err
	}
	waiting, err := prediction.WaitingParts(ctx, db, me.ID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]postWire, len(page))
	for i := range page {
		m := &page[i]
		list[i] = toPost(facts{
			market: m, consensus: consensus[m.ID], outcome: outcomes[m.ID], latest: latest[m.ID], waiting: waiting[m.ID],
			assigned: assigned,
		})
	}
	return list, nil
}
