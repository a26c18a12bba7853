package prediction

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// link is the market a draft speaks of, and the side.
type link struct {
	market  *market.Market // nil: none
	outcome int
}

// signal is a known market or news item.
type signal struct{ kind, id string }

// facts are what the database knows about the drafts of a batch.
type facts struct {
	markets   map[string]*market.Market // by id
	questions map[string][]string       // ids of the open markets that ask a question
	signals   map[string]signal         // by the address of evidence
	earlier   map[agentEvent]int        // predictions of an agent on an event
	// untilClose are agents and markets with a prediction that is withheld until the close.
	untilClose map[agentMarket]bool
}

// lookUp reads what is known about drafts, by the same number of statements for any number
// of them.
func (p *Publisher) lookUp(ctx context.Context, db bun.IDB, list []*item) (*facts, error) {
	known := &facts{markets: map[string]*market.Market{}, signals: map[string]signal{}}
	var questions []string
	ids := map[string]bool{}
	for _, it := range list {
		if id := it.draft.MarketID; id != "" {
			ids[id] = true
		} else {
			questions = append(questions, it.question)
		}
	}
	var err error
	if known.questions, err = p.markets.ByQuestions(ctx, db, questions); err != nil {
		return nil, err
	}
	for _, found := range known.questions {
		if len(found) == 1 {
			ids[found[0]] = true
		}
	}
	pages := p.ownPages(list)
	for _, id := range pages {
		ids[id] = true
	}
	markets, err := p.markets.Linkable(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	for i := range markets {
		known.markets[markets[i].ID] = &markets[i]
	}
	if err := p.findSignals(ctx, db, list, pages, known); err != nil {
		return nil, err
	}
	if known.untilClose, err = withheldUntilClose(ctx, db, known.revealedEarlier(list)); err != nil {
		return nil, err
	}
	known.earlier, err = countEarlier(ctx, db, known.events(list))
	return known, err
}

// ownPages maps the addresses of evidence that are pages of markets on this service to the
// markets' ids.
func (p *Publisher) ownPages(list []*item) map[string]string {
	pages := map[string]string{}
	for _, it := range list {
		for _, e := range it.draft.Evidence {
			escaped, ok := strings.CutPrefix(e.URL, p.marketPages)
			if id, err := url.PathUnescape(escaped); ok && err == nil && id != "" && plaintext.Check(id, false) == "" {
				pages[e.URL] = id
			}
		}
	}
	return pages
}

// findSignals finds the signals that evidence points at.
func (p *Publisher) findSignals(
	ctx context.Context, db bun.IDB, list []*item, pages map[string]string, known *facts,
) error {
	var urls []string
	for _, it := range list {
		for _, e := range it.draft.Evidence {
			urls = append(urls, e.URL)
		}
	}
	items, err := p.news.ByURLs(ctx, db, urls)
	if err != nil {
		return err
	}
	markets, err := p.markets.ByURLs(ctx, db, urls)
	if err != nil {
		return err
	}
	for address, id := range items {
		known.signals[address] = signal{SignalNews, id}
	}
	for address, id := range markets {
		known.signals[address] = signal{SignalMarket, id}
	}
	for address, id := range pages {
		if known.markets[id] != nil {
			known.signals[address] = signal{SignalMarket, id}
		}
	}
	return nil
}

// events lists the agents and events of the drafts that will be linked.
func (known *facts) events(list []*item) map[agentEvent]bool {
	events := map[agentEvent]bool{}
	for _, it := range list {
		if to, _, err := known.link(it); err == nil && to.market != nil {
			events[agentEvent{it.agentID, to.market.EventKey()}] = true
		}
	}
	return events
}

// link resolves marketId and outcome, or the title of a known open market.
// A draft that names what does not exist is refused; a title that only looks like
// a market's is linked when that is beyond doubt, else explained in a warning.
func (known *facts) link(it *item) (link, []string, error) {
	d := &it.draft
	if d.MarketID == "" {
		return known.linkByTitle(it)
	}
	m := known.markets[d.MarketID]
	if m == nil {
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

func (known *facts) linkByTitle(it *item) (link, []string, error) {
	d, found := &it.draft, known.questions[it.question]
	switch {
	case len(found) == 0 && d.Outcome != "":
		return link{}, nil, problem.InvalidPrediction(problem.Field{Field: "outcome",
			Message: "needs marketId: it names one outcome of a market"})
	case len(found) == 0:
		return link{}, []string{"Not linked to a market: it will be settled by an admin after horizonAt and never ranked. To be ranked, send the marketId of a market from /api/intelligence/markets."}, nil
	case len(found) > 1:
		return link{}, []string{fmt.Sprintf("Not linked: %d open markets ask this question (%s). Send one marketId, or this will not be ranked.", len(found), someOf(found))}, nil
	}
	m := known.markets[found[0]]
	if m == nil {
		return link{}, nil, fmt.Errorf("market %s vanished", found[0])
	}
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

// someOf lists the first five.
func someOf(ids []string) string {
	const most = 5
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}

// linkEvidence names the known signal that each address points at.
func (known *facts) linkEvidence(list []Evidence) {
	for i := range list {
		s := known.signals[list[i].URL]
		list[i].SignalKind, list[i].SignalID = s.kind, s.id
	}
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
