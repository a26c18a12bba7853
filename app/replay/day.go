package replay

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// day is a sealed day in memory. Its lists are in the order of observation.
type day struct {
	manifest *archive.Manifest
	name     string
	facts    map[string][]archive.MarketRow
	events   map[string][]archive.EventRow
	prices   map[string]*series
	closings map[string][]archive.ClosingRow
	outcomes []archive.OutcomeRow
	rules    *archive.RuleRow // nil if the day has none
	news     map[string][]news.Item
}

// readDay checks the hash of each file of a day and reads its observed tables.
func readDay(ctx context.Context, s archive.Storage, sealed *archive.Day) (*day, error) {
	if err := checkFiles(ctx, s, sealed.Manifest); err != nil {
		return nil, err
	}
	d := &day{
		manifest: sealed.Manifest, name: sealed.Manifest.Day, facts: map[string][]archive.MarketRow{}, events: map[string][]archive.EventRow{},
		prices: map[string]*series{}, closings: map[string][]archive.ClosingRow{}, news: map[string][]news.Item{},
	}
	var err error
	if d.rules, err = sealed.Rules(ctx); err != nil {
		return nil, err
	}
	if err := d.readMarkets(ctx, sealed); err != nil {
		return nil, err
	}
	return d, d.readNews(ctx, sealed)
}

// checkFiles compares the files that a replay reads with the hashes in the manifest.
func checkFiles(ctx context.Context, s archive.Storage, m *archive.Manifest) error {
	for _, table := range []string{archive.Markets, archive.Events, archive.Prices, archive.Closings, archive.Outcomes, archive.News, archive.Rules} {
		for _, f := range m.Of(table) {
			name := archive.Path(m.Day, f.Name)
			content, err := archive.ReadObject(ctx, s, name)
			if err != nil {
				return err
			}
			if archive.Hash(content) != f.SHA256 {
				return fmt.Errorf("%s: the file was changed after it was sealed: its SHA-256 differs from the manifest's", name)
			}
		}
	}
	return nil
}

func (d *day) readMarkets(ctx context.Context, sealed *archive.Day) error {
	for row, err := range archive.Rows[archive.MarketRow](ctx, sealed, archive.Markets) {
		if err != nil {
			return err
		}
		d.facts[row.Market] = append(d.facts[row.Market], row)
	}
	for row, err := range archive.Rows[archive.EventRow](ctx, sealed, archive.Events) {
		if err != nil {
			return err
		}
		d.events[row.Event] = append(d.events[row.Event], row)
	}
	for row, err := range archive.Rows[archive.PriceRow](ctx, sealed, archive.Prices) {
		if err != nil {
			return err
		}
		if d.prices[row.Market] == nil {
			d.prices[row.Market] = &series{}
		}
		d.prices[row.Market].add(&row)
	}
	for row, err := range archive.Rows[archive.ClosingRow](ctx, sealed, archive.Closings) {
		if err != nil {
			return err
		}
		d.closings[row.Market] = append(d.closings[row.Market], row)
	}
	for row, err := range archive.Rows[archive.OutcomeRow](ctx, sealed, archive.Outcomes) {
		if err != nil {
			return err
		}
		d.outcomes = append(d.outcomes, row)
	}
	sortByTime(d.facts, func(r archive.MarketRow) time.Time { return r.ObservedAt })
	sortByTime(d.events, func(r archive.EventRow) time.Time { return r.ObservedAt })
	sortByTime(d.closings, func(r archive.ClosingRow) time.Time { return r.ObservedAt })
	for _, s := range d.prices {
		s.sort()
	}
	return nil
}

func sortByTime[T any](lists map[string][]T, at func(T) time.Time) {
	for _, list := range lists {
		slices.SortStableFunc(list, func(a, b T) int { return at(a).Compare(at(b)) })
	}
}

// readNews reads the news items with their texts. It skips items whose texts were erased or
// withheld.
func (d *day) readNews(ctx context.Context, sealed *archive.Day) error {
	texts := map[string]archive.NewsTexts{}
	for row, err := range archive.TextRows(ctx, sealed, archive.News) {
		if err != nil {
			return err
		}
		var t archive.NewsTexts
		if err := json.Unmarshal(row.Content, &t); err != nil {
			return fmt.Errorf("the texts of %s on %s: %w", row.Record, d.name, err)
		}
		texts[hex.EncodeToString(archive.TextHash(row.Salt, row.Content))] = t
	}
	for row, err := range archive.Rows[archive.NewsRow](ctx, sealed, archive.News) {
		if err != nil {
			return err
		}
		if t, ok := texts[hex.EncodeToString(row.Texts)]; ok {
			d.news[row.Item] = append(d.news[row.Item], newsItem(&row, &t))
		}
	}
	sortByTime(d.news, func(i news.Item) time.Time { return i.ObservedAt })
	return nil
}

