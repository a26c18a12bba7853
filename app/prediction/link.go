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

// link is the market that a draft is about, and the index of its outcome.
type link struct {
	market  *market.Market // nil if there is none
	outcome int
}

// signal is a known market or news item.
type signal struct{ kind, id string }

// facts is what the database knows about the drafts of a batch.
type facts struct {
	markets   map[string]*market.Market // by id
	decided   map[string]bool           // ids of the markets that an admin decided although they aren't closed
	questions map[string][]string       // ids of the open markets with this question
	signals   map[string]signal         // by the evidence's address
	cited     map[string]bool           // by the id of a news item; a cited item stays so
	events    map[agentMarket]string    // the event that counts for an agent; see findEarlier
	earlier   map[agentEvent]repeats
	said      map[agentOutcome]bool // whether the agent's previous confidence bounds the baseline of its next prediction
	// untilClose holds agents and markets with a prediction that is withheld until the market closes.
	untilClose map[agentMarket]bool
}

// lookUp reads the facts about drafts. The number of statements doesn't depend on the number of drafts.
func (p *Publisher) lookUp(ctx context.Context, db bun.IDB, list []*item) (*facts, error) {
	known := &facts{markets: map[string]*market.Market{}, signals: map[string]signal{}, cited: map[string]bool{}}
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
	if p.DecidedWhileOpen != nil {
		if known.decided, err = p.DecidedWhileOpen(ctx, db, markets); err != nil {
			return nil, err
		}
	}
	if err := p.findSignals(ctx, db, list, pages, known); err != nil {
		return nil, err
	}
	return known, known.findEarlier(ctx, db, list)
}

// ownPages finds evidence that links to this service's market pages. It maps the addresses to the ids of the
// markets.
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

// findSignals finds the signals that evidence cites.
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
	for address, found := range items {
		known.signals[address] = signal{SignalNews, found.ID}
		known.cited[found.ID] = found.Cited
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

// link resolves marketId and outcome, or finds an open market by the draft's title. It refuses a draft that
// names an unknown market or outcome. It links a title only if the match is unambiguous; otherwise it returns a
// warning.
func (known *facts) link(it *item) (link, []string, error) {
	d := &it.draft
	if d.MarketID == "" {
		return known.linkByTitle(it)
	}
	m := known.markets[d.MarketID]
	if m == nil {
		return link{}, nil, problem.InvalidPrediction(problem.Field{Field: "marketId",
			Message: "is not a known market: send an id from GET /api/intelligence/markets, or leave it out"})
	}
	index, err := outcomeOf(m, d.Outcome)
	if err != nil {
		return link{}, nil, err
	}
	if m.Closed {
		return link{}, nil, problem.New(problem.CodeMarketClosed,
			fmt.Sprintf(
				"Market %s is closed. Nothing was stored. Choose an open market from GET /api/intelligence/markets.", m.ID,
			))
	}
	if known.decided[m.ID] {
		return link{}, nil, problem.New(problem.CodeMarketClosed, fmt.Sprintf(
			"An admin has decided the outcome of market %s, which its source no longer reports. Nothing was stored. Choose another market from GET /api/intelligence/markets.", m.ID))
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
		return link{}, []string{"Not linked to a market: an admin will settle this prediction after horizonAt, and it will never be ranked. To be ranked, send the marketId of a market from /api/intelligence/markets."}, nil
	case len(found) > 1:
		return link{}, []string{fmt.Sprintf("Not linked: %d open markets ask this question (%s). Send one marketId, or this prediction will not be ranked.", len(found), someOf(found))}, nil
	}
	m := known.markets[found[0]]
	if m == nil {
		return link{}, nil, fmt.Errorf("market %s was not found", found[0])
	}
	if known.decided[m.ID] {
		return link{}, []string{fmt.Sprintf("Not linked: market %s asks this question, but an admin has decided its outcome. Send the marketId of another market from /api/intelligence/markets, or this prediction will not be ranked.", m.ID)}, nil
	}
	if d.Outcome == "" && m.YesIndex() < 0 {
		return link{}, []string{fmt.Sprintf("Not linked: market %s asks this question, but has no outcome named Yes. Send marketId and outcome (one of %s), or this prediction will not be ranked.", m.ID, names(m))}, nil
	}
	index, err := outcomeOf(m, d.Outcome)
	if err != nil {
		return link{}, nil, err
	}
	return link{market: m, outcome: index}, []string{
		fmt.Sprintf("Linked to market %s, whose question is your title. Send marketId to be sure.", m.ID),
	}, nil
}

// outcomeOf finds the named outcome. The default is "Yes".
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

// someOf lists the first five ids.
func someOf(ids []string) string {
	const most = 5
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}

// linkEvidence sets the kind and id of the known signal that each address belongs to.
func (known *facts) linkEvidence(list []Evidence) {
	for i := range list {
		s := known.signals[list[i].URL]
		list[i].SignalKind, list[i].SignalID = s.kind, s.id
	}
}

// newlyCited lists the news items that evidence cites and that no prediction has cited before.
func (known *facts) newlyCited(list []Evidence) []string {
	var ids []string
	for _, e := range list {
		if e.SignalKind == SignalNews && !known.cited[e.SignalID] {
			ids = append(ids, e.SignalID)
		}
	}
	return ids
}

// The kinds of signal that evidence can cite.
const (
	SignalMarket = "market"
	SignalNews   = "news"
)
