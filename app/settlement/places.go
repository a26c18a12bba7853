package settlement

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
)

// A source may rename a market's outcomes, or list them in another order, after a prediction named one. Where the
// outcomes have tokens, market.Store.KeepOrder keeps their order. Elsewhere another order is stored. This file decides
// which outcome of the list at the decision a prediction means:
//
//  1. A name that the list has means that outcome, wherever it stands. Letter case doesn't matter.
//  2. A name that the list lacks was renamed. It means the outcome at its place in the list at publication.
//  3. But if outcomes may have changed places too, a name that the list lacks means no outcome. The prediction waits
//     for an admin.
//
// Outcomes may have changed places if a known name stands at another place now, or stood at two places. The known
// names are those in predictions, in reference rows and in the decision before. They also may have changed places if
// the list has another length than in the first known prices. And they may have if the result differs from the decision
// before and several of the names in that decision are gone, because a list in another order looks the same. An admin
// who then rules on the market sees which names were renamed to which, and confirms that.

// index returns the index of the outcome with this name, or -1.
func (o *Outcome) index(name string) int {
	m := market.Market{Outcomes: o.Outcomes}
	return m.OutcomeIndex(name)
}

// place returns the index of the outcome that a prediction means, or -1 if that can't be told.
func (o *Outcome) place(n prediction.NamedOutcome) int {
	if i := o.index(n.Outcome); i >= 0 {
		return i
	}
	if o.ByName || n.OutcomeIndex >= len(o.Outcomes) {
		return -1
	}
	return n.OutcomeIndex
}

// value returns how far the outcome that a prediction means happened, 0..1.
func (o *Outcome) value(n prediction.NamedOutcome) (float64, bool) {
	if i := o.place(n); i >= 0 && i < len(o.OutcomeValues) {
		return o.OutcomeValues[i], true
	}
	return 0, false
}

// equal reports whether two outcomes say that the same happened, whatever the names and the order of the market's
// outcomes. A name that the list lacks is no difference if outcomes have moved, because its place can't be told.
func (o *Outcome) equal(before *Outcome) bool {
	if before == nil || o.State != before.State || len(o.OutcomeValues) != len(before.OutcomeValues) {
		return false
	}
	known := knownOutcomes{names: before.names()}
	moved := o.moved(known)
	for i, y := range before.OutcomeValues {
		if moved && o.index(known.names[i].Outcome) < 0 {
			continue
		}
		if now, ok := o.value(known.names[i]); !ok || !score.SameValue(now, y) {
			return false
		}
	}
	return true
}

// names returns the names in the decision with their places.
func (o *Outcome) names() []prediction.NamedOutcome {
	list := make([]prediction.NamedOutcome, len(o.Outcomes))
	for i, name := range o.Outcomes {
		list[i] = prediction.NamedOutcome{Outcome: name, OutcomeIndex: i}
	}
	return list
}

// moved reports whether known outcomes may have changed places, and the list lacks one of their names.
func (o *Outcome) moved(known knownOutcomes) bool {
	moved, gone := known.firstLength > 0 && known.firstLength != len(o.Outcomes), map[string]int{}
	for _, n := range known.names {
		if i := o.index(n.Outcome); i >= 0 {
			moved = moved || i != n.OutcomeIndex
			continue
		}
		name := strings.ToLower(strings.TrimSpace(n.Outcome))
		if place, found := gone[name]; found && place != n.OutcomeIndex {
			return true
		}
		gone[name] = n.OutcomeIndex
	}
	return moved && len(gone) > 0
}

// renamesWithResult reports whether o renames several outcomes of before and also changes how far one of them
// happened, or whether it renames outcomes in a list of another length.
func (o *Outcome) renamesWithResult(before *Outcome) bool {
	gone, changed := 0, false
	for i, name := range before.Outcomes {
		if o.index(name) >= 0 {
			continue
		}
		gone++
		if i < len(o.OutcomeValues) && i < len(before.OutcomeValues) {
			changed = changed || !score.SameValue(o.OutcomeValues[i], before.OutcomeValues[i])
		}
	}
	return gone > 1 && changed || gone > 0 && len(o.Outcomes) != len(before.Outcomes)
}

