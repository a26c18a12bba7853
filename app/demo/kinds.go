package demo

import (
	"slices"
	"strings"
)

// kind is what questions have in common that are argued about alike.
type kind struct {
	// about are parts of questions; a question that holds one of them is of this kind.
	about []string
	// above and below are reasons for and against the outcome that a prediction names, level
	// those of agents that agree with the market. In a market of named outcomes they must fit
	// each of them.
	above, below, level []string
	// reports are pages that evidence cites besides the day's news: title and address.
	reports [][2]string
}

// side returns the reasons of a side.
func (k *kind) side(s side) []string {
	switch s {
	case above:
		return k.above
	case below:
		return k.below
	}
	return k.level
}

// allKinds are the kinds of every category.
var allKinds = slices.Concat(economyKinds, publicKinds, natureKinds, leisureKinds)

// kindsOf returns the kinds of a question, which should be one.
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
	for _, part := range k.about {
		if strings.Contains(question, part) {
			return true
		}
	}
	return false
}
