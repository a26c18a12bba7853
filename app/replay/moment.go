package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source/upstream"
)

const (
	// The price history in a world has every reading of the last hour, the first of each hour of
	// the last two days, and before that the first of each six hours.
	everyReadingFor = time.Hour
	hourlyFor       = 48 * time.Hour
	thereafter      = 6 * time.Hour
	// shownFor is how long after its last change an item is in the news feed. perCommunity is how
	// many items of one community the feed has at most.
	shownFor     = 24 * time.Hour
	perCommunity = 100
)

// Filter selects the markets of a run. Zero fields select all.
type Filter struct {
	Category string   `json:"category,omitempty"`
	Tag      string   `json:"tag,omitempty"`
	Q        string   `json:"q,omitempty"` // each word must begin a word of the question or title, as in the lists of markets
	IDs      []string `json:"ids,omitempty"`
}

func (f *Filter) matches(m *market.Market) bool {
	switch {
	case f.Category != "" && m.Category != f.Category,
		f.Tag != "" && !slices.Contains(m.Tags, f.Tag),
		len(f.IDs) > 0 && !slices.Contains(f.IDs, m.ID):
		return false
	}
	if f.Q == "" {
		return true
	}
	text := m.SearchableText()
	for word := range strings.FieldsSeq(plaintext.Fold(f.Q)) {
		if !plaintext.HasWord(text, word) {
			return false
		}
	}
	return true
}

// moment is what was known at a time T.
type moment struct {
	at      time.Time
	markets []market.Market // open markets
	events  []market.Event
	history []market.Price
	news    []news.Item
	// sampleMarkets and sampleNews report whether the data is sample data.
	sampleMarkets, sampleNews bool
}

// At returns what was known at a moment. It returns a not_found error if the archive has no such
// day.
func (t *Tape) At(ctx context.Context, at time.Time, filter *Filter) (*moment, error) {
	today, err := t.day(ctx, archive.DayOf(at))
	if err != nil {
		return nil, err
	}
	if today == nil {
		return nil, problem.New(problem.CodeNotFound, fmt.Sprintf("The archive doesn't have the day %s. Ask for a moment of another day.", archive.DayOf(at)))
	}
	days, err := t.before(ctx, at, lookBack)
	if err != nil {
		return nil, err
	}
	m := &moment{at: at}
	m.addMarkets(append(days, today), filter)
	m.addEvents(append(days, today))
	m.addNews(append(days, today))
	return m, nil
}

