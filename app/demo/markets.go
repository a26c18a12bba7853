package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

// Source is where sample markets and news say they come from.
const Source = "sample"

const (
	day = 24 * time.Hour
	// openFor is how long the open markets have been watched.
	openFor = 31 * day
	// hourlyFor is for how long before now an open market has hourly prices.
	hourlyFor = 2 * day
	// leastPrice bounds the prices of a market that trades.
	leastPrice = 0.005
	// leastLiquidity is enough for a baseline.
	leastLiquidity = 1200
)

// sampleMarket is a market with the story behind its prices.
type sampleMarket struct {
	market.Market
	key    string // the question as written, which its dice are named after
	path   path
	pick   int // the outcome of the path that "Yes" stands for, -1: all of them
	opened time.Time
	final  []float64 // what it settled at, nil while it is open
	past   []market.Price
	// lead is how far ahead full insight sees.
	lead   time.Duration
	ripple *rand.Rand
}

// prices are what a reading at a moment shows, to a tenth of a per cent.
func (m *sampleMarket) prices(at time.Time) []float64 {
	return rounded(m.perOutcome(m.path.at(at, 0.012, m.ripple)), 3)
}

// perOutcome turns the path's probabilities into those of the market's own outcomes. An
// empty book shows even odds, whatever the public believes.
func (m *sampleMarket) perOutcome(p []float64) []float64 {
	if m.key == unquoted {
		return []float64{0.5, 0.5}
	}
	if m.pick < 0 {
		return p
	}
	return []float64{p[m.pick], 1 - p[m.pick]}
}

// rounded keeps the sum at 1 and every price off the ends.
func rounded(p []float64, decimals int) []float64 {
	out, rest := make([]float64, len(p)), 1.0
	for k := range p[:len(p)-1] {
		out[k] = round(min(max(p[k], leastPrice), 1-leastPrice*float64(len(p)-1)), decimals)
		out[k] = min(out[k], round(rest-leastPrice*float64(len(p)-1-k), decimals))
		rest -= out[k]
	}
	out[len(p)-1] = round(rest, decimals)
	return out
}

// remember makes the market's past prices until it closed, or now: every six hours,
// hourly in the last days of an open one.
func (m *sampleMarket) remember(now time.Time) {
	until := now
	if m.final != nil {
		until = m.ClosedAt
	}
	for at := m.opened; at.Before(until); {
		m.past = append(m.past, m.observed(at, m.prices(at)))
		if m.final == nil && until.Sub(at) <= hourlyFor {
			at = at.Add(time.Hour)
		} else {
			at = at.Add(pathStep)
		}
	}
}

// observed is what a reading adds to the market's history while it is open.
func (m *sampleMarket) observed(at time.Time, prices []float64) market.Price {
	shown := m.standing(at, prices)
	return market.Price{
		MarketID: m.ID, ObservedAt: at, Prices: prices,
		BestBid: shown.BestBid, BestAsk: shown.BestAsk, Liquidity: m.Liquidity, Volume: m.Volume,
	}
}

// standing is the market as a reading shows it at a moment while it is open.
func (m *sampleMarket) standing(at time.Time, prices []float64) market.Market {
	out := m.Market
	out.Closed, out.ClosedAt, out.Resolution = false, time.Time{}, ""
	out.ObservedAt, out.FirstSeenAt = at, m.opened
	return priced(out, prices)
}

// closing is the market as the reading that sees it closed shows it.
func (m *sampleMarket) closing() market.Market {
	out := m.Market
	out.ObservedAt, out.FirstSeenAt = m.ClosedAt, m.opened
	return priced(out, m.final)
}

// priced is the market at these prices: with its book while it is open.
func priced(m market.Market, prices []float64) market.Market {
	p := prices[m.Reference()]
	m.Prices, m.Probability, m.Price = prices, &p, &p
	m.BestBid, m.BestAsk = nil, nil
	if !m.Closed {
		bid, ask := book(&m)
		m.BestBid, m.BestAsk = &bid, &ask
	}
	return m
}

// unquoted is the open market without quotes: its book is empty.
const unquoted = "Will reservoirs in southern Vallmark be above 50% of capacity on {by}?"

// Most books are tight and one in eight is wide, as in a real recording.
const (
	tightest, widest   = 0.002, 0.006 // half the spread of a tight book
	wideFrom, wideUpTo = 0.04, 0.08   // of a wide one
	wideShare          = 0.125
)

// book is the best bid and ask around the price of a market's first outcome. Its width
// follows from the market's id.
func book(m *market.Market) (bid, ask float64) {
	if prefix, _, _ := strings.Cut(unquoted, "{"); strings.HasPrefix(m.Question, prefix) {
		return 0, 1
	}
	rolls := dice("book of " + m.ID)
	half := tightest + (widest-tightest)*rolls.Float64()
	if rolls.Float64() < wideShare {
		half = wideFrom + (wideUpTo-wideFrom)*rolls.Float64()
	}
	return round(max(m.Prices[0]-half, 0), 3), round(min(m.Prices[0]+half, 1), 3)
}

// builder makes the markets of a world.
type builder struct {
	now     time.Time
	markets []*sampleMarket
	events  int
	open    int
	settled int
}