func newsItem(row *archive.NewsRow, t *archive.NewsTexts) news.Item {
	return news.Item{
		ID: row.Item, Source: row.Source, Community: row.Community, Title: t.Title, Summary: t.Summary, Score: int(row.Score),
		Comments: int(row.Comments), ScoreKnown: row.ScoreKnown, URL: t.URL, Permalink: t.Permalink, Author: t.Author,
		PostedAt: row.PostedAt.UTC(), SelfPost: row.SelfPost, Flair: t.Flair, Thumbnail: t.Thumbnail, Position: int(row.Position),
		ObservedAt: row.ObservedAt.UTC(), Sample: row.Sample,
	}
}

// settings returns the settings of the service that recorded the day, as far as baselines depend on them. The others,
// and those that the day doesn't have, are the local ones.
func (d *day) settings(local config.Config) config.Config {
	if d != nil && d.rules != nil {
		local.MarketsInterval, local.RankedMinLiquidity = d.rules.Interval(), int(d.rules.MinLiquidity)
	}
	return local
}

// digest returns the part of a day that a world of a later day needs: each market's first price of
// each hour and last price, and the last row of each event and news item.
func (d *day) digest() *day {
	out := &day{
		manifest: d.manifest, name: d.name, rules: d.rules, facts: d.facts, events: lasts(d.events), closings: d.closings, news: lasts(d.news),
		prices: make(map[string]*series, len(d.prices)),
	}
	for id, s := range d.prices {
		out.prices[id] = s.hourly()
	}
	return out
}

func lasts[T any](lists map[string][]T) map[string][]T {
	out := make(map[string][]T, len(lists))
	for id, list := range lists {
		out[id] = list[len(list)-1:]
	}
	return out
}

// series holds the prices of a market in a compact form, because a day of a live archive has
// hundreds of thousands of readings.
type series struct {
	sample bool
	source string
	at     []int64 // in microseconds
	end    []int   // where each row ends in prices
	prices []float64
	rest   []quote
}

// quote holds the other numbers of a reading.
type quote struct {
	price, bid, ask, liquidity, volume, volume24h, change24h number
}

// number is a number that may be unknown. It needs less memory than a pointer.
type number struct {
	v     float64
	known bool
}

func numberOf(v *float64) number {
	if v == nil {
		return number{}
	}
	return number{*v, true}
}

func (n number) pointer() *float64 {
	if !n.known {
		return nil
	}
	return &n.v
}

func (s *series) add(r *archive.PriceRow) {
	s.sample, s.source = r.Sample, r.Source
	s.at = append(s.at, r.ObservedAt.UnixMicro())
	s.prices = append(s.prices, r.Prices...)
	s.end = append(s.end, len(s.prices))
	s.rest = append(s.rest, quote{
		numberOf(r.Price), numberOf(r.BestBid), numberOf(r.BestAsk), numberOf(r.Liquidity), numberOf(r.Volume), numberOf(r.Volume24h),
		numberOf(r.PriceChange24h),
	})
}

func (s *series) len() int { return len(s.at) }

func (s *series) time(i int) time.Time { return time.UnixMicro(s.at[i]).UTC() }

// pricesAt returns the prices of row i.
func (s *series) pricesAt(i int) []float64 {
	from := 0
	if i > 0 {
		from = s.end[i-1]
	}
	return s.prices[from:s.end[i]:s.end[i]]
}

// sort sorts the rows by time. An archive's rows are sorted already, unless a clock was set back.
func (s *series) sort() {
	if slices.IsSorted(s.at) {
		return
	}
	order := make([]int, len(s.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.at[a], s.at[b]) })
	*s = s.pick(order)
}

func (s *series) pick(rows []int) series {
	out := series{sample: s.sample, source: s.source}
	for _, i := range rows {
		out.at, out.rest = append(out.at, s.at[i]), append(out.rest, s.rest[i])
		out.prices = append(out.prices, s.pricesAt(i)...)
		out.end = append(out.end, len(out.prices))
	}
	return out
}

func (s *series) hourly() *series {
	var rows []int
	for i := range s.at {
		first := i == 0 || s.at[i]/time.Hour.Microseconds() != s.at[i-1]/time.Hour.Microseconds()
		if first || i == len(s.at)-1 {
			rows = append(rows, i)
		}
	}
	out := s.pick(rows)
	return &out
}

// upTo returns how many rows were observed up to a moment.
func (s *series) upTo(at time.Time) int {
	if s == nil {
		return 0
	}
	n, _ := slices.BinarySearch(s.at, at.UnixMicro()+1)
	return n
}

// price returns row i as a row of price history. ok is false if it has no price.
func (s *series) price(marketID string, i int) (p market.Price, ok bool) {
	prices, q := s.pricesAt(i), &s.rest[i]
	return market.Price{
		MarketID: marketID, ObservedAt: s.time(i), Prices: prices, BestBid: q.bid.pointer(), BestAsk: q.ask.pointer(),
		Liquidity: q.liquidity.pointer(), Volume: q.volume.pointer(),
	}, len(prices) > 0
}
