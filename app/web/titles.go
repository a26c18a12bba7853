package web

import (
	"strings"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/views/components"
)

// narrowedTitle returns the title of a list with what narrows it first, so that tabs and bookmarks differ:
// "crypto, 30 days – leaderboard". words are searched words and names. Of each filter it adds the current choice,
// unless that is the first.
func narrowedTitle(list string, words []string, filters ...[]components.Chip) string {
	var parts []string
	for _, w := range words {
		if plaintext.Fold(w) != "" { // a search without words doesn't narrow
			parts = append(parts, w)
		}
	}
	for _, chips := range filters {
		for i, c := range chips {
			if c.Current && i > 0 {
				parts = append(parts, c.Label)
			}
		}
	}
	if len(parts) == 0 {
		return list
	}
	return strings.Join(parts, ", ") + " – " + strings.ToLower(list)
}
