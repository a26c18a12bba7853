package demo

import (
	"slices"
	"strings"
	"testing"
)

// TestKinds checks that each question matches exactly one kind, and that each kind matches a question.
func TestKinds(t *testing.T) {
	t.Parallel()
	markets, _ := sampleMarkets(firstLook)
	used := map[*kind]bool{}
	for _, m := range markets {
		found := kindsOf(m.key)
		if len(found) != 1 {
			t.Errorf("question %q matches %d kinds, want 1", m.key, len(found))
			continue
		}
		used[found[0]] = true
	}
	for i := range allKinds {
		k := &allKinds[i]
		if !used[k] {
			t.Errorf("no question matches the kind %q", k.about)
		}
		if len(k.above) == 0 || len(k.below) == 0 || len(k.level) == 0 || len(k.reports) == 0 {
			t.Errorf("kind %q lacks a side or a report", k.about)
		}
	}
}

// TestThesesFit checks that a thesis gives a reason of its question's kind and of the side it takes.
func TestThesesFit(t *testing.T) {
	t.Parallel()
	markets, _ := sampleMarkets(firstLook)
	byID := map[string]*sampleMarket{}
	for _, m := range markets {
		byID[m.ID] = m
	}
	predictions, _ := samplePredictions(firstLook, markets, sampleNews(firstLook))
	for _, p := range predictions {
		k := byID[p.MarketID].kind()
		fits := func(reason string) bool { return saysAll(p.Thesis, reason) }
		if !slices.ContainsFunc(slices.Concat(k.above, k.below, k.level), fits) {
			t.Errorf("question %q has the thesis %q", p.Title, p.Thesis)
		}
	}
}

// saysAll reports whether a thesis contains a reason's text between its numbers and names.
func saysAll(thesis, reason string) bool {
	thesis, reason = strings.ToLower(thesis), strings.ToLower(reason)
	for _, mark := range []string{"{n}", "{m}", "{subject}"} {
		reason = strings.ReplaceAll(reason, mark, "\x00")
	}
	for part := range strings.SplitSeq(reason, "\x00") {
		if !strings.Contains(thesis, part) {
			return false
		}
	}
	return true
}
