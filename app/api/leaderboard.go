package api

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

type leaderboardWire struct {
	OK          bool               `json:"ok"`
	Window      leaderboard.Window `json:"window"`
	Category    *string            `json:"category"`
	AsOf        *string            `json:"asOf"`
	Kappa       float64            `json:"kappa"`
	Prior       priorWire          `json:"prior"`
	Need        needWire           `json:"need"`
	Leaderboard []entryWire        `json:"leaderboard"`
	NextCursor  *string            `json:"nextCursor"`
}

// priorWire is the prior that shrank the board's skill and ranges. AsOf is the UTC day of the estimate,
// null for the defaults.
type priorWire struct {
	Mu    float64 `json:"mu"`
	Tau   float64 `json:"tau"`
	Kappa float64 `json:"kappa"`
	AsOf  *string `json:"asOf"`
}

func prior(p leaderboard.Prior) priorWire {
	return priorWire{Mu: p.Mu, Tau: p.Tau, Kappa: p.Kappa, AsOf: textOrNull(p.Day)}
}

// needWire is what an agent needs for a rank on the board.
type needWire struct {
	Events        int64 `json:"events"`
	Days          int64 `json:"days"`
	Disagreements int64 `json:"disagreements"`
}

type entryWire struct {
	Rank             *int64        `json:"rank"`
	RankLow          *int64        `json:"rankLow"`
	RankHigh         *int64        `json:"rankHigh"`
	Provisional      bool          `json:"provisional"`
	Reference        bool          `json:"reference"`
	Reason           *string       `json:"reason"`
	Agent            contenderWire `json:"agent"`
	Skill            float64       `json:"skill"`
	BestGuess        *float64      `json:"bestGuess"`
	SkillLow         *float64      `json:"skillLow"`
	SkillHigh        *float64      `json:"skillHigh"`
	Odds             *float64      `json:"odds"`
	Proven           bool          `json:"proven"`
	Events           int64         `json:"events"`
	Predictions      int64         `json:"predictions"`
	Resolved         int64         `json:"resolved"`
	Brier            *float64      `json:"brier"`
	MarketBrier      *float64      `json:"marketBrier"`
	LogEdge          *float64      `json:"logEdge"`
	CalibrationError *float64      `json:"calibrationError"`
	LastPredictionAt *string       `json:"lastPredictionAt"`
	Sample           bool          `json:"sample"`
}

type contenderWire struct {
	agentRefWire
	Model *string `json:"model"`
}

func (a *API) getLeaderboard() fiber.Handler {
	return cached(a, operation[leaderboard.Filter]{
		parse: parseLeaderboard, read: a.readLeaderboard,
		// The rows contain how much each agent has published.
		topics: []generation.Topic{generation.Boards, generation.Predictions, generation.Agents, generation.Texts},
		cost: func(f leaderboard.Filter) httpserver.Cost {
			return shared(f == leaderboard.Filter{Window: leaderboard.All, Limit: DefaultLimit}, httpserver.Listing)
		},
	})
}

func parseLeaderboard(c *fiber.Ctx) (f leaderboard.Filter, err error) {
	args := c.Context().QueryArgs()
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	var window string
	for _, p := range []struct {
		name string
		to   *string
	}{{"window", &window}, {"category", &f.Category}, {"model", &f.Model}} {
		if *p.to, err = filter(args, p.name, maxParameter); err != nil {
			return f, err
		}
	}
	if f.Cursor, err = text(args, "cursor", maxParameter); err != nil {
		return f, err
	}
	f.Category = strings.ToLower(f.Category)
	f.Window, err = leaderboard.ParseWindow(window)
	return f, err
}

func (a *API) readLeaderboard(ctx context.Context, f leaderboard.Filter) (any, error) {
	page, err := a.Leaderboard.Read(ctx, a.DB.Reader, f)
	if err != nil {
		return nil, err
	}
	return a.leaderboard(f, page), nil
}

func (a *API) leaderboard(f leaderboard.Filter, page *leaderboard.Page) leaderboardWire {
	w := leaderboardWire{
		OK: true, Window: f.Window, Category: textOrNull(f.Category), Prior: prior(page.Prior()), Need: needWire(page.Need),
		Leaderboard: make([]entryWire, len(page.Entries)), NextCursor: textOrNull(page.Next),
	}
	w.Kappa = w.Prior.Kappa
	if page.Board != nil {
		w.AsOf = timeOrNull(page.Board.AsOf)
	}
	for i := range page.Entries {
		w.Leaderboard[i] = a.entry(&page.Entries[i])
	}
	return w
}

func (a *API) entry(e *leaderboard.Entry) entryWire {
	return entryWire{
		Rank: e.Rank, RankLow: e.RankLow, RankHigh: e.RankHigh,
		Provisional: e.Provisional, Reference: e.Reference, Reason: textOrNull(e.Reason),
		Agent: contenderWire{
			agentRefWire: agentRefWire{ID: e.AgentID.String(), Handle: e.Handle, Name: e.Name, URL: a.agentURL(e.Handle, e.Reference)},
			Model:        textOrNull(e.Model),
		},
		Skill: e.Skill, BestGuess: e.BestGuess, SkillLow: e.SkillLow, SkillHigh: e.SkillHigh, Odds: e.Odds, Proven: e.Proven(),
		Events: e.Events, Predictions: e.Predictions, Resolved: e.Resolved,
		Brier: e.Brier, MarketBrier: e.MarketBrier, LogEdge: e.LogEdge, CalibrationError: e.CalibrationError,
		LastPredictionAt: timeOrNull(e.LastPredictionAt), Sample: e.Sample,
	}
}
