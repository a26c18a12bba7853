// Package market owns prediction markets: the model, the prices observed over time, and the rules that follow
// from them, such as the outcome that a prediction is about and the result of a closed market.
package market

import (
	"cmp"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// MaxOutcomes is the largest number of outcomes of a market. Each list, price and snapshot holds all of them.
const MaxOutcomes = 100

// Market is one question of an upstream prediction market, as last observed. An empty string, a zero time and a
// nil number mean unknown. They are stored as NULL.
type Market struct {
	bun.BaseModel `bun:"table:markets,alias:m"`

	// ID is the source's id as text ("516938").
	ID string `bun:",pk"`
	// Source names the source that it was read from: "polymarket", or "sample".
	Source   string
	Question string
	// Title is the question. For one choice of a group it is "event — choice".
	Title    string
	Slug     string `bun:",nullzero"`
	Category string `bun:",nullzero"` // one of Categories
	// Tags are the slugs of the market's tags and of its event's tags, as TagSlugs writes them.
	Tags []string `bun:"type:json,nullzero"`

	// Outcomes are the names of the possible answers. Their order is that of the source, and stays if the source
	// changes it later; see Store.KeepOrder. Prices are their probabilities, 0..1, in the same order, and nil if
	// unknown.
	Outcomes []string  `bun:"type:json"`
	Prices   []float64 `bun:"type:json,nullzero"`

	Probability *float64 // of "Yes", else of the first outcome; 0..1
	Price       *float64 // of the last trade of that outcome; 0..1
	Volume      *float64 // so far, in US dollars
	Liquidity   *float64 // in the book, in US dollars

	// BestBid and BestAsk are the book of the first outcome, 0..1. Without bids BestBid is 0, and without asks
	// BestAsk is 1. Both are nil if no book is known.
	BestBid *float64
	BestAsk *float64

	Volume24h      *float64 `bun:"volume_24h"`       // traded in the last 24 hours, in US dollars
	PriceChange24h *float64 `bun:"price_change_24h"` // change of the first outcome's price in the last 24 hours, -1..1

	ClosesAt time.Time `bun:",nullzero"` // scheduled close
	ClosedAt time.Time `bun:",nullzero"` // actual close
	Active   bool
	Closed   bool

	URL      string `bun:",nullzero"` // the public page
	ImageURL string `bun:",nullzero"`

	// Description and ResolutionSource say how it settles.
	Description      string `bun:",nullzero"`
	ResolutionSource string `bun:",nullzero"`

	// EventID groups sibling markets. It is empty if the market stands alone.
	EventID    string `bun:",nullzero"`
	EventTitle string `bun:",nullzero"`
	EventSlug  string `bun:",nullzero"`
	// EventPosition is the source's order of the markets of an event, nil if it gives none.
	EventPosition *float64
	// Label is the market's short name within its event ("Buffalo", "↑ $90,000"), empty if the source gives
	// none.
	Label string `bun:",nullzero"`

	ConditionID string   `bun:",nullzero"` // identifies the market in the order book
	TokenIDs    []string `bun:"token_ids,type:json,nullzero"`
	Scalar      bool     // can settle at a fraction
	// ScalarUnknown says that the reading leaves out Scalar; see KeepScalar.
	ScalarUnknown bool `bun:"-" json:"-"`
	// Resolution is the source's stage: "", "proposed", "disputed" or "resolved".
	Resolution string `bun:",nullzero"`

	// MatchKey is QuestionKey(Question), for linking predictions by title. It is empty if it would be too long.
	MatchKey string
	// SearchText is what a search for markets looks at: plaintext.Fold of the question and the title.
	SearchText string
	// EventSearchText is plaintext.Fold of the event's title. A search for events looks at it too.
	EventSearchText string `bun:",nullzero"`

	FirstSeenAt time.Time
	ObservedAt  time.Time // time of the last tick that saw it
	// MissedAt is when the source left it out of an answer by id since then, zero if it didn't; see Missed.
	MissedAt time.Time `bun:",nullzero" json:"-"`
	Sample   bool

	// Received is the SHA-256, in hex, of the response that contained this reading, or "" if it didn't come in
	// a response.
	Received string `bun:"-" json:"-"`
}

// YesIndex returns the index of the outcome named "Yes", in any letter case, or -1.
func (m *Market) YesIndex() int { return m.OutcomeIndex("yes") }

// OutcomeIndex returns the index of the named outcome, or -1. It ignores letter case and outer white space.
func (m *Market) OutcomeIndex(name string) int {
	name = strings.TrimSpace(name)
	for i, o := range m.Outcomes {
		if strings.EqualFold(strings.TrimSpace(o), name) {
			return i
		}
	}
	return -1
}

// PriceOf returns the last observed probability of outcome i. The bool is false if it is unknown.
func (m *Market) PriceOf(i int) (float64, bool) {
	if i < 0 || i >= len(m.Prices) || len(m.Prices) != len(m.Outcomes) {
		return 0, false
	}
	return m.Prices[i], true
}

// AwaitsResult reports whether the market is still open after its scheduled close. Until the source settles it,
// it may trade on what is known of the result.
func (m *Market) AwaitsResult(now time.Time) bool {
	return !m.Closed && !m.ClosesAt.IsZero() && !m.ClosesAt.After(now)
}

// Spread returns the distance from the best bid to the best ask, 0..1. known is false if no book is known.
func (m *Market) Spread() (spread float64, known bool) {
	if m.BestBid == nil || m.BestAsk == nil {
		return 0, false
	}
	return *m.BestAsk - *m.BestBid, true
}

// EventKey returns the event key of the markets of an upstream event.
func EventKey(eventID string) string { return eventPrefix + eventID }

// EventID returns the id of the upstream event of an event key, or "" for a market that stands alone.
func EventID(key string) string {
	id, grouped := strings.CutPrefix(key, eventPrefix)
	if !grouped {
		return ""
	}
	return id
}

// Prefixes of event keys: of an upstream event, and of a market that stands alone.
const (
	eventPrefix = "e:"
	alonePrefix = "m:"
)

// EventKey returns the key that groups predictions into clusters: the upstream event, else the market itself.
func (m *Market) EventKey() string {
	if m.EventID != "" {
		return eventPrefix + m.EventID
	}
	return alonePrefix + m.ID
}

// SearchableText returns the value of SearchText.
func (m *Market) SearchableText() string { return plaintext.Fold(m.Question + " " + m.Title) }

// Name returns the title, else the question.
func (m *Market) Name() string { return cmp.Or(m.Title, m.Question) }

// ChangeOf returns how far the price of outcome i moved in 24 hours, -1..1, or nil if unknown. The second of two outcomes
// moved by as much as the first, the other way.
func (m *Market) ChangeOf(i int) *float64 {
	switch {
	case m.PriceChange24h == nil || i == 0:
		return m.PriceChange24h
	case i == 1 && len(m.Outcomes) == 2:
		return new(0 - *m.PriceChange24h)
	}
	return nil
}

// ShortName returns the market's name within its event: its label, else its title without the event's title,
// else the title.
func (m *Market) ShortName() string {
	if m.Label != "" {
		return m.Label
	}
	if rest, cut := strings.CutPrefix(m.Name(), m.EventTitle+" — "); cut && m.EventTitle != "" && rest != "" {
		return rest
	}
	return m.Name()
}
