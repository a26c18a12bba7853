package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// near is the largest distance from the market's price at which an agent agrees with it.
const near = 0.03

// library holds the material for theses and evidence.
type library struct {
	items   []news.Item
	markets []*sampleMarket
	words   map[string]map[string]bool // telling words of each item and market, by id
	said    map[string]bool            // the theses so far, so that none is used twice
}

func newLibrary(items []news.Item, markets []*sampleMarket) *library {
	l := &library{items: items, markets: markets, words: map[string]map[string]bool{}, said: map[string]bool{}}
	for _, item := range items {
		l.words[item.ID] = telling(item.Title + " " + item.Summary)
	}
	for _, m := range markets {
		l.words[m.ID] = telling(m.Question + " " + m.EventTitle)
	}
	return l
}

// argument is the content of a thesis.
type argument struct {
	agent   int
	kind    *kind
	subject string
	p, q    float64
	again   bool
}

func (a *argument) side() side {
	switch {
	case a.p >= a.q+near:
		return above
	case a.p <= a.q-near:
		return below
	}
	return level
}

func (l *library) thesis(a argument, rolls *rand.Rand) string {
	for {
		text := a.write(rolls)
		if !l.said[text] {
			l.said[text] = true
			return text
		}
	}
}

func (a *argument) write(rolls *rand.Rand) string {
	side := a.side()
	opening := one(personas[a.agent].voice, rolls)
	if a.again {
		opening = strings.TrimSpace(one(revisions, rolls))
	}
	grounds := a.kind.side(side)
	k := rolls.IntN(len(grounds))
	reason := grounds[k]
	if side != level && rolls.Float64() < 0.45 && len(grounds) > 1 {
		joint := one([]string{"; besides, ", ", and ", "; also, "}, rolls)
		reason += joint + grounds[(k+1+rolls.IntN(len(grounds)-1))%len(grounds)]
	}
	if strings.HasSuffix(opening, ".") {
		reason = capital(reason)
	}
	parts := []string{opening + " " + reason + ".", capital(one(contrasts[side], rolls))}
	if !a.again && rolls.Float64() < 0.5 {
		parts[0], parts[1] = capital(parts[1]), capital(parts[0])
	}
	parts = append(parts, one(turns, rolls))
	m := 5 + rolls.IntN(6)
	n := m/2 + 1 + rolls.IntN(m-m/2-1)
	return strings.TrimSpace(strings.NewReplacer("{subject}", a.subject, "{p}", percent(a.p), "{q}", percent(a.q),
		"{n}", strconv.Itoa(n), "{m}", strconv.Itoa(m)).Replace(strings.Join(parts, " ")))
}

func one(of []string, rolls *rand.Rand) string { return of[rolls.IntN(len(of))] }

func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

func percent(p float64) string { return strconv.FormatFloat(round(100*p, 2), 'f', -1, 64) + " %" }

// telling returns the words of a text that say what it is about.
func telling(text string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(plaintext.Fold(text)) {
		if len(word) > 4 && !common[word] {
			out[word] = true
		}
	}
	return out
}

// common are longer words that don't say what a text is about.
var common = map[string]bool{
	"before": true, "above": true, "below": true, "their": true, "after": true, "which": true, "again": true,
	"three": true, "first": true, "would": true, "could": true, "there": true, "about": true, "report": true,
	"month": true, "weeks": true, "union": true, "national": true, "years": true, "record": true, "north": true,
	"northern": true, "public": true, "single": true, "second": true, "within": true, "another": true,
	"hours": true, "longer": true, "winner": true, "seven": true, "market": true, "since": true, "until": true,
}

// shared counts the telling words that two items or markets have in common.
func (l *library) shared(a, b string) int {
	n := 0
	for word := range l.words[a] {
		if l.words[b][word] {
			n++
		}
	}
	return n
}

// evidence returns up to three links: the most closely related post, a related market, and reports. It cites
// only what already existed at that time.
func (l *library) evidence(m *sampleMarket, at time.Time, rolls *rand.Rand) []prediction.Evidence {
	out := []prediction.Evidence{}
	if item := l.bestNews(m, at); item != nil {
		out = append(out, prediction.Evidence{
			Title: item.Title, URL: item.Permalink, SignalKind: prediction.SignalNews, SignalID: item.ID,
		})
	}
	if other := l.related(m, at); other != nil && rolls.Float64() < 0.5 {
		out = append(out, prediction.Evidence{Title: other.Title, URL: fmt.Sprintf("https://example.org/markets/%s", other.ID),
			SignalKind: prediction.SignalMarket, SignalID: other.ID})
	}
	pages := m.kind().reports
	k := rolls.IntN(len(pages))
	for n := range rolls.IntN(3) {
		page := pages[(k+n)%len(pages)]
		if len(out) < 3 && n < len(pages) {
			out = append(out, prediction.Evidence{Title: page[0], URL: page[1]})
		}
	}
	return out
}

func (l *library) bestNews(m *sampleMarket, at time.Time) (best *news.Item) {
	most := 0
	for i := range l.items {
		item := &l.items[i]
		if item.PostedAt.After(at) || !slices.Contains(coverage[m.topic], item.Community) {
			continue
		}
		if n := l.shared(m.ID, item.ID); n > most {
			best, most = item, n
		}
	}
	return best
}

// related returns the market of the same category that shares most words, among those open at that time.
func (l *library) related(m *sampleMarket, at time.Time) (best *sampleMarket) {
	most := 0
	for _, other := range l.markets {
		gone := other.final != nil && other.ClosedAt.Before(at)
		if other == m || other.topic != m.topic || other.opened.After(at) || gone {
			continue
		}
		if n := l.shared(m.ID, other.ID); n > most {
			best, most = other, n
		}
	}
	return best
}
