package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// predictionProps maps a record, which its store has already redacted for the public.
func (s *Site) predictionProps(r *prediction.Record) components.Prediction {
	p := components.Prediction{
		ID: r.ID.String(), Title: r.Title, Thesis: r.Thesis,
		Agent:      components.Agent{Handle: r.Agent.Handle, Name: r.Agent.Name, Model: r.Model},
		Confidence: r.Confidence, Outcome: r.Outcome, Baseline: r.Baseline, MarketThen: r.MarketThen(), MarketID: r.MarketID, Category: r.Category,
		Status: string(r.Status), Value: r.ResolutionValue, Edge: points(r.Edge), Brier: r.Brier,
		CreatedAt: s.when(r.CreatedAt), ResolvedAt: s.when(r.ResolvedAt), Hidden: r.Hidden, Erased: r.Agent.Closed(), Sample: r.Sample,
	}
	if r.Market != nil {
		p.Market = r.Market.Name()
	}
	if r.Withheld == prediction.NotRevealed {
		p.Until = string(r.Reveal)
		if r.Market != nil {
			p.Title, p.Category = p.Market, r.Market.Category
		}
	}
	p.Pending = r.MarketID != "" && r.Status == prediction.Open && r.BaselineState == prediction.Pending
	if live, ok := r.LiveEdge(); ok {
		p.LiveEdge = points(&live)
	}
	if r.Market != nil && r.OutcomeIndex != nil {
		if price, ok := r.Market.PriceOf(*r.OutcomeIndex); ok {
			p.Price = &price
		}
	}
	return p
}

// marketView returns what a market shows now for one of its outcomes.
func marketView(m *market.Market, outcome int) components.View {
	v, ok := m.View(outcome)
	switch {
	case !ok:
		return components.View{}
	case !v.Book:
		return components.View{Price: &v.Price}
	}
	return components.View{Price: &v.Price, Bid: &v.Bid, Ask: &v.Ask}
}

// thesisShown is how many characters of a thesis a list shows at most. Its style cuts it to four lines.
const thesisShown = 600

func (s *Site) predictionList(records []prediction.Record) []components.Prediction {
	out := make([]components.Prediction, len(records))
	for i := range records {
		out[i] = s.predictionProps(&records[i])
		out[i].Thesis = plaintext.Cut(out[i].Thesis, thesisShown)
	}
	return out
}

func points(p *score.Points) *float64 {
	if p == nil {
		return nil
	}
	v := p.Float()
	return &v
}

// shownOutcome returns the outcome whose probability stands for a market.
func shownOutcome(m *market.Market) (name string, index int) {
	index = m.Reference()
	if index < 0 || index >= len(m.Outcomes) {
		return "", -1
	}
	return m.Outcomes[index], index
}

func (s *Site) marketProps(m *market.Market) pages.MarketRow {
	outcome, index := shownOutcome(m)
	return pages.MarketRow{
		ID: m.ID, Title: m.Name(), Label: m.ShortName(), Category: m.Category, Outcome: outcome, Probability: m.Probability,
		Book: marketView(m, index), Change: m.ChangeOf(index),
		Volume: m.Volume, ClosesAt: s.when(m.ClosesAt), ClosedAt: s.when(m.ClosedAt), Closed: m.Closed, Sample: m.Sample,
	}
}

func (s *Site) newsProps(n *news.Item) pages.NewsItem {
	return pages.NewsItem{
		ID: n.ID, Community: n.Community, Title: n.Title, Summary: n.Summary, URL: n.URL, Host: host(n.URL),
		Permalink: n.Permalink, Score: n.Score, Comments: n.Comments, ScoreKnown: n.ScoreKnown,
		PostedAt: s.when(n.PostedAt), Sample: n.Sample,
	}
}

// host returns the host of an address, without www.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}

func evidenceProps(list []prediction.Evidence) []components.Evidence {
	out := make([]components.Evidence, len(list))
	for i, e := range list {
		out[i] = components.Evidence{Title: e.Title, URL: e.URL, Host: host(e.URL)}
		switch e.SignalKind {
		case "market":
			out[i].Signal = &components.Signal{Kind: "market", Href: "/markets/" + url.PathEscape(e.SignalID)}
		case "news":
			out[i].Signal = &components.Signal{Kind: "news", Href: newsPath(e.SignalID)}
		}
	}
	return out
}

// categoriesOf lists the categories of markets, most frequent first.
func categoriesOf(markets []market.Market) []string {
	return mostFrequent(markets, maxChoices, func(m *market.Market) []string {
		if m.Category == "" {
			return nil
		}
		return []string{m.Category}
	})
}

// maxTagChoices is how many tags the list of markets offers.
const maxTagChoices = 6

// tagsOf lists the informative tags of markets, most frequent first. It leaves out tags that name a
// whole category, because categories are a filter already.
func tagsOf(markets []market.Market) []string {
	return mostFrequent(markets, maxTagChoices, func(m *market.Market) []string {
		return slices.DeleteFunc(slices.Clone(m.Tags), func(tag string) bool {
			category := market.CategoryOf(tag)
			return category == "" || category == tag
		})
	})
}

// mostFrequent counts the words of markets and returns at most limit of them, most frequent first.
func mostFrequent(markets []market.Market, limit int, words func(*market.Market) []string) []string {
	count := map[string]int{}
	var names []string
	for i := range markets {
		for _, word := range words(&markets[i]) {
			if count[word] == 0 {
				names = append(names, word)
			}
			count[word]++
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	return names[:min(len(names), limit)]
}
