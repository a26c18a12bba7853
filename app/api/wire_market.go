package api

import (
	"encoding/json"
	"math"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

// marketWire is MarketIntelligence of the contract. Every key is always present. null means unknown.
type marketWire struct {
	ID           string   `json:"id"`
	Question     string   `json:"question"`
	Title        string   `json:"title"`
	Slug         *string  `json:"slug"`
	Category     *string  `json:"category"`
	Probability  *float64 `json:"probability"`
	Price        *float64 `json:"price"`
	Volume       *float64 `json:"volume"`
	Liquidity    *float64 `json:"liquidity"`
	BestBid      *float64 `json:"bestBid"`
	BestAsk      *float64 `json:"bestAsk"`
	Volume24h    *float64 `json:"volume24h"`
	Change24h    *float64 `json:"priceChange24h"`
	Outcomes     []string `json:"outcomes"`
	EndDate      *string  `json:"endDate"`
	EndDateAlias *string  `json:"end_date"`
	Active       bool     `json:"active"`
	Closed       bool     `json:"closed"`
	URL          *string  `json:"url"`
	Image        *string  `json:"image"`
	Sample       bool     `json:"sample"`
	Tags         []string `json:"tags"`
	EventID      *string  `json:"eventId"`
}

func toMarketWire(m *market.Market) marketWire {
	ends := timeOrNull(m.ClosesAt)
	return marketWire{
		ID: m.ID, Question: m.Question, Title: m.Name(), Slug: textOrNull(m.Slug), Category: textOrNull(m.Category),
		Probability: fraction(m.Probability), Price: fraction(m.Price), Volume: amount(m.Volume), Liquidity: amount(m.Liquidity),
		BestBid: fraction(m.BestBid), BestAsk: fraction(m.BestAsk), Volume24h: amount(m.Volume24h), Change24h: change(m.PriceChange24h),
		Outcomes: orEmpty(m.Outcomes), EndDate: ends, EndDateAlias: ends, Active: m.Active, Closed: m.Closed,
		URL: textOrNull(m.URL), Image: textOrNull(m.ImageURL), Sample: m.Sample, Tags: orEmpty(m.Tags),
		EventID: textOrNull(m.EventID),
	}
}

// orEmpty returns a list that is never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// EncodeMarket appends a market as JSON.
func EncodeMarket(dst []byte, m *market.Market) []byte { return appendJSON(dst, toMarketWire(m)) }

// appendJSON appends v as JSON. It appends nothing if v can't be encoded, which leaves v out.
func appendJSON(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return dst
	}
	return append(dst, text...)
}

// textOrNull returns nil for an unknown text.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// timeOrNull returns nil for a time that is unknown or that RFC 3339 can't express.
func timeOrNull(t time.Time) *string {
	if t.IsZero() || t.UTC().Year() < 0 || t.UTC().Year() > 9999 {
		return nil
	}
	s := formatTime(t)
	return &s
}

// formatTime returns a time in RFC 3339, in UTC.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// fraction returns a probability, or nil if the number isn't one.
func fraction(p *float64) *float64 {
	if p == nil || !(*p >= 0 && *p <= 1) {
		return nil
	}
	return p
}

// change returns a difference of two probabilities, or nil if the number isn't one.
func change(d *float64) *float64 {
	if d == nil || !(*d >= -1 && *d <= 1) {
		return nil
	}
	return d
}

// amount returns a sum of money, or nil if the number isn't one.
func amount(v *float64) *float64 {
	if v == nil || !(*v >= 0) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}
