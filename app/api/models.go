package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

// rangeWire is an estimate of a true edge per event with its 95 % range, in points.
type rangeWire struct {
	BestGuess float64 `json:"bestGuess"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

func rangeOrNull(p *score.Posterior) *rangeWire {
	if p == nil {
		return nil
	}
	return &rangeWire{p.BestGuess, p.Low, p.High}
}

type modelWire struct {
	Model       string         `json:"model"`
	Agents      int64          `json:"agents"`
	Ranked      int64          `json:"ranked"`
	Events      int64          `json:"events"`
	Skill       float64        `json:"skill"`
	Range       *rangeWire     `json:"range"`
	Brier       *float64       `json:"brier"`
	MarketBrier *float64       `json:"marketBrier"`
	Best        *bestAgentWire `json:"best"`
}

// bestAgentWire is the agent of a model with the best rank.
type bestAgentWire struct {
	Handle string `json:"handle"`
	Name   string `json:"name"`
	URL    string `json:"url"`
}

// modelsQuery asks for the page of the models after a place.
type modelsQuery struct {
	window leaderboard.Window
	after  leaderboard.ModelPlace
	limit  int
}

func (a *API) listModels() fiber.Handler {
	return cached(a, operation[modelsQuery]{
		parse: parseModels, read: a.readModels,
		topics: []generation.Topic{generation.Boards, generation.Agents, generation.Texts},
		cost: func(q modelsQuery) httpserver.Cost {
			return shared(q == modelsQuery{window: leaderboard.All, limit: DefaultLimit}, httpserver.Listing)
		},
	})
}

func parseModels(c *fiber.Ctx) (q modelsQuery, err error) {
	args := c.Context().QueryArgs()
	if q.limit, err = ParseLimit(args); err != nil {
		return q, err
	}
	window, err := filter(args, "window", maxParameter)
	if err != nil {
		return q, err
	}
	if q.window, err = leaderboard.ParseWindow(window); err != nil {
		return q, err
	}
	after, err := text(args, "cursor", maxParameter)
	if err != nil {
		return q, err
	}
	q.after, err = leaderboard.ParseModelPlace(after)
	return q, err
}

func (a *API) readModels(ctx context.Context, q modelsQuery) (any, error) {
	rows, err := a.Leaderboard.Models(ctx, a.DB.Reader, q.window)
	if err != nil {
		return nil, err
	}
	page, next := leaderboard.ModelsAfter(rows, q.after, q.limit)
	models := make([]modelWire, 0, len(page))
	for _, m := range page {
		models = append(models, a.model(m))
	}
	return struct {
		OK         bool               `json:"ok"`
		Window     leaderboard.Window `json:"window"`
		Models     []modelWire        `json:"models"`
		NextCursor *string            `json:"nextCursor"`
	}{true, q.window, models, textOrNull(next)}, nil
}

func (a *API) model(m leaderboard.ModelRow) modelWire {
	w := modelWire{
		Model: m.Model, Agents: m.Agents, Ranked: m.Ranked, Events: m.Events, Skill: m.Skill, Range: rangeOrNull(m.Range),
		Brier: m.Brier, MarketBrier: m.MarketBrier,
	}
	if m.Best != "" {
		w.Best = &bestAgentWire{Handle: m.Best, Name: m.BestName, URL: a.agentURL(m.Best, false)}
	}
	return w
}