// setPlaces sets ByName. An admin who rules has seen what becomes of names that the market no longer has, so then only
// known places and the length of the list count.
func (o *Outcome) setPlaces(known knownOutcomes, before *Outcome) {
	o.ByName = o.moved(known)
	if before != nil && !o.Ruled() {
		o.ByName = o.ByName || before.ByName || o.renamesWithResult(before)
	}
}

// renamed says in words what becomes of known names that the list lacks, or is "" if it has all names.
func (o *Outcome) renamed(known knownOutcomes) string {
	var words []string
	seen := map[string]bool{}
	for _, n := range known.names {
		if seen[n.Outcome] || o.index(n.Outcome) >= 0 {
			continue
		}
		seen[n.Outcome] = true
		if i := o.place(n); i >= 0 {
			words = append(words, fmt.Sprintf("%s counts as %s", n.Outcome, o.Outcomes[i]))
		} else {
			words = append(words, n.Outcome+" stays open")
		}
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// knownOutcomes is what is known of the outcomes that a market has or had.
type knownOutcomes struct {
	names       []prediction.NamedOutcome // with their places
	firstLength int                       // of the list in the first known prices; 0 if there are none
}

// loadKnown returns what is known of a market's outcomes. before is the decision before, nil if there is none.
func loadKnown(ctx context.Context, db bun.IDB, marketID string, before *Outcome) (known knownOutcomes, err error) {
	if known.names, err = (prediction.Store{}).OutcomesNamed(ctx, db, marketID); err != nil {
		return known, err
	}
	rows, err := loadReferences(ctx, db, marketID)
	if err != nil {
		return known, err
	}
	for i := range rows {
		if n := rows[i].named(); n.OutcomeIndex >= 0 {
			known.names = append(known.names, n)
		}
	}
	if before != nil {
		known.names = append(known.names, before.names()...)
	}
	prices, err := market.Store{}.FirstPrices(ctx, db, []string{marketID})
	if err == nil && len(prices) > 0 {
		known.firstLength = len(prices[0].Prices)
	}
	return known, err
}

// named returns the outcome that a prediction names. Its place is -1 if it is unknown.
func (i *item) named() prediction.NamedOutcome {
	n := prediction.NamedOutcome{Outcome: i.Outcome, OutcomeIndex: -1}
	if i.OutcomeIndex != nil {
		n.OutcomeIndex = *i.OutcomeIndex
	}
	return n
}

// named returns the outcome that a reference row names. market.Reference gives its place: "Yes" may stand anywhere,
// and any other name is the first of its list.
func (r *ReferencePrediction) named() prediction.NamedOutcome {
	n := prediction.NamedOutcome{Outcome: r.Outcome}
	m := market.Market{Outcomes: []string{r.Outcome}}
	if m.YesIndex() == 0 {
		n.OutcomeIndex = -1
	}
	return n
}

// verdictOf returns the verdict that an outcome of the market happened. The name may be one that the outcome had before.
func verdictOf(m *market.Market, outcome string, known knownOutcomes) (market.Verdict, error) {
	list := Outcome{Outcomes: m.Outcomes}
	list.ByName = list.moved(known)
	outcome = strings.TrimSpace(outcome)
	n := prediction.NamedOutcome{Outcome: outcome, OutcomeIndex: -1}
	if i := slices.IndexFunc(known.names, func(k prediction.NamedOutcome) bool {
		return strings.EqualFold(strings.TrimSpace(k.Outcome), outcome)
	}); i >= 0 {
		n = known.names[i]
	}
	i := list.place(n)
	if i < 0 || outcome == "" {
		return market.Verdict{}, problem.InvalidRequest(problem.Field{Field: "outcome",
			Message: fmt.Sprintf("must be one of this market's outcomes: %s", strings.Join(m.Outcomes, ", "))})
	}
	return m.DecidedBy(i), nil
}
