package prediction

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
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
	read      read                      // what the reads of lookUp found
	events    map[agentMarket]string    // the event that counts for an agent; see findEarlier
	earlier   map[agentEvent]repeats
	said      map[agentOutcome]bool // whether the agent's previous confidence bounds the baseline of its next prediction
	// untilClose holds agents and markets with a prediction that is withheld until the market closes.
	untilClose map[agentMarket]bool
}

// read is what the first reads about drafts find.
type read struct {
	markets  []market.Market
	news     map[string]news.Found // by the evidence's address, as the next two
	byPage   map[string]string     // ids of markets, by their public pages
	ownPages map[string]string     // ids of markets, by this service's pages; they may be unknown
}

// lookUp returns facts about drafts, and the reads that begin to fill them; see lookUpRest. The number of statements doesn't
// depend on the number of drafts.
func (p *Publisher) lookUp(list []*item) (*facts, []database.Read) {
	known := &facts{
		markets: map[string]*market.Market{}, questions: map[string][]string{}, signals: map[string]signal{}, cited: map[string]bool{},
		read: read{news: map[string]news.Found{}, byPage: map[string]string{}, ownPages: p.ownPages(list)},
	}
	var questions, urls []string
	ids := map[string]bool{}
	for _, it := range list {
		if id := it.draft.MarketID; id != "" {
			ids[id] = true
		} else {
			questions = append(questions, it.question)
		}
		for _, e := range it.draft.Evidence {
			urls = append(urls, e.URL)
		}
	}
	for _, id := range known.read.ownPages {
		ids[id] = true
	}
	return known, []database.Read{
		p.markets.ByQuestions(questions, known.questions),
		p.markets.Linkable(ids, &known.read.markets),
		p.news.ByURLs(urls, known.read.news),
		p.markets.ByURLs(urls, known.read.byPage),
	}
}

// lookUpRest reads the facts that depend on what the reads of lookUp have found. list may be a part of the drafts.
func (p *Publisher) lookUpRest(ctx context.Context, db bun.IDB, known *facts, list []*item) error {
	matched := map[string]bool{}
	for _, found := range known.questions {
		if len(found) == 1 {
			matched[found[0]] = true
		}
	}
	for _, m := range known.read.markets {
		delete(matched, m.ID)
	}
	if err := database.ScanReads(ctx, db, p.markets.Linkable(matched, &known.read.markets)); err != nil {
		return err
	}
	markets := known.read.markets
	for i := range markets {
		known.markets[markets[i].ID] = &markets[i]
	}
	if p.DecidedWhileOpen != nil {
		var err error
		if known.decided, err = p.DecidedWhileOpen(ctx, db, markets); err != nil {
			return err
		}
	}
	known.nameSignals()
	return known.findEarlier(ctx, db, list)
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

// nameSignals names the signals that evidence cites.
func (known *facts) nameSignals() {
	for address, found := range known.read.news {
		known.signals[address] = signal{SignalNews, found.ID}
		known.cited[found.ID] = found.Cited
	}
	for address, id := range known.read.byPage {
		known.signals[address] = signal{SignalMarket, id}
	}
	for address, id := range known.read.ownPages {
		if known.markets[id] != nil {
			known.signals[address] = signal{SignalMarket, id}
		}
	}
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