// sampleMarkets are all markets of the world that starts now.
func sampleMarkets(now time.Time) []*sampleMarket {
	b := &builder{now: now}
	for _, q := range openBinaries {
		b.binary(q)
	}
	for _, q := range openNamed {
		b.named(q)
	}
	for _, q := range openGroups {
		b.group(q)
	}
	for _, q := range settledBinaries {
		b.binary(q)
	}
	for _, q := range settledVoid {
		b.void(q)
	}
	for _, q := range settledFraction {
		b.fraction(q.binary, q.value)
	}
	for _, q := range settledNamed {
		b.named(q)
	}
	for _, q := range settledGroups {
		b.group(q)
	}
	for _, m := range b.markets {
		m.remember(now)
	}
	return b.markets
}

func yesNo() []string { return []string{"Yes", "No"} }

func (b *builder) binary(q binary) {
	b.named(named{q.category, q.question, q.criteria, q.days, yesNo(), []float64{q.price, 1 - q.price}, q.volume})
}

func (b *builder) named(q named) {
	m := b.add(q.category, q.question, q.criteria, q.days, q.volume)
	m.Outcomes = q.outcomes
	if q.days > 0 {
		m.path = wander(m.opened, b.now, q.prices, dice(q.question))
		return
	}
	rolls := dice(q.question)
	winner := draw(q.prices, rolls)
	m.path = reveal(m.opened, m.ClosedAt, q.prices, winner, rolls)
	m.final = make([]float64, len(q.outcomes))
	m.final[winner] = 1
}

func (b *builder) void(q binary) {
	m := b.add(q.category, q.question, q.criteria, q.days, q.volume)
	m.path = reveal(m.opened, m.ClosedAt, []float64{q.price, 1 - q.price}, -1, dice(q.question))
	m.final = []float64{0.5, 0.5}
}

func (b *builder) fraction(q binary, value float64) {
	m := b.add(q.category, q.question, q.criteria, q.days, q.volume)
	m.path = wander(m.opened, m.ClosedAt, []float64{value, 1 - value}, dice(q.question))
	m.final, m.Scalar = []float64{value, round(1-value, 3)}, true
}

// group adds the choices of one event, whose prices leave something to "none of
// these".
func (b *builder) group(g group) {
	prior, rest := make([]float64, 0, len(g.choices)+1), 1.0
	for _, c := range g.choices {
		prior, rest = append(prior, c.price), rest-c.price
	}
	prior = append(prior, rest)
	rolls := dice(g.title)
	winner := draw(prior, rolls)
	b.events++
	first := len(b.markets)
	for k, c := range g.choices {
		m := b.add(
			g.category, c.question, strings.ReplaceAll(g.criteria, "{choice}", c.name), g.days, g.volume*(0.3+c.price),
		)
		m.EventID, m.EventTitle = fmt.Sprintf("sample-event-%d", b.events), g.title
		m.Title, m.pick = g.title+" — "+c.name, k
		if g.days < 0 {
			m.final = []float64{0, 1}
			if k == winner {
				m.final = []float64{1, 0}
			}
		}
	}
	// Siblings open and close together, and share one path.
	siblings, eldest := b.markets[first:], b.markets[first]
	if g.days > 0 {
		eldest.path = wander(eldest.opened, b.now, prior, rolls)
	} else {
		eldest.path = reveal(eldest.opened, eldest.ClosedAt, prior, winner, rolls)
	}
	for _, m := range siblings {
		m.opened, m.ClosedAt, m.lead, m.path = eldest.opened, eldest.ClosedAt, eldest.lead, eldest.path
	}
}

// add appends a Yes/No market with all that does not depend on its prices.
func (b *builder) add(category, question, criteria string, days, volume float64) *sampleMarket {
	rolls := dice("facts of " + question)
	m := &sampleMarket{key: question, pick: -1, ripple: dice("ripple of " + question)}
	m.Source, m.Sample, m.Active, m.Outcomes = Source, true, true, yesNo()
	m.ClosesAt = b.now.Add(time.Duration(days * float64(day))).Truncate(time.Hour)
	if days > 0 {
		b.open++
		m.ID = fmt.Sprintf("sample-%d", 100+b.open)
		m.opened, m.lead = b.now.Add(-openFor), ahead
	} else {
		b.settled++
		m.ID = fmt.Sprintf("sample-%d", 500+b.settled)
		life := time.Duration((12 + 12*rolls.Float64()) * float64(day)).Truncate(time.Hour)
		m.opened, m.lead = m.ClosesAt.Add(-life), time.Duration(foresight*float64(life))
		m.Closed, m.Resolution = true, "resolved"
		m.ClosedAt = m.ClosesAt.Add(time.Duration(2+rolls.IntN(25)) * time.Minute)
	}
	by := strings.NewReplacer("{by}", m.ClosesAt.Format("2 January"))
	m.Question, m.Category = by.Replace(question), category
	m.Title, m.Slug = m.Question, slug(m.Question)
	m.Description = by.Replace(criteria) + " Sample market: nothing is traded on it."
	m.ResolutionSource = bodies[category]
	volume *= 0.9 + 0.2*rolls.Float64()
	liquidity := round(max(volume*(0.01+0.05*rolls.Float64()), leastLiquidity), 2)
	traded := round(volume*(0.005+0.02*rolls.Float64()), 2)
	volume = round(volume, 2)
	m.Volume, m.Volume24h, m.Liquidity = &volume, &traded, &liquidity
	b.markets = append(b.markets, m)
	return m
}

// slug is a text as an address would carry it, cut at a word.
func slug(text string) string {
	words := strings.Fields(market.QuestionKey(text))
	n := 0
	end := slices.IndexFunc(words, func(w string) bool { n += len(w) + 1; return n > 64 })
	if end < 0 {
		end = len(words)
	}
	return strings.Join(words[:end], "-")
}
