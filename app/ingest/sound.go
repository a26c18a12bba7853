package ingest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
)

// The reasons for dropping a record here. A client already drops records that its source got wrong. This last
// check makes sure that a record that the database can't store doesn't make the whole reading fail.
const (
	unsound      = "unsound"
	manyOutcomes = "many_outcomes"
	duplicate    = "duplicate"
)

// soundMarkets drops markets that can't be stored. The others have the time of the reading, or their own if it is earlier.
func soundMarkets(got source.Markets, at time.Time) ([]market.Market, source.Dropped) {
	dropped := count(got.Dropped)
	out := make([]market.Market, 0, len(got.Markets))
	seen := make(map[string]bool, len(got.Markets))
	for _, m := range got.Markets {
		if len(m.Outcomes) > market.MaxOutcomes {
			dropped[manyOutcomes]++
			continue
		}
		if !soundMarket(&m) {
			dropped[unsound]++
			continue
		}
		if seen[m.ID] {
			dropped[duplicate]++
			continue
		}
		seen[m.ID] = true
		m.ObservedAt = dated(m.ObservedAt, at)
		out = append(out, m)
	}
	return out, dropped
}

func soundMarket(m *market.Market) bool {
	texts := slices.Concat([]string{m.ID, m.Source, m.Question, m.Title, m.Slug, m.Category, m.URL, m.ImageURL, m.Description,
		m.ResolutionSource, m.EventID, m.EventTitle, m.EventSlug, m.Label, m.ConditionID, m.Resolution}, m.Outcomes, m.TokenIDs, m.Tags)
	for _, v := range []*float64{m.Probability, m.Price, m.Volume, m.Volume24h, m.Liquidity, m.PriceChange24h, m.EventPosition} {
		if v != nil && !finite(*v) {
			return false
		}
	}
	return m.ID != "" && m.Question != "" && storable(texts) && soundBook(m) && !slices.ContainsFunc(m.Prices, func(p float64) bool { return !(p >= 0 && p <= 1) }) &&
		datable(m.ClosesAt) && datable(m.ClosedAt)
}

// soundEvents drops events that can't be stored. It dates the others as soundMarkets does.
func soundEvents(got []market.Event, at time.Time) []market.Event {
	out := make([]market.Event, 0, len(got))
	for _, e := range got {
		texts := append([]string{e.ID, e.Slug, e.Title, e.URL, e.Description}, e.Tags...)
		amounts := (e.Volume == nil || finite(*e.Volume)) && (e.Volume24h == nil || finite(*e.Volume24h))
		if e.ID != "" && storable(texts) && amounts && datable(e.ClosesAt) {
			e.UpdatedAt = dated(e.UpdatedAt, at)
			out = append(out, e)
		}
	}
	return out
}

// soundBook reports whether bid and ask are both unknown, or 0 <= bid <= ask <= 1.
func soundBook(m *market.Market) bool {
	if m.BestBid == nil || m.BestAsk == nil {
		return m.BestBid == m.BestAsk
	}
	return 0 <= *m.BestBid && *m.BestBid <= *m.BestAsk && *m.BestAsk <= 1
}

// soundNews drops items that can't be stored. It dates the others as soundMarkets does: a source may return what it read
// before.
func soundNews(got source.News, at time.Time) ([]news.Item, source.Dropped) {
	dropped := count(got.Dropped)
	out := make([]news.Item, 0, len(got.Items))
	seen := make(map[string]bool, len(got.Items))
	for _, n := range got.Items {
		texts := []string{
			n.ID, n.Source, n.Community, n.Title, n.Summary, n.URL, n.Permalink, n.Author, n.Flair, n.Thumbnail,
		}
		if n.ID == "" || n.Title == "" || !slices.Contains(news.Communities, n.Community) || !storable(texts) || !datable(n.PostedAt) {
			dropped[unsound]++
			continue
		}
		if seen[n.ID] {
			dropped[duplicate]++
			continue
		}
		seen[n.ID] = true
		n.ObservedAt = dated(n.ObservedAt, at)
		out = append(out, n)
	}
	return out, dropped
}

func count(d source.Dropped) source.Dropped {
	out := maps.Clone(d)
	if out == nil {
		out = source.Dropped{}
	}
	return out
}

// storable reports whether both databases can store the texts. Neither accepts a NUL, and invalid UTF-8 would
// be changed.
func storable(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsRune(s, 0) || !utf8.ValidString(s) })
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// datable reports whether RFC 3339 can write the year. The zero time means unknown and is accepted.
func datable(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 }
