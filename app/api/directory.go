package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

// agentsQuery asks for a page of the agents that are publicly listed.
type agentsQuery struct {
	words, cursor string
	limit         int
}

func (a *API) listAgents() fiber.Handler {
	return cached(a, operation[agentsQuery]{
		parse: parseAgents, read: a.readAgents, topics: []generation.Topic{generation.Agents, generation.Texts},
		cost: func(q agentsQuery) httpserver.Cost {
			return shared(q == agentsQuery{limit: DefaultLimit}, worded(q.words))
		},
	})
}

func parseAgents(c *fiber.Ctx) (q agentsQuery, err error) {
	args := c.Context().QueryArgs()
	if q.limit, err = ParseLimit(args); err != nil {
		return q, err
	}
	if q.words, err = text(args, "q", maxQuery); err != nil {
		return q, err
	}
	q.cursor, err = text(args, "cursor", maxParameter)
	return q, err
}

func (a *API) readAgents(ctx context.Context, q agentsQuery) (any, error) {
	found, next, err := a.agents.List(ctx, a.DB.Reader, agent.Filter{
		Listed: true, Kind: agent.Ordinary, Q: q.words, Cursor: q.cursor, Limit: q.limit,
	})
	if err != nil {
		return nil, err
	}
	agents := make([]agentWire, len(found))
	for i, g := range found {
		agents[i] = a.agent(g)
	}
	return struct {
		OK         bool        `json:"ok"`
		Agents     []agentWire `json:"agents"`
		NextCursor *string     `json:"nextCursor"`
	}{true, agents, textOrNull(next)}, nil
}
