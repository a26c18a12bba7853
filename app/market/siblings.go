package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// maxSiblings is how many markets of one event are read.
const maxSiblings = 2000

// Siblings summarises the markets of an event.
type Siblings struct {
	// IDs of the markets, open ones first, each in the source's order, or by probability if the source gives
	// none.
	IDs []string
	// Markets are all of them in the order of IDs. They have only the columns that order them and that an event
	// without a title, a category or tags takes from them.
	Markets []Market
	placed  bool // in the source's order
	// Likeliest are the ids of the open markets with the highest probabilities, highest first, at most five.
	Likeliest []string
	Open      int
	// Sum is the sum of the probabilities of the open markets, nil if none is known. If exactly one market can
	// settle at Yes, it is 1 plus the overround.
	Sum *float64
	// Volume is the sum of the known volumes, in US dollars; nil if none is known.
	Volume   *float64
	ClosesAt time.Time // the latest scheduled close; zero if unknown
}

// Siblings reads a summary of an event's markets. It reads at most 2,000 of them.
func (Store) Siblings(ctx context.Context, db bun.IDB, e *Event) (*Siblings, error) {
	columns := []string{"id", "event_position", "probability", "volume", "closes_at", "active", "closed", "category", "sample"}
	if e.Title == "" {
		columns = append(columns, "title", "question")
	}
	if len(e.Tags) == 0 {
		columns = append(columns, "tags")
	}
	var markets []Market
	err := db.NewSelect().Model(&markets).Column(columns...).
		Where("m.event_id = ?", e.ID).OrderExpr("m.closed, COALESCE(m.volume, -1) DESC, m.id").Limit(maxSiblings).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the markets of an event: %w", err)
	}
	s := &Siblings{Markets: inUTC(markets), placed: !e.ByPrice && hasPositions(markets)}
	slices.SortFunc(markets, func(a, b Market) int { return placeOf(&a).compare(placeOf(&b), s.placed) })
	s.IDs = ids(markets)
	for i := range markets {
		m := &markets[i]
		if m.Volume != nil {
			s.Volume = plus(s.Volume, *m.Volume)
		}
		if m.ClosesAt.After(s.ClosesAt) {
			s.ClosesAt = m.ClosesAt
		}
		if m.Closed || !m.Active {
			continue
		}
		s.Open++
		if m.Probability != nil {
			s.Sum = plus(s.Sum, *m.Probability)
		}
	}
	s.Likeliest = likeliestOf(markets)
	return s, nil
}

// maxLikeliest is how many ids Likeliest holds.
const maxLikeliest = 5

// likeliestOf returns the ids of the open markets with the highest probabilities.
func likeliestOf(markets []Market) []string {
	open := slices.DeleteFunc(slices.Clone(markets), func(m Market) bool { return m.Closed || !m.Active })
	slices.SortStableFunc(open, func(a, b Market) int { return cmp.Compare(orLess(b.Probability), orLess(a.Probability)) })
	return ids(open[:min(len(open), maxLikeliest)])
}

// Page returns at most limit ids after a place, the index of the first one, and the cursor of the next page. The cursor
// is "" on the last page. A market that moves between two requests can be on both pages or on neither.
func (s *Siblings) Page(after Place, limit int) (ids []string, from int, next string) {
	if after != (Place{}) {
		from = slices.IndexFunc(s.Markets, func(m Market) bool { return after.compare(placeOf(&m), s.placed) < 0 })
		if from < 0 {
			from = len(s.IDs)
		}
	}
	to := min(from+limit, len(s.IDs))
	if to < len(s.IDs) {
		next = placeOf(&s.Markets[to-1]).cursor()
	}
	return s.IDs[from:to], from, next
}

// Place is the place of a market among its siblings. The zero Place is before all markets.
type Place struct {
	ID                    string
	Closed                bool
	Position, Probability float64 // -1 if unknown
}

func placeOf(m *Market) Place {
	return Place{m.ID, m.Closed, orLess(m.EventPosition), orLess(m.Probability)}
}

// compare returns -1 if a comes before b: open markets first, then by the source's positions or else by probability,
// highest first. Ties are ordered by id.
func (a Place) compare(b Place, placed bool) int {
	by := cmp.Compare(b.Probability, a.Probability)
	if placed {
		by = cmp.Compare(a.Position, b.Position)
	}
	switch {
	case a.Closed && !b.Closed:
		by = 1
	case b.Closed && !a.Closed:
		by = -1
	}
	return cmp.Or(by, strings.Compare(a.ID, b.ID))
}

// placeMark begins the cursor of a Place.
const placeMark = "sibling"

func (a Place) cursor() string {
	return cursor.Encode(placeMark, strconv.FormatBool(a.Closed), formatNumber(a.Position), formatNumber(a.Probability), a.ID)
}

// ParsePlace returns the place that a cursor of Page names, and the zero Place for "".
func ParsePlace(text string) (Place, error) {
	if text == "" {
		return Place{}, nil
	}
	parts, err := cursor.Decode(text, 5)
	if err != nil || parts[0] != placeMark || parts[4] == "" || plaintext.Check(parts[4], false) != "" {
		return Place{}, cursor.Invalid()
	}
	a := Place{ID: parts[4]}
	if a.Closed, err = strconv.ParseBool(parts[1]); err != nil {
		return Place{}, cursor.Invalid()
	}
	if a.Position, err = readNumber(parts[2]); err != nil {
		return Place{}, err
	}
	a.Probability, err = readNumber(parts[3])
	return a, err
}

// Overround returns by how much the prices sum up beyond 1. It is known only if exactly one of the markets can
// settle at Yes and all of them are open.
func (s *Siblings) Overround(e *Event) (over float64, known bool) {
	if e.Exclusive == nil || !*e.Exclusive || s.Sum == nil || s.Open < len(s.IDs) {
		return 0, false
	}
	return *s.Sum - 1, true
}

func hasPositions(markets []Market) bool {
	seen := make(map[float64]bool, len(markets))
	for i := range markets {
		p := markets[i].EventPosition
		if p == nil || seen[*p] {
			return false
		}
		seen[*p] = true
	}
	return true
}

// orLess returns -1 for an unknown number, so that an unknown probability sorts below all others.
func orLess(p *float64) float64 {
	if p == nil {
		return -1
	}
	return *p
}
