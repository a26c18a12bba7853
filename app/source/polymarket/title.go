package polymarket

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

var (
	// blank matches the placeholder in the title of an event for what differs between its markets: "Bitcoin
	// above ___ on March 11?", "Macron out by...?".
	blank = regexp.MustCompile(`_{2,}|(?:\.{3,}|…)\s*\?`)
	// deadline matches a placeholder for a date.
	deadline = regexp.MustCompile(`(?i)\b(by|before|until|till|after)\s*(?:_{2,}|(?:\.{3,}|…)\s*\?)`)
	// trailing matches a placeholder at the end of a question without a question mark.
	trailing = regexp.MustCompile(`(?i)\b(?:by|before|until|till|after|above|below|in|on|of|to)\s*(?:\.{3,}|…)$`)
	// dangling matches words that make no sense at the end once the placeholder is removed.
	dangling = regexp.MustCompile(`(?i)(?:\s+(?:by|before|until|till|after|above|below|over|under|in|on|of|at|to|for|the))*\s*([?.!]?)$`)
	spaces   = regexp.MustCompile(`\s+`)
	// loose matches white space before a punctuation mark.
	loose = regexp.MustCompile(`\s+([?!,;:])`)
)

func hasBlank(s string) bool { return blank.MatchString(s) || trailing.MatchString(s) }

// marked adds the missing question mark to a question that ends in a placeholder, so that blank matches it.
func marked(s string) string {
	if trailing.MatchString(s) {
		return s + "?"
	}
	return s
}

// title returns the title of a market: its question, or "event — label" if the question doesn't name both the
// event and the choice. The title has no placeholder.
func title(question, event, label string) string {
	question, event = marked(question), marked(event)
	if hasBlank(label) {
		label = ""
	}
	switch {
	case hasBlank(question) && label != "" && hasBlank(event):
		return fill(event, label)
	case hasBlank(question) && label != "":
		return fill(question, label)
	case hasBlank(question):
		return withoutBlank(question)
	case event == "" || label == "" || hasBlank(event), says(question, event, label):
		return question
	case market.QuestionKey(event) == market.QuestionKey(label):
		return question
	case says(question, "", label) && !strings.HasSuffix(question, "?"):
		return event + " — " + question // one market of a match: "Spread: Lakers (-5.5)"
	}
	return event + " — " + label
}

// eventTitle returns an event's title without a placeholder: "Macron out by when?".
func eventTitle(s string) string {
	s = marked(s)
	if !hasBlank(s) {
		return s
	}
	filled := deadline.ReplaceAllStringFunc(s, func(found string) string {
		word, mark := deadline.FindStringSubmatch(found)[1], ""
		if strings.Contains(found, "?") {
			mark = "?"
		}
		return word + " when" + mark
	})
	if hasBlank(filled) {
		if squeeze(blank.ReplaceAllString(filled, "")) == "" {
			return ""
		}
		filled = blank.ReplaceAllStringFunc(filled, func(found string) string {
			if strings.Contains(found, "?") {
				return " what?"
			}
			return "what"
		})
	}
	filled = squeeze(filled)
	if !strings.HasSuffix(filled, "?") {
		filled += "?"
	}
	return filled
}

// fill replaces the placeholders by a label.
func fill(s, label string) string {
	return squeeze(blank.ReplaceAllStringFunc(s, func(found string) string {
		if strings.Contains(found, "?") {
			return " " + label + "?"
		}
		return label
	}))
}

// withoutBlank removes the placeholders and the words that lead to them. It returns "" if no words are left.
func withoutBlank(s string) string {
	if !hasBlank(s) {
		return s
	}
	left := squeeze(blank.ReplaceAllString(s, " "))
	left = strings.TrimSpace(dangling.ReplaceAllString(left, "$1"))
	if plaintext.Fold(left) == "" {
		return ""
	}
	return left
}

func squeeze(s string) string {
	s = strings.TrimSpace(spaces.ReplaceAllString(s, " "))
	return loose.ReplaceAllString(s, "$1")
}

// light words are question words and particles, which don't name the subject.
var light = strings.Fields("a an and any at be by do does for from get happen has have how if in is it many much of on or the to what when where which who whom whose will with")

// says reports whether a question names both the event and the label.
func says(question, event, label string) bool {
	said := strings.Fields(plaintext.Fold(question))
	for _, word := range append(heavy(event), strings.Fields(plaintext.Fold(label))...) {
		if !slices.Contains(said, word) {
			return false
		}
	}
	return !strings.ContainsAny(label, "↑↓<>≥≤") // Fold removes these signs
}

// heavy returns the words of a text that aren't light.
func heavy(s string) []string {
	return slices.DeleteFunc(strings.Fields(plaintext.Fold(s)), func(w string) bool { return slices.Contains(light, w) })
}
