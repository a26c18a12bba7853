package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// Source is the source of sample markets and news.
const Source = "sample"

const (
	day = 24 * time.Hour
	// openFor is the age of the open markets.
	openFor = 31 * day
	// hourlyFor is how far back an open market has hourly prices.
	hourlyFor = 2 * day
	// leastPrice is the lowest price of an open market.
	leastPrice = 0.005
	// leastLiquidity is the lowest liquidity. It is enough for a baseline.
	leastLiquidity = 1200
)

// sampleMarket is a market with the model behind its prices.
type sampleMarket struct {
	market.Market
	key    string // the question with its placeholders; the market's random numbers depend on it
	path   path
	pick   int // index of the path's outcome that is this market's "Yes"; -1: the outcomes are the path's
	nested *ladder
	topic  string // the category of its texts, even if the market has no category
	opened time.Time
	final  []float64 // the prices it settled at, nil while it is open
	past   []market.Price
	// lead is how far ahead an agent with full insight sees.
	lead   time.Duration
	ripple *rand.Rand
}

// kind returns the kind of its question. TestKinds checks that there is one.
func (m *sampleMarket) kind() *kind { return kindsOf(m.key)[0] }

// prices returns the prices of a reading at the given time, to a tenth of a per cent.
func (m *sampleMarket) prices(at time.Time) []float64 { return m.rippled(at, m.ripple) }

// rippled is prices with other random numbers.
func (m *sampleMarket) rippled(at time.Time, ripple *rand.Rand) []float64 {
	return rounded(m.perOutcome(m.path.at(at, 0.012, ripple)), 3)
}

// perOutcome converts the path's probabilities to those of the market's outcomes. An empty book shows even
// odds, whatever the path says.
func (m *sampleMarket) perOutcome(p []float64) []float64 {
	switch {
	case m.key == unquoted:
		return []float64{0.5, 0.5}
	case m.pick < 0:
		return p
	case m.nested != nil:
		yes := m.nested.yes(p, m.pick)
		return []float64{yes, 1 - yes}
	}
	return []float64{p[m.pick], 1 - p[m.pick]}
}

// yes returns the probability of a rung from those of the intervals between rungs.
func (l *ladder) yes(parts []float64, rung int) float64 {
	sum := 0.0
	for _, p := range parts[:rung+1] {
		sum += p
	}
	if l.above {
		return 1 - sum
	}
	return sum
}

// between returns the probabilities of the intervals between rungs from those of the rungs.
func (l *ladder) between(rungs []float64) []float64 {
	parts, sum := make([]float64, 0, len(rungs)+1), 0.0
	for _, yes := range rungs {
		if l.above {
			yes = 1 - yes
		}
		parts, sum = append(parts, yes-sum), yes
	}
	return append(parts, 1-sum)
}

// rounded rounds probabilities. It keeps their sum at 1 and each of them away from 0 and 1.
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

// outsiders are siblings below this price. They have only a few past prices.
const outsiders = 0.03

// remember sets the market's past prices, up to its close or now. They are six hours apart, one hour in the
// last days of an open market, and one day for an outsider.
func (m *sampleMarket) remember(now time.Time) {
	until := now
	if m.final != nil {
		until = m.ClosedAt
	}
	outsider := m.EventID != "" && m.final == nil && m.perOutcome(m.path.at(now, 0, nil))[0] < outsiders
	for at := m.opened; at.Before(until); {
		m.past = append(m.past, m.observed(at, m.prices(at)))
		if outsider {
			at = at.Add(day)
		} else if m.final == nil && until.Sub(at) <= hourlyFor {
			at = at.Add(time.Hour)
		} else {
			at = at.Add(pathStep)
		}
	}
}

// observed returns the price row of a reading while the market is open.
func (m *sampleMarket) observed(at time.Time, prices []float64) market.Price {
	shown := m.standing(at, prices)
	return market.Price{
		MarketID: m.ID, ObservedAt: at, Prices: prices,
		BestBid: shown.BestBid, BestAsk: shown.BestAsk, Liquidity: m.Liquidity, Volume: m.Volume,
	}
}

