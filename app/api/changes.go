package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// changeWire is a correction with its subject and its reason.
type changeWire struct {
	ID         string                `json:"id"`
	Kind       string                `json:"kind"`
	Market     *changeMarketWire     `json:"market"`
	Prediction *changePredictionWire `json:"prediction"`
	Note       string                `json:"note"`
	Actor      string                `json:"actor"`
	CreatedAt  time.Time             `json:"createdAt"`
}

type changeMarketWire struct {
	ID       string  `json:"id"`
	Question *string `json:"question"`
	URL      string  `json:"url"`
}

type changePredictionWire struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

type rulesWire struct {
	Version string   `json:"version"`
	Text    []string `json:"text"`
}

func (a *API) listChanges() fiber.Handler {
	return cached(a, operation[settlement.CorrectionFilter]{
		parse: parseChanges, read: a.readChanges, topics: []generation.Topic{generation.Results, generation.Markets},
		cost: func(f settlement.CorrectionFilter) httpserver.Cost {
			return shared(f == settlement.CorrectionFilter{Limit: DefaultLimit}, httpserver.Listing)
		},
	})
}

func parseChanges(c *fiber.Ctx) (f settlement.CorrectionFilter, err error) {
	args := c.Context().QueryArgs()
	if f.Limit, err = ParseLimit(args); err != nil {
		return f, err
	}
	f.Cursor, err = text(args, "cursor", maxParameter)
	return f, err
}

func (a *API) readChanges(ctx context.Context, f settlement.CorrectionFilter) (any, error) {
	db := a.DB.Reader
	list, next, err := settlement.Corrections(ctx, db, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, k := range list {
		if k.MarketID != "" {
			ids = append(ids, k.MarketID)
		}
	}
	markets, err := a.markets.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	questions := map[string]string{}
	for i := range markets {
		questions[markets[i].ID] = markets[i].Question
	}
	changes := make([]changeWire, len(list))
	for i := range list {
		changes[i] = a.change(&list[i], questions)
	}
	return struct {
		OK         bool         `json:"ok"`
		Changes    []changeWire `json:"changes"`
		Rules      []rulesWire  `json:"rules"`
		NextCursor *string      `json:"nextCursor"`
	}{true, changes, rules(), textOrNull(next)}, nil
}

func (a *API) change(k *settlement.Correction, questions map[string]string) changeWire {
	w := changeWire{ID: k.ID.String(), Kind: k.Kind, Note: k.Note, Actor: k.Actor, CreatedAt: k.CreatedAt}
	if k.MarketID != "" {
		w.Market = &changeMarketWire{k.MarketID, textOrNull(questions[k.MarketID]), a.marketURL(k.MarketID)}
	}
	if k.PredictionID != uuid.Nil {
		w.Prediction = &changePredictionWire{k.PredictionID.String(), a.Config.BaseURL + "/predictions/" + k.PredictionID.String()}
	}
	return w
}

func rules() []rulesWire {
	list := make([]rulesWire, len(score.Rulebook))
	for i, r := range score.Rulebook {
		list[i] = rulesWire(r)
	}
	return list
}