// addMarkets adds the markets that were open at the moment, with their prices.
func (m *moment) addMarkets(days []*day, filter *Filter) {
	ids := map[string]bool{}
	for _, d := range days {
		for id := range d.prices {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		one, ok := m.marketAt(days, id)
		if !ok || !filter.matches(&one) {
			continue
		}
		m.markets = append(m.markets, one)
		m.sampleMarkets = m.sampleMarkets || one.Sample
		m.history = append(m.history, m.historyOf(days, id)...)
	}
}

// marketAt returns a market as last read up to the moment. ok is false if it wasn't open then.
func (m *moment) marketAt(days []*day, id string) (one market.Market, ok bool) {
	for _, d := range days {
		for i := range d.facts[id] {
			if row := &d.facts[id][i]; !row.ObservedAt.After(m.at) {
				factsOf(&one, row)
			}
		}
	}
	last, row := m.lastPrice(days, id)
	if one.ID == "" || last == nil || m.at.Sub(last.time(row)) > unseenFor || m.closedSince(days, id, last.time(row)) {
		return one, false
	}
	priced(&one, last, row)
	one.FirstSeenAt = firstSeen(days, id)
	return one, true
}

// lastPrice returns the series and row of a market's last reading up to the moment, or nil if there
// is none.
func (m *moment) lastPrice(days []*day, id string) (*series, int) {
	for _, d := range slices.Backward(days) {
		if n := d.prices[id].upTo(m.at); n > 0 {
			return d.prices[id], n - 1
		}
	}
	return nil, 0
}

// closedSince reports whether the market was seen closed between from and the moment.
func (m *moment) closedSince(days []*day, id string, from time.Time) bool {
	for _, d := range days {
		for i := range d.closings[id] {
			if at := d.closings[id][i].ObservedAt; !at.Before(from) && !at.After(m.at) {
				return true
			}
		}
	}
	return false
}

func firstSeen(days []*day, id string) time.Time {
	for _, d := range days {
		if s := d.prices[id]; s != nil {
			return s.time(0)
		}
	}
	return time.Time{}
}

// factsOf copies the facts of a row to a market. Missing slow facts keep their old values, as in
// market.Store.Observe.
func factsOf(m *market.Market, r *archive.MarketRow) {
	m.ID, m.Source, m.Question, m.Title, m.Outcomes = r.Market, r.Source, r.Question, r.Title, r.Outcomes
	m.Active, m.Scalar, m.Resolution, m.Sample = r.Active, r.Scalar, r.Resolution, r.Sample
	for _, f := range []struct {
		to  *string
		now string
	}{
		{&m.Slug, r.Slug}, {&m.Category, r.Category}, {&m.URL, r.URL}, {&m.ImageURL, r.ImageURL}, {&m.Description, r.Description},
		{&m.ResolutionSource, r.ResolutionSource}, {&m.EventID, r.Event}, {&m.EventTitle, r.EventTitle}, {&m.EventSlug, r.EventSlug},
		{&m.Label, r.Label}, {&m.ConditionID, r.ConditionID},
	} {
		*f.to = cmp.Or(f.now, *f.to)
	}
	m.EventPosition = cmp.Or(r.EventPosition, m.EventPosition)
	if r.ClosesAt != nil {
		m.ClosesAt = r.ClosesAt.UTC()
	}
	if len(r.Tags) > 0 {
		m.Tags = r.Tags
	}
	if len(r.TokenIDs) > 0 {
		m.TokenIDs = r.TokenIDs
	}
}

// priced copies a reading to a market.
func priced(m *market.Market, s *series, row int) {
	q := &s.rest[row]
	m.ObservedAt, m.Prices = s.time(row), nil
	if prices := s.pricesAt(row); len(prices) > 0 {
		m.Prices = slices.Clone(prices)
	}
	if p, known := m.PriceOf(m.Reference()); known {
		m.Probability = &p
	}
	m.Price, m.BestBid, m.BestAsk = q.price.pointer(), q.bid.pointer(), q.ask.pointer()
	m.Liquidity, m.Volume, m.Volume24h, m.PriceChange24h = q.liquidity.pointer(), q.volume.pointer(), q.volume24h.pointer(), q.change24h.pointer()
}

// historyOf returns the price history of a market in a world.
func (m *moment) historyOf(days []*day, id string) []market.Price {
	var out []market.Price
	var last time.Time // start of the latest window that has a row
	for _, d := range days {
		s := d.prices[id]
		for i := range s.upTo(m.at) {
			at := s.time(i)
			window := time.Hour
			switch age := m.at.Sub(at); {
			case age <= everyReadingFor:
				window = time.Microsecond
			case age > hourlyFor:
				window = thereafter
			}
			if begin := at.Truncate(window); begin.After(last) {
				last = begin
				if p, ok := s.price(id, i); ok {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// addEvents adds the events of the markets.
func (m *moment) addEvents(days []*day) {
	wanted := map[string]bool{}
	for i := range m.markets {
		wanted[m.markets[i].EventID] = true
	}
	latest := map[string]*archive.EventRow{}
	for _, d := range days {
		for id, rows := range d.events {
			for i := range rows {
				if wanted[id] && !rows[i].ObservedAt.After(m.at) {
					latest[id] = &rows[i]
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(latest)) {
		m.events = append(m.events, eventOf(latest[id]))
	}
}

func eventOf(r *archive.EventRow) market.Event {
	e := market.Event{
		ID: r.Event, Slug: r.Slug, Title: r.Title, URL: r.URL, Description: r.Description, Volume: r.Volume, Volume24h: r.Volume24h,
		Exclusive: r.Exclusive, ByPrice: r.ByPrice, Tags: r.Tags, TagsKnown: len(r.Tags) > 0, UpdatedAt: r.ObservedAt.UTC(),
	}
	if r.ClosesAt != nil {
		e.ClosesAt = r.ClosesAt.UTC()
	}
	return e
}

// addNews adds each item as last read up to the moment.
func (m *moment) addNews(days []*day) {
	latest := map[string]*news.Item{}
	for _, d := range days {
		for id, rows := range d.news {
			for i := range rows {
				if !rows[i].ObservedAt.After(m.at) {
					latest[id] = &rows[i]
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(latest)) {
		m.news = append(m.news, *latest[id])
		m.sampleNews = m.sampleNews || latest[id].Sample
	}
}

// feed returns the news feed at the moment: the items that changed within the last day. They are
// from the most preferred source that has any.
func (m *moment) feed() []news.Item {
	fresh := slices.DeleteFunc(slices.Clone(m.news), func(i news.Item) bool { return m.at.Sub(i.ObservedAt) > shownFor })
	for _, name := range upstream.NewsSources {
		of := func(i news.Item) bool { return i.Source == name }
		if slices.ContainsFunc(fresh, of) {
			fresh = slices.DeleteFunc(fresh, func(i news.Item) bool { return !of(i) })
			break
		}
	}
	count := map[string]int{}
	return slices.DeleteFunc(news.RoundRobin(fresh), func(i news.Item) bool {
		count[i.Community]++
		return count[i.Community] > perCommunity
	})
}

// marketsAt returns when markets were last read up to the moment.
func (m *moment) marketsAt() (last time.Time) {
	for i := range m.markets {
		if at := m.markets[i].ObservedAt; at.After(last) {
			last = at
		}
	}
	return last
}

// newsReading returns the feed of news with the source of its items. If the feed is empty, the source
// is the one that was read last. ok is false if there was no news yet.
func (m *moment) newsReading() (r signal.Reading[news.Item], ok bool) {
	var last *news.Item
	for i := range m.news {
		if last == nil || m.news[i].ObservedAt.After(last.ObservedAt) {
			last = &m.news[i]
		}
	}
	if last == nil {
		return r, false
	}
	r = signal.Reading[news.Item]{Records: m.feed(), AsOf: last.ObservedAt, Source: last.Source, Sample: m.sampleNews}
	if len(r.Records) > 0 {
		r.Source = r.Records[0].Source
	}
	return r, true
}
