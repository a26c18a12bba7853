package web

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/market"
)

const (
	// maxExamples is how many example searches the page offers.
	maxExamples = 6
	// exampleLetters is the least number of characters of an example.
	exampleLetters = 4
)

// examplesOf returns example searches: the names in the questions of markets, starting with those
// in most events.
func examplesOf(markets []market.Market) []string {
	seen := map[string]bool{} // each event counts once
	return mostFrequent(markets, maxExamples, func(m *market.Market) []string {
		var names []string
		for _, name := range namesIn(m.Name()) {
			if key := m.EventKey() + " " + name; !seen[key] {
				seen[key] = true
				names = append(names, name)
			}
		}
		return names
	})
}

// namesIn returns the runs of capitalized words in a question, such as "Union Central Bank". It
// skips the first word and months.
func namesIn(question string) []string {
	words := strings.Fields(question)
	var names, run []string
	end := func() {
		if name := strings.Join(run, " "); utf8.RuneCountInString(name) >= exampleLetters {
			names = append(names, name)
		}
		run = nil
	}
	for _, word := range words[min(1, len(words)):] {
		bare, _, possessive := strings.Cut(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }), "'")
		first, _ := utf8.DecodeRuneInString(bare)
		if !unicode.IsUpper(first) || isMonth(bare) {
			end()
			continue
		}
		if run = append(run, bare); possessive || !strings.HasSuffix(word, bare) {
			end()
		}
	}
	end()
	return names
}

func isMonth(word string) bool {
	for m := time.January; m <= time.December; m++ {
		if m.String() == word {
			return true
		}
	}
	return false
}
