// Package market owns prediction markets: the model, the prices observed over
// time, and the rules that follow from them (which outcome a forecast is about,
// what a closed market says happened).
package market

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/uptrace/bun"
)

// Market is one question of an upstream prediction market as last observed.
// A string that is empty and a time that is zero are unknown and stored as NULL;
// so is a nil number.
type Market struct {
	bun.BaseModel `bun:"table:markets,alias:m"`

	// ID is the upstream's own id as text ("516938").
	ID string `bun:",pk"`
	// Source names the client that observed it: "polymarket", or "sample".
	Source   string
	Question string
	// Title is the question, or "event — choice" for one choice of a group.
	Title    string
	Slug     string `bun:",nullzero"`
	Category string `bun:",nullzero"` // one of Categories
	// Tags are the slugs of its tags and its event's, as TagSlugs writes them.
	Tags []string `bun:"type:json,nullzero"`

	// Outcomes are the names of the possible answers, in the upstream's order;
	// Prices are their probabilities, 0..1, in the same order, nil when unknown.
	Outcomes []string  `bun:"type:json"`
	Prices   []float64 `bun:"type:json,nullzero"`

	Probability *float64 // of "Yes", else of the first outcome; 0..1
	Price       *float64 // last trade of that outcome; 0..1
	Volume      *float64 // traded so far, in US dollars
	Liquidity   *float64 // resting in the book, in US dollars

	// BestBid and BestAsk are the book of the first outcome, 0..1, with 0 for no bids
	// and 1 for no asks. Both are nil when no book is known.
	BestBid *float64
	BestAsk *float64

	Volume24h      *float64 `bun:"volume_24h"`       // traded in the last 24 hours, in US dollars
	PriceChange24h *float64 `bun:"price_change_24h"` // of the first outcome in the last 24 hours, -1..1

	ClosesAt time.Time `bun:",nullzero"` // scheduled, by the upstream
	ClosedAt time.Time `bun:",nullzero"` // when it really closed
	Active   bool
	Closed   bool

	URL      string `bun:",nullzero"` // the public page
	ImageURL string `bun:",nullzero"`

	// Description and ResolutionSource are the criteria it settles by.
	Description      string `bun:",nullzero"`
	ResolutionSource string `bun:",nullzero"`

	// EventID groups sibling markets; empty when the market stands alone.
	EventID    string `bun:",nullzero"`
	EventTitle string `bun:",nullzero"`
	EventSlug  string `bun:",nullzero"`
	// EventPosition orders the markets of an event as the upstream shows them; nil if it
	// gives no order.
	EventPosition *float64
	// Label names the market among those of its event ("Buffalo", "↑ $90,000"); empty if the
	// upstream gives none.
	Label string `bun:",nullzero"`

	ConditionID string   `bun:",nullzero"` // key of the order book's own record
	TokenIDs    []string `bun:"token_ids,type:json,nullzero"`
	Scalar      bool     // settles at a fraction
	// Resolution is the upstream's stage: "", "proposed", "disputed" or "resolved".
	Resolution string `bun:",nullzero"`

	// MatchKey is QuestionKey(Question), for linking forecasts by title.
	MatchKey string

	FirstSeenAt time.Time
	ObservedAt  time.Time // of the last tick that saw it
	Sample      bool

	// Received is the SHA-256 in hex of the answer that a reading came in; "" if no answer brought it.
	Received string `bun:"-" json:"-"`
}

// YesIndex is the position of the outcome named "Yes" (any case), or -1.
func (m *Market) YesIndex() int { return m.OutcomeIndex("yes") }

// OutcomeIndex is the position of the named outcome, ignoring case and outer
// white space, or -1.
func (m *Market) OutcomeIndex(name string) int {
	name = strings.TrimSpace(name)
	for i, o := range m.Outcomes {
		if strings.EqualFold(strings.TrimSpace(o), name) {
			return i
		}
	}
	return -1
}

// PriceOf is the last observed probability of outcome i, if known.
func (m *Market) PriceOf(i int) (float64, bool) {
	if i < 0 || i >= len(m.Prices) || len(m.Prices) != len(m.Outcomes) {
		return 0, false
	}
	return m.Prices[i], true
}

// AwaitsResult reports whether the scheduled close is past and the market is still open: it
// trades on what is known of the result, or waits for the upstream to settle it.
func (m *Market) AwaitsResult(now time.Time) bool {
	return !m.Closed && !m.ClosesAt.IsZero() && !m.ClosesAt.After(now)
}

// Spread is the distance from the best bid to the best ask, 0..1; known is false without a
// book.
func (m *Market) Spread() (spread float64, known bool) {
	if m.BestBid == nil || m.BestAsk == nil {
		return 0, false
	}
	return *m.BestAsk - *m.BestBid, true
}

// EventKey returns the event key of the markets of an upstream event.
func EventKey(eventID string) string { return eventPrefix + eventID }

// EventID returns the upstream event of an event key, "" for a market that stands alone.
func EventID(key string) string {
	id, grouped := strings.CutPrefix(key, eventPrefix)
	if !grouped {
		return ""
	}
	return id
}

// What event keys begin with: those of upstream events, and of markets that stand alone.
const (
	eventPrefix = "e:"
	alonePrefix = "m:"
)

// EventKeySQL is EventKey as an SQL expression over markets AS m.
const EventKeySQL = "COALESCE('" + eventPrefix + "' || m.event_id, '" + alonePrefix + "' || m.id)"

// EventKey is what clusters predictions: the upstream event, else the market itself.
func (m *Market) EventKey() string {
	if m.EventID != "" {
		return eventPrefix + m.EventID
	}
	return alonePrefix + m.ID
}

// QuestionKey folds a question for comparison: lower-case letters and digits,
// runs of anything else one space.
func QuestionKey(question string) string {
	var b strings.Builder
	gap := false
	for _, r := range question {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// ShortName names the market among those of its event: its label, else its title without the
// event's, else the title.
func (m *Market) ShortName() string {
	if m.Label != "" {
		return m.Label
	}
	title := cmp.Or(m.Title, m.Question)
	if rest, cut := strings.CutPrefix(title, m.EventTitle+" — "); cut && m.EventTitle != "" && rest != "" {
		return rest
	}
	return title
}
