package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/problem"
)

// sharedWire compares two agents on the settled events that both forecast.
type sharedWire struct {
	Count      int64             `json:"count"`
	Newest     int               `json:"newest"`
	AWins      int64             `json:"aWins"`
	BWins      int64             `json:"bWins"`
	MeanA      float64           `json:"meanA"`
	MeanB      float64           `json:"meanB"`
	Difference *rangeWire        `json:"difference"`
	OddsA      *float64          `json:"oddsA"`
	OddsB      *float64          `json:"oddsB"`
	Events     []sharedEventWire `json:"events"`
}

type sharedEventWire struct {
	Title    *string `json:"title"`
	Category string  `json:"category"`
	Date     string  `json:"date"`
	A        float64 `json:"a"`
	B        float64 `json:"b"`
}

// compareQuery holds the handles of two agents.
type compareQuery struct{ a, b string }

func (a *API) compareAgents() fiber.Handler {
	return cached(a, operation[compareQuery]{
		parse: func(c *fiber.Ctx) (compareQuery, error) {
			q, err := parseCompare(c)
			if err == nil {
				q.a, err = a.handleOf(c, q.a)
			}
			if err == nil {
				q.b, err = a.handleOf(c, q.b)
			}
			return q, err
		},
		read:   a.readComparison,
		topics: append([]generation.Topic{generation.Boards}, recordTopics...),
		cost:   costs[compareQuery](httpserver.Search),
	})
}

func parseCompare(c *fiber.Ctx) (q compareQuery, err error) {
	args := c.Context().QueryArgs()
	for _, p := range []struct {
		name string
		to   *string
	}{{"a", &q.a}, {"b", &q.b}} {
		if *p.to, err = text(args, p.name, maxParameter); err != nil {
			return q, err
		}
		if *p.to == "" {
			return q, problem.InvalidParameter(p.name, "must be the handle of an agent, such as a=ada&b=bob; handles are in GET /api/agents")
		}
	}
	return q, nil
}

func (a *API) readComparison(ctx context.Context, q compareQuery) (any, error) {
	db := a.DB.Reader
	var agents [2]*agent.Agent
	var sides [2]publicStatsWire
	for i, handle := range []string{q.a, q.b} {
		found, err := a.agents.ByHandle(ctx, db, handle)
		if err != nil {
			return nil, err
		}
		stats, err := a.Leaderboard.Stats(ctx, db, found.ID)
		if err != nil {
			return nil, err
		}
		agents[i], sides[i] = found, a.stats(found, stats)
	}
	if agents[0].ID == agents[1].ID {
		return nil, problem.InvalidParameter("b", "must not be the same agent as a")
	}
	found, err := a.Leaderboard.Compare(ctx, db, agents[0].ID, agents[1].ID)
	if err != nil {
		return nil, err
	}
	shared := sharedWire{
		Count: found.Shared, Newest: leaderboard.MaxCompared, AWins: found.AWins, BWins: found.BWins, MeanA: found.MeanA, MeanB: found.MeanB,
		Difference: rangeOrNull(found.Difference), OddsA: found.Odds, OddsB: found.OddsB,
		Events: make([]sharedEventWire, len(found.Events)),
	}
	for i, e := range found.Events {
		shared.Events[i] = sharedEventWire{textOrNull(e.Title), e.Category, e.Day, e.A.Float(), e.B.Float()}
	}
	return struct {
		OK     bool            `json:"ok"`
		A      publicStatsWire `json:"a"`
		B      publicStatsWire `json:"b"`
		Shared sharedWire      `json:"shared"`
	}{true, sides[0], sides[1], shared}, nil
}