// standing returns the market as a reading shows it while it is open.
func (m *sampleMarket) standing(at time.Time, prices []float64) market.Market {
	out := m.Market
	out.Closed, out.ClosedAt, out.Resolution = false, time.Time{}, ""
	out.ObservedAt, out.FirstSeenAt = at, m.opened
	if before := at.Add(-day); before.After(m.opened) {
		change := round(prices[0]-m.perOutcome(m.path.at(before, 0, nil))[0], 3)
		out.PriceChange24h = &change
	}
	return priced(out, prices)
}

// closing returns the market as the first reading after its close shows it.
func (m *sampleMarket) closing() market.Market {
	out := m.Market
	out.ObservedAt, out.FirstSeenAt = m.ClosedAt, m.opened
	return priced(out, m.final)
}

// priced returns the market with these prices, and with its book if it is open.
func priced(m market.Market, prices []float64) market.Market {
	p := prices[m.Reference()]
	m.Prices, m.Probability, m.Price = prices, &p, &p
	m.BestBid, m.BestAsk = nil, nil
	if !m.Closed && !asks(&m, bookless) {
		bid, ask := book(&m)
		m.BestBid, m.BestAsk = &bid, &ask
	}
	return m
}

// unquoted is the question of the open market with an empty book.
const unquoted = "Will reservoirs in southern Vallmark be above 50% of capacity on {by}?"

// Most books are narrow and one in eight is wide, as in a real recording.
const (
	tightest, widest   = 0.002, 0.006 // half the spread of a narrow book
	wideFrom, wideUpTo = 0.04, 0.08   // half the spread of a wide book
	wideShare          = 0.125
)

// book returns the best bid and ask around the first outcome's price. The width depends on the market's id.
func book(m *market.Market) (bid, ask float64) {
	if asks(m, unquoted) {
		return 0, 1
	}
	rolls := dice("book of " + m.ID)
	half := tightest + (widest-tightest)*rolls.Float64()
	if rolls.Float64() < wideShare {
		half = wideFrom + (wideUpTo-wideFrom)*rolls.Float64()
	}
	return round(max(m.Prices[0]-half, 0), 3), round(min(m.Prices[0]+half, 1), 3)
}

// asks reports whether a market has the given question, compared up to its first placeholder.
func asks(m *market.Market, question string) bool {
	prefix, _, _ := strings.Cut(question, "{")
	return strings.HasPrefix(m.Question, prefix)
}

// builder makes the markets of a world.
type builder struct {
	now     time.Time
	markets []*sampleMarket
	events  []market.Event
	open    int
	settled int
	late    bool // the next markets stay open after their scheduled close
}

// sampleMarkets returns all markets and events of the world that starts now.
func sampleMarkets(now time.Time) ([]*sampleMarket, []market.Event) {
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
	b.odd()
	for _, m := range b.markets {
		m.remember(now)
	}
	return b.markets, b.events
}

// odd adds irregular markets like those of a real source. It comes last, so that the other markets keep their
// ids.
func (b *builder) odd() {
	for _, q := range longGroups {
		b.group(q)
	}
	for i := range openLadders {
		b.ladder(&openLadders[i])
	}
	for _, q := range append(openOdd, openBookless) {
		b.binary(q)
		b.markets[len(b.markets)-1].Category = ""
	}
	b.late = true
	for _, q := range openLate {
		b.binary(q.binary)
	}
}

func yesNo() []string { return []string{"Yes", "No"} }

func (b *builder) binary(q binary) {
	b.named(named{q.category, q.question, q.criteria, q.days, yesNo(), []float64{q.price, 1 - q.price}, q.volume})
}

