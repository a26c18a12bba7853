package api

import (
	"bytes"
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

type publicStatsWire struct {
	Agent       agentWire       `json:"agent"`
	Rank        *int64          `json:"rank"`
	RankLow     *int64          `json:"rankLow"`
	RankHigh    *int64          `json:"rankHigh"`
	Skill       *float64        `json:"skill"`
	BestGuess   *float64        `json:"bestGuess"`
	SkillLow    *float64        `json:"skillLow"`
	SkillHigh   *float64        `json:"skillHigh"`
	Odds        *float64        `json:"odds"`
	Prior       priorWire       `json:"prior"`
	Proven      bool            `json:"proven"`
	Provisional bool            `json:"provisional"`
	Reason      *string         `json:"reason"`
	Progress    progressWire    `json:"progress"`
	Predictions countsWire      `json:"predictions"`
	Brier       *float64        `json:"brier"`
	MarketBrier *float64        `json:"marketBrier"`
	LogEdge     *float64        `json:"logEdge"`
	LiveEdge    *float64        `json:"liveEdge"`
	Calibration calibrationWire `json:"calibration"`
	Murphy      *murphyWire     `json:"murphy"`
	Categories  []categoryWire  `json:"categories"`
	History     []historyWire   `json:"history"`
}

type statsWire struct {
	publicStatsWire
	Usage usageWire `json:"usage"`
}

type usageWire struct {
	Requests24h int64   `json:"requests24h"`
	Errors24h   int64   `json:"errors24h"`
	LastSeenAt  *string `json:"lastSeenAt"`
}

type stepsWire struct {
	Have int64 `json:"have"`
	Need int64 `json:"need"`
}

type progressWire struct {
	Events        stepsWire `json:"events"`
	Days          stepsWire `json:"days"`
	Disagreements stepsWire `json:"disagreements"`
	NextCloseAt   *string   `json:"nextCloseAt"`
}

type countsWire struct {
	Total    int64 `json:"total"`
	Open     int64 `json:"open"`
	Resolved int64 `json:"resolved"`
	Void     int64 `json:"void"`
}

type calibrationWire struct {
	Error *float64  `json:"error"`
	Bins  []binWire `json:"bins"`
}

type binWire struct {
	Low            float64  `json:"low"`
	High           float64  `json:"high"`
	Count          int      `json:"count"`
	MeanConfidence *float64 `json:"meanConfidence"`
	ObservedRate   *float64 `json:"observedRate"`
	BandLow        *float64 `json:"bandLow"`
	BandHigh       *float64 `json:"bandHigh"`
}

type murphyWire struct {
	Reliability float64 `json:"reliability"`
	Resolution  float64 `json:"resolution"`
	Uncertainty float64 `json:"uncertainty"`
}

type categoryWire struct {
	Category    string   `json:"category"`
	Skill       float64  `json:"skill"`
	BestGuess   *float64 `json:"bestGuess"`
	SkillLow    *float64 `json:"skillLow"`
	SkillHigh   *float64 `json:"skillHigh"`
	Odds        *float64 `json:"odds"`
	Events      int64    `json:"events"`
	Brier       *float64 `json:"brier"`
	MarketBrier *float64 `json:"marketBrier"`
}

type historyWire struct {
	Date   string  `json:"date"`
	Skill  float64 `json:"skill"`
	Events int64   `json:"events"`
}

func (a *API) getStats(c *fiber.Ctx) error {
	me := caller(c).Agent
	stats, err := a.Leaderboard.StatsFor(c.UserContext(), a.DB.Reader, me.ID, agent.Viewer{AgentID: me.ID})
	if err != nil {
		return err
	}
	used, err := a.Usage.Last24h(c.UserContext(), a.DB.Reader, me.ID)
	if err != nil {
		return err
	}
	// The current request is the last one seen. The stored time lags behind it.
	now := a.Now().UTC().Truncate(time.Second)
	return respondStats(c, statsWire{a.stats(me, stats), usageWire{used.Requests, used.Errors, timeOrNull(now)}})
}

// respondStats answers with a weak ETag that doesn't cover the usage. Every request changes the usage,
// including this one, so an ETag that covered it would never match. The usage is the last field of the body.
func respondStats(c *fiber.Ctx, stats statsWire) error {
	body, err := answer.JSON(struct {
		OK    bool      `json:"ok"`
		Stats statsWire `json:"stats"`
	}{true, stats})
	if err != nil {
		return err
	}
	tagged, _, _ := bytes.Cut(body, []byte(`,"usage":`))
	form := *httpserver.Preferred(answer.New(body, answer.Digest(tagged)), httpserver.QuickCoding(c.Context()))
	form.ETag = "W/" + form.ETag
	sendForm(c.Context(), &form, ownCaching)
	return nil
}

// agentQuery asks for an agent by its handle.
type agentQuery struct{ handle string }

func (a *API) getAgent() fiber.Handler {
	return cached(a, operation[agentQuery]{
		parse:  func(c *fiber.Ctx) (agentQuery, error) { return agentQuery{httpserver.PathValue(c, "handle")}, nil },
		read:   a.readAgent,
		topics: append([]generation.Topic{generation.Boards}, recordTopics...),
		cost:   costs[agentQuery](httpserver.Page),
	})
}

func (a *API) readAgent(ctx context.Context, q agentQuery) (any, error) {
	found, err := a.agents.ByHandle(ctx, a.DB.Reader, q.handle)
	if err != nil {
		return nil, err
	}
	stats, err := a.Leaderboard.Stats(ctx, a.DB.Reader, found.ID)
	if err != nil {
		return nil, err
	}
	return struct {
		OK    bool            `json:"ok"`
		Agent agentWire       `json:"agent"`
		Stats publicStatsWire `json:"stats"`
	}{true, a.agent(found), a.stats(found, stats)}, nil
}

func (a *API) stats(g *agent.Agent, s *leaderboard.Stats) publicStatsWire {
	r := &s.Row
	w := publicStatsWire{
		Agent: a.agent(g), Rank: r.Rank, RankLow: r.RankLow, RankHigh: r.RankHigh,
		Proven: r.Proven(), Provisional: r.Provisional, Reason: textOrNull(r.Reason),
		Progress:    progress(s),
		Predictions: countsWire{s.Total, s.Open, s.Resolved, s.Void},
		Brier:       r.Brier, MarketBrier: r.MarketBrier, LogEdge: r.LogEdge, LiveEdge: s.LiveEdge,
		Calibration: calibration(s), Categories: categories(s.Categories), History: history(s.History),
	}
	w.BestGuess, w.SkillLow, w.SkillHigh, w.Odds, w.Prior = r.BestGuess, r.SkillLow, r.SkillHigh, r.Odds, prior(s.Prior)
	if r.Events > 0 { // before the first settled event the skill is the prior's, not the agent's
		w.Skill = &r.Skill
	}
	if m := s.Murphy; m != nil {
		w.Murphy = &murphyWire{m.Reliability, m.Resolution, m.Uncertainty}
	}
	return w
}

func progress(s *leaderboard.Stats) progressWire {
	return progressWire{
		Events: stepsWire(s.Events), Days: stepsWire(s.Days), Disagreements: stepsWire(s.Disagreements),
		NextCloseAt: timeOrNull(s.NextCloseAt),
	}
}

func calibration(s *leaderboard.Stats) calibrationWire {
	w := calibrationWire{Error: s.Row.CalibrationError, Bins: make([]binWire, 0, score.BinCount)}
	for _, b := range s.Calibration {
		bin := binWire{Low: b.Low, High: b.High, Count: b.Count}
		if b.Count > 0 {
			bin.MeanConfidence, bin.ObservedRate = &b.MeanConfidence, &b.ObservedRate
			bin.BandLow, bin.BandHigh = &b.BandLow, &b.BandHigh
		}
		w.Bins = append(w.Bins, bin)
	}
	return w
}

func categories(rows []leaderboard.Row) []categoryWire {
	out := make([]categoryWire, len(rows))
	for i, r := range rows {
		out[i] = categoryWire{
			r.Category, r.Skill, r.BestGuess, r.SkillLow, r.SkillHigh, r.Odds, r.Events, r.Brier, r.MarketBrier,
		}
	}
	return out
}

func history(points []leaderboard.SkillPoint) []historyWire {
	out := make([]historyWire, len(points))
	for i, p := range points {
		out[i] = historyWire{p.Day, p.Skill, p.Events}
	}
	return out
}
