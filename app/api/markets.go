package api

import (
	"context"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

type marketDetailWire struct {
	marketWire
	Prices           []float64  `json:"prices"`
	Description      *string    `json:"description"`
	ResolutionSource *string    `json:"resolutionSource"`
	Event            *eventWire `json:"event"`
	ObservedAt       time.Time  `json:"observedAt"`
	AwaitsResult     bool       `json:"awaitsResult"`
}

type eventWire struct {
	ID    string  `json:"id"`
	Title *string `json:"title"`
	URL   string  `json:"url"`
}

type priceWire struct {
	At     time.Time `json:"at"`
	Prices []float64 `json:"prices"`
	Bid    *float64  `json:"bid"`
	Ask    *float64  `json:"ask"`
}

type consensusWire struct {
	Outcome  string   `json:"outcome"`
	Agents   int      `json:"agents"`
	Others   int      `json:"others"`
	Median   *float64 `json:"median"`
	Weighted *float64 `json:"weighted"`
}

func (a *API) marketDetail(m *market.Market) *marketDetailWire {
	w := &marketDetailWire{
		marketWire: toMarketWire(m), Prices: orEmpty(m.Prices), Description: textOrNull(m.Description),
		ResolutionSource: textOrNull(m.ResolutionSource), ObservedAt: m.ObservedAt.UTC(),
		AwaitsResult: m.AwaitsResult(a.Now()),
	}
	if m.EventID != "" {
		w.Event = &eventWire{ID: m.EventID, Title: textOrNull(m.EventTitle), URL: a.eventURL(m.EventID)}
	}
	return w
}

func consensus(c prediction.Consensus) *consensusWire {
	if c.Agents == 0 && c.Others == 0 {
		return nil
	}
	return &consensusWire{Outcome: c.Outcome, Agents: c.Agents, Others: c.Others, Median: c.Median, Weighted: c.Weighted}
}

// marketURL is the address of a market's page.
func (a *API) marketURL(id string) string { return a.Config.BaseURL + "/markets/" + url.PathEscape(id) }

// marketQuery asks for a market by its id.
type marketQuery struct {
	id     string
	viewer agent.Viewer
	// publisher is the caller if it has just published, and must see its prediction in the consensus. Other
	// callers share the stored consensus.
	publisher uuid.UUID
}

func (a *API) getMarket() fiber.Handler {
	return cached(a, operation[marketQuery]{
		parse: func(c *fiber.Ctx) (q marketQuery, err error) {
			q.id = httpserver.PathValue(c, "id")
			q.viewer, q.publisher, err = a.viewer(c)
			return q, err
		},
		read:   a.readMarket,
		topics: append([]generation.Topic{generation.Consensus}, recordTopics...),
		cost:   costs[marketQuery](httpserver.Page),
	})
}

// consensusOf reads the consensus of markets; see marketQuery.publisher.
func (a *API) consensusOf(ctx context.Context, ids []string, publisher uuid.UUID) (map[string]prediction.Consensus, error) {
	stored, err := a.store.Consensus(ctx, a.DB.Reader, ids)
	if err == nil && publisher != uuid.Nil {
		err = a.Leaderboard.Recount(ctx, a.DB.Reader, stored, publisher, a.Now())
	}
	return stored, err
}

func errNoMarket() error {
	return problem.NotFound("There is no market with this id. Ids are in GET /api/intelligence/markets.")
}

func (a *API) readMarket(ctx context.Context, q marketQuery) (any, error) {
	db := a.DB.Reader
	m, found, err := a.markets.ByID(ctx, db, q.id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoMarket()
	}
	history, err := a.markets.History(ctx, db, m.ID)
	if err != nil {
		return nil, err
	}
	opinions, err := a.consensusOf(ctx, []string{m.ID}, q.publisher)
	if err != nil {
		return nil, err
	}
	latest, _, err := a.store.For(q.viewer).List(ctx, db, prediction.Filter{MarketID: m.ID, Limit: signal.DefaultLimit, MaxText: prediction.MaxPageText})
	if err != nil {
		return nil, err
	}
	prices := make([]priceWire, len(history))
	for i, p := range history {
		prices[i] = priceWire{At: p.ObservedAt.UTC(), Prices: p.Prices, Bid: p.BestBid, Ask: p.BestAsk}
	}
	asOf, stale := a.observed()
	return struct {
		OK          bool              `json:"ok"`
		Market      *marketDetailWire `json:"market"`
		History     []priceWire       `json:"history"`
		Consensus   *consensusWire    `json:"consensus"`
		Predictions []predictionWire  `json:"predictions"`
		AsOf        *string           `json:"asOf"`
		Stale       bool              `json:"stale"`
	}{true, a.marketDetail(m), prices, consensus(opinions[m.ID]), a.predictions(latest), asOf, stale}, nil
}