func (b *builder) named(q named) {
	m := b.add(q.category, q.question, q.criteria, q.days, q.volume)
	m.Outcomes = q.outcomes
	if !m.Closed {
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

// group adds the choices of one event. Their prices leave a rest for "none of these".
func (b *builder) group(g group) {
	prior, rest := make([]float64, 0, len(g.choices)+1), 1.0
	for _, c := range g.choices {
		prior, rest = append(prior, c.price), rest-c.price
	}
	prior = append(prior, rest)
	rolls := dice(g.title)
	winner := draw(prior, rolls)
	first := len(b.markets)
	for k, c := range g.choices {
		m := b.add(g.category, c.question, chosen(g.criteria, c.name), g.days, g.volume*(0.3+c.price))
		m.pick = k
		if g.days < 0 {
			m.final = []float64{0, 1}
			if k == winner {
				m.final = []float64{1, 0}
			}
		}
	}
	b.event(g.title, g.criteria, b.markets[first:], g.choices)
	b.events[len(b.events)-1].Exclusive, b.events[len(b.events)-1].ByPrice = new(true), len(g.choices) > 3
	// Siblings open and close together and share one path.
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

// ladder adds the rungs of an event, which also share one path.
func (b *builder) ladder(l *ladder) {
	first := len(b.markets)
	for k, c := range l.rungs {
		m := b.add(l.category, c.question, chosen(l.criteria, c.name), l.days, l.volume*(0.4-0.04*float64(k)))
		m.pick, m.nested = k, l
	}
	siblings := b.markets[first:]
	shared := wander(siblings[0].opened, b.now, l.parts, dice(l.title))
	for _, m := range siblings {
		m.path = shared
	}
	b.event(l.title, l.criteria, siblings, l.rungs)
	b.events[len(b.events)-1].Exclusive = new(false)
}

// event groups markets into an event and gives each the label of its choice.
func (b *builder) event(title, criteria string, siblings []*sampleMarket, choices []choice) {
	id, eldest := fmt.Sprintf("sample-event-%d", len(b.events)+1), siblings[0]
	title = dated(title, eldest.ClosesAt)
	e := market.Event{
		ID: id, Title: title, Slug: slug(title), Description: chosen(dated(criteria, eldest.ClosesAt), "the outcome named"),
		ClosesAt: eldest.ClosesAt, Tags: eldest.Tags, TagsKnown: true, UpdatedAt: eldest.opened,
	}
	for k, m := range siblings {
		m.EventID, m.EventTitle, m.EventSlug, m.Label = id, title, e.Slug, choices[k].name
		m.EventPosition = new(float64(k))
		if m.nested == nil {
			m.Title = title + " — " + m.Label
		}
	}
	b.events = append(b.events, e)
}

// dated replaces "{by}" by the day of the market's close.
func dated(text string, closes time.Time) string {
	return strings.ReplaceAll(text, "{by}", closes.Format("2 January"))
}

// chosen replaces "{choice}" by the name of a choice.
func chosen(text, name string) string { return strings.ReplaceAll(text, "{choice}", name) }

// add appends a Yes/No market. It sets everything that doesn't depend on prices.
func (b *builder) add(category, question, criteria string, days, volume float64) *sampleMarket {
	rolls := dice("facts of " + question)
	m := &sampleMarket{key: question, pick: -1, ripple: dice("ripple of " + question)}
	m.Source, m.Sample, m.Active, m.Outcomes, m.topic = Source, true, true, yesNo(), category
	m.ClosesAt = b.now.Add(time.Duration(days * float64(day))).Truncate(time.Hour)
	if days > 0 || b.late {
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
	m.Question, m.Category, m.Tags = dated(question, m.ClosesAt), category, tags(category, question)
	m.Title, m.Slug = m.Question, slug(m.Question)
	m.Description = dated(criteria, m.ClosesAt) + " Sample market: nothing is traded on it."
	m.ResolutionSource = bodies[category]
	volume *= 0.9 + 0.2*rolls.Float64()
	liquidity := round(max(volume*(0.01+0.05*rolls.Float64()), leastLiquidity), 2)
	traded := round(volume*(0.005+0.02*rolls.Float64()), 2)
	volume = round(volume, 2)
	m.Volume, m.Volume24h, m.Liquidity = &volume, &traded, &liquidity
	b.markets = append(b.markets, m)
	return m
}

// tags returns the tags of a category, and sometimes an odd one. They have separate dice.
func tags(category, question string) []string {
	rolls := dice("tags of " + question)
	out := slices.Clone(topics[category])
	if rolls.Float64() < oddShare {
		out = append(out, one(oddTags, rolls))
	}
	return out
}

// oddShare is the share of markets with an odd tag.
const oddShare = 0.3

// slug returns text as a part of an address, cut at a word.
func slug(text string) string {
	words := strings.Fields(plaintext.Fold(text))
	n := 0
	end := slices.IndexFunc(words, func(w string) bool { n += len(w) + 1; return n > 64 })
	if end < 0 {
		end = len(words)
	}
	return strings.Join(words[:end], "-")
}
