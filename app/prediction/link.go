package prediction

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
)

// link is the market a draft speaks of, and the side.
type link struct {
	market  *market.Market // nil: none
	outcome int
}

// findLink resolves marketId and outcome, or the title of a known open market.
// A draft that names what does not exist is refused; a title that only looks like
// a market's is linked when that is beyond doubt, else explained in a warning.
func (p *Publisher) findLink(ctx context.Context, db bun.IDB, d *Draft) (link, []string, error) {
	if d.MarketID == "" {
		return p.linkByTitle(ctx, db, d)
	}
	m, found, err := p.markets.ByID(ctx, db, d.MarketID)
	if err != nil {
		return link{}, nil, err
	}
	if !found {
		return link{}, nil, problem.InvalidPrediction(problem.Field{Field: "marketId",
			Message: "is not a known market: send an id of GET /api/intelligence/markets, or leave it out"})
	}
	index, err := outcomeOf(m, d.Outcome)
	if err != nil {
		return link{}, nil, err
	}
	if m.Closed {
		return link{}, nil, problem.New(problem.CodeMarketClosed,
			fmt.Sprintf(
				"Market %s is closed; nothing was stored. Choose an open one of GET /api/intelligence/markets.", m.ID,
			))
	}
	return link{market: m, outcome: index}, nil, nil
}

func (p *Publisher) linkByTitle(ctx context.Context, db bun.IDB, d *Draft) (link, []string, error) {
	found, err := p.markets.ByMatchKey(ctx, db, market.QuestionKey(d.Title))
	if err != nil {
		return link{}, nil, err
	}
	switch {
	case len(found) == 0 && d.Outcome != "":
		return link{}, nil, problem.InvalidPrediction(problem.Field{Field: "outcome",
			Message: "needs marketId: it names one outcome of a market"})
	case len(found) == 0:
		return link{}, []string{"Not linked to a market: it will be settled by an admin after horizonAt and never ranked. To be ranked, send the marketId of a market from /api/intelligence/markets."}, nil
	case len(found) > 1:
		return link{}, []string{fmt.Sprintf("Not linked: %d open markets ask this question (%s). Send one marketId, or this will not be ranked.", len(found), idsOf(found))}, nil
	}
	m := &found[0]
	if d.Outcome == "" && m.YesIndex() < 0 {
		return link{}, []string{fmt.Sprintf("Not linked: market %s asks this question, but has no outcome named Yes. Send marketId and outcome (one of %s), or this will not be ranked.", m.ID, names(m))}, nil
	}
	index, err := outcomeOf(m, d.Outcome)
	if err != nil {
		return link{}, nil, err
	}
	return link{market: m, outcome: index}, []string{
		fmt.Sprintf("Linked to market %s, whose question is your title. Send marketId to be sure.", m.ID),
	}, nil
}

// outcomeOf finds the named outcome, "Yes" by default.
func outcomeOf(m *market.Market, name string) (int, error) {
	if name == "" {
		if i := m.YesIndex(); i >= 0 {
			return i, nil
		}
		return 0, problem.InvalidPrediction(problem.Field{Field: "outcome",
			Message: "is required for this market: send one of " + names(m)})
	}
	if i := m.OutcomeIndex(name); i >= 0 {
		return i, nil
	}
	return 0, problem.InvalidPrediction(problem.Field{Field: "outcome",
		Message: "is not an outcome of this market: send one of " + names(m)})
}

func names(m *market.Market) string {
	quoted := make([]string, len(m.Outcomes))
	for i, o := range m.Outcomes {
		quoted[i] = fmt.Sprintf("%q", o)
	}
	return strings.Join(quoted, ", ")
}

func idsOf(markets []market.Market) string {
	var ids []string
	for i, m := range markets {
		if i == 5 {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, ", ")
}

// linkEvidence names the known signal that each address points at.
func (p *Publisher) linkEvidence(ctx context.Context, db bun.IDB, list []Evidence) error {
	if len(list) == 0 {
		return nil
	}
	urls := make([]string, len(list))
	for i, e := range list {
		urls[i] = e.URL
	}
	markets, err := p.markets.ByURLs(ctx, db, urls)
	if err != nil {
		return err
	}
	items, err := p.news.ByURLs(ctx, db, urls)
	if err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		if id := markets[e.URL]; id != "" {
			e.SignalKind, e.SignalID = SignalMarket, id
		} else if id := items[e.URL]; id != "" {
			e.SignalKind, e.SignalID = SignalNews, id
		}
	}
	return p.linkOwnPages(ctx, db, list)
}

// linkOwnPages links evidence that cites a market by its page on this service.
func (p *Publisher) linkOwnPages(ctx context.Context, db bun.IDB, list []Evidence) error {
	cited := map[string][]*Evidence{}
	for i := range list {
		escaped, ok := strings.CutPrefix(list[i].URL, p.marketPages)
		if id, err := url.PathUnescape(escaped); ok && err == nil && id != "" {
			cited[id] = append(cited[id], &list[i])
		}
	}
	if len(cited) == 0 {
		return nil
	}
	known, err := p.markets.ByIDs(ctx, db, slices.Collect(maps.Keys(cited)))
	if err != nil {
		return err
	}
	for _, m := range known {
		for _, e := range cited[m.ID] {
			e.SignalKind, e.SignalID = SignalMarket, m.ID
		}
	}
	return nil
}

// citedNews lists the items that evidence points at.
func citedNews(list []Evidence) []string {
	var ids []string
	for _, e := range list {
		if e.SignalKind == SignalNews {
			ids = append(ids, e.SignalID)
		}
	}
	return ids
}

// The kinds of signal that evidence can point at.
const (
	SignalMarket = "market"
	SignalNews   = "news"
)
