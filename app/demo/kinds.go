package demo

import (
	"slices"
	"strings"
)

// kind is a set of questions that have the same arguments.
type kind struct {
	// about are substrings. A question that contains one of them is of this kind.
	about []string
	// above are reasons for the outcome that a prediction names, below reasons against it, and level reasons to
	// agree with the market. If a market has named outcomes, they must fit each of them.
	above, below, level []string
	// reports are pages that predictions cite besides news: title and address.
	reports [][2]string
}

// side returns the reasons for a side.
func (k *kind) side(s side) []string {
	switch s {
	case above:
		return k.above
	case below:
		return k.below
	}
	return k.level
}

// allKinds are the kinds of all categories.
var allKinds = slices.Concat(economyKinds, publicKinds, natureKinds, leisureKinds)

// kindsOf returns the kinds that match a question. There should be exactly one.
func kindsOf(question string) []*kind {
	var found []*kind
	for i := range allKinds {
		if allKinds[i].matches(question) {
			found = append(found, &allKinds[i])
		}
	}
	return found
}

func (k *kind) matches(question string) bool {
	return slices.ContainsFunc(k.about, func(part string) bool { return strings.Contains(question, part) })
}
