package api

import (
	"context"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

type reviewWire struct {
	Agent       agentRefWire        `json:"agent"`
	Predictions int                 `json:"predictions"`
	Resolved    int64               `json:"resolved"`
	Newest      int                 `json:"newest"`
	Overall     sliceWire           `json:"overall"`
	Categories  []categorySliceWire `json:"categories"`
	Horizons    []horizonWire       `json:"horizons"`
	Distances   []distanceWire      `json:"distances"`
	Moves       []moveWire          `json:"moves"`
	Best        []callWire          `json:"best"`
	Worst       []callWire          `json:"worst"`
	Conclusions []conclusionWire    `json:"conclusions"`
	Comparisons int                 `json:"comparisons"`
	Thresholds  thresholdsWire      `json:"thresholds"`
}

type thresholdsWire struct {
	Events int     `json:"events"`
	Days   int     `json:"days"`
	Error  float64 `json:"error"`
}

// sliceWire is a part of the predictions with its points per event.
type sliceWire struct {
	Predictions int      `json:"predictions"`
	Events      int64    `json:"events"`
	Days        int      `json:"days"`
	Mean        *float64 `json:"mean"`
	Low         *float64 `json:"low"`
	High        *float64 `json:"high"`
	Verdict     *string  `json:"verdict"`
}

type categorySliceWire struct {
	Category string `json:"category"`
	sliceWire
}

type horizonWire struct {
	FromHours *float64 `json:"fromHours"`
	ToHours   *float64 `json:"toHours"`
	sliceWire
}

type distanceWire struct {
	From float64  `json:"from"`
	To   *float64 `json:"to"`
	sliceWire
}

type moveWire struct {
	Share float64 `json:"share"`
	sliceWire
	Gain     *float64 `json:"gain"`
	GainLow  *float64 `json:"gainLow"`
	GainHigh *float64 `json:"gainHigh"`
}

type callWire struct {
	ID         string         `json:"id"`
	URL        string         `json:"url"`
	Title      string         `json:"title"`
	Market     *marketRefWire `json:"market"`
	Confidence float64        `json:"confidence"`
	Baseline   *float64       `json:"baseline"`
	Result     *float64       `json:"result"`
	Edge       *float64       `json:"edge"`
	Weight     *float64       `json:"weight"`
	CreatedAt  time.Time      `json:"createdAt"`
	Hidden     bool           `json:"hidden"`
}

type conclusionWire struct {
	About   leaderboard.About `json:"about"`
	Verdict string            `json:"verdict"`
	Text    string            `json:"text"`
}

// reviewTopics are the topics of a review, whose calls name agents, markets and texts. Boards move when a
// new day begins and further events count.
var reviewTopics = []generation.Topic{
	generation.Boards, generation.Results, generation.Markets, generation.Agents, generation.Texts,
}

// reviewQuery asks for the review of an agent by its handle, or for the caller's review.
type reviewQuery struct {
	handle string
	me     uuid.UUID
}

func (a *API) getReview() fiber.Handler {
	return cached(a, operation[reviewQuery]{
		parse: func(c *fiber.Ctx) (reviewQuery, error) {
			return reviewQuery{handle: httpserver.PathValue(c, "handle")}, nil
		},
		read: a.readReview, topics: reviewTopics, cost: costs[reviewQuery](httpserver.Search),
	})
}

func (a *API) getOwnReview() fiber.Handler {
	return cached(a, operation[reviewQuery]{
		parse: func(c *fiber.Ctx) (reviewQuery, error) { return reviewQuery{me: callerID(c)}, nil },
		read:  a.readReview, topics: reviewTopics, cost: costs[reviewQuery](httpserver.Search),
	})
}

func (a *API) readReview(ctx context.Context, q reviewQuery) (any, error) {
	find := func() (*agent.Agent, error) { return a.agents.ByHandle(ctx, a.DB.Reader, q.handle) }
	if q.me != uuid.Nil {
		find = func() (*agent.Agent, error) { return a.agents.ByID(ctx, a.DB.Reader, q.me) }
	}
	of, err := find()
	if err != nil {
		return nil, err
	}
	review, err := a.Leaderboard.Review(ctx, a.DB.Reader, of.ID, agent.Viewer{AgentID: q.me})
	if err != nil {
		return nil, err
	}
	return struct {
		OK     bool       `json:"ok"`
		Review reviewWire `json:"review"`
	}{true, a.review(of, review)}, nil
}

func (a *API) review(of *agent.Agent, r *leaderboard.Review) reviewWire {
	w := reviewWire{
		Agent: a.agentRef(of.Shown()), Predictions: r.All.Predictions, Resolved: r.Settled, Newest: leaderboard.MaxReviewed,
		Overall: slice(&r.All), Categories: []categorySliceWire{}, Horizons: []horizonWire{}, Distances: []distanceWire{},
		Best: a.calls(r.Best), Worst: a.calls(r.Worst), Conclusions: []conclusionWire{}, Comparisons: r.Comparisons,
		Thresholds: thresholdsWire{score.ReviewMinEvents, score.ReviewMinDays, score.ReviewError},
	}
	for i := range r.Categories {
		s := &r.Categories[i]
		w.Categories = append(w.Categories, categorySliceWire{s.Category, slice(s)})
	}
	for i := range r.Horizons {
		s := &r.Horizons[i]
		w.Horizons = append(w.Horizons, horizonWire{finite(s.Low), finite(s.High), slice(s)})
	}
	for i := range r.Distances {
		s := &r.Distances[i]
		w.Distances = append(w.Distances, distanceWire{s.Low, finite(s.High), slice(s)})
	}
	for i := range r.Moves {
		w.Moves = append(w.Moves, move(&r.Moves[i]))
	}
	for _, c := range r.Conclusions {
		sign := -1
		if c.Better {
			sign = 1
		}
		w.Conclusions = append(w.Conclusions, conclusionWire{c.About, *verdict(sign), c.Text})
	}
	return w
}

func slice(s *score.Slice) sliceWire {
	w := sliceWire{Predictions: s.Predictions, Events: s.Sums.N, Days: s.Days, Verdict: verdict(s.Verdict)}
	w.Mean, w.Low, w.High = estimates(s.Sums)
	return w
}

func move(m *score.Move) moveWire {
	w := moveWire{Share: m.Share, sliceWire: slice(&m.Slice)}
	w.Gain, w.GainLow, w.GainHigh = estimates(m.Gain)
	return w
}

// estimates returns the mean per event and its interval. Each is nil if it can't be computed.
func estimates(s score.Sums) (mean, low, high *float64) {
	if s.N == 0 {
		return nil, nil, nil
	}
	m := s.Mean()
	if l, h, ok := s.Interval(); ok {
		low, high = &l, &h
	}
	return &m, low, high
}

func verdict(sign int) *string {
	words := map[int]string{1: "better", -1: "worse"}[sign]
	return textOrNull(words)
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (a *API) calls(records []prediction.Record) []callWire {
	out := make([]callWire, len(records))
	for i, w := range a.predictions(records) {
		out[i] = callWire{
			ID: w.ID, URL: w.URL, Title: textOf(w.Title), Market: w.Market, Confidence: records[i].Confidence, Weight: w.Weight,
			CreatedAt: w.CreatedAt, Hidden: w.Hidden,
		}
		if w.Baseline != nil {
			out[i].Baseline = &w.Baseline.Probability
		}
		if w.Resolution != nil {
			out[i].Result = w.Resolution.Value
		}
		if w.Scores != nil {
			out[i].Edge = w.Scores.Edge
		}
	}
	return out
}
