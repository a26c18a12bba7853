package demo

import (
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestWorldAtAnyHour builds worlds that start at different hours of the day. Dates are rounded to hours and
// days, which must not break what the demo promises.
func TestWorldAtAnyHour(t *testing.T) {
	t.Parallel()
	for _, clock := range []string{"00:00", "06:59", "12:30", "23:59"} {
		start, err := time.Parse("2006-01-02 15:04", "2027-03-01 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			markets, events := sampleMarkets(start)
			checkEvents(t, markets, events)
			checkMarkets(t, start, markets)
			items := sampleNews(start)
			checkNews(t, start, items)
			predictions, ticks := samplePredictions(start, markets, items)
			checkPredictions(t, start, markets, predictions)
			for _, tick := range ticks {
				checkPrices(t, tick.MarketID, tick.Prices)
				if tick.ObservedAt.After(start) {
					t.Errorf("market %s has a price from the future", tick.MarketID)
				}
			}
		})
	}
}

func checkMarkets(t *testing.T, start time.Time, markets []*sampleMarket) {
	t.Helper()
	soon := 0
	questions := map[string]bool{}
	for _, m := range markets {
		if questions[m.Question] || strings.ContainsAny(m.Title+m.Question+m.Description, "{}") {
			t.Errorf("question %s occurs twice or has a placeholder left", m.Question)
		}
		questions[m.Question] = true
		if bodies[m.topic] == "" || len(m.kind().reports) == 0 || coverage[m.topic] == nil || m.Category != "" && m.Category != m.topic {
			t.Errorf("category %q lacks texts", m.topic)
		}
		left := m.ClosesAt.Sub(start) + lateness(&m.Market)
		switch {
		case m.final == nil && lateness(&m.Market) > 0 && !m.ClosesAt.Before(start):
			t.Errorf("%s is overdue too early", m.Question)
		case m.final == nil && (left < 2*time.Hour || left > 90*day):
			t.Errorf("%s closes in %s, want 2 hours to 90 days", m.Question, left)
		case m.final == nil && left < 72*time.Hour:
			soon++
		case m.final != nil && (m.ClosedAt.Before(m.ClosesAt) || !m.ClosedAt.Before(start) || m.opened.Before(start.Add(-pastDays*day))):
			t.Errorf("%s was open from %s to %s, scheduled to close at %s", m.Question, m.opened, m.ClosedAt, m.ClosesAt)
		}
		for _, price := range m.past {
			checkPrices(t, m.ID, price.Prices)
		}
		if m.final != nil {
			closed := m.closing()
			if stage := closed.Verdict().Stage; stage != market.Settled && stage != market.Voided {
				t.Errorf("%s closed with the stage %s", m.Question, stage)
			}
		}
	}
	if soon < 8 {
		t.Errorf("%d markets close within 72 hours, want more", soon)
	}
}

// checkEvents checks that every event has its markets. The prices of an exclusive event must sum up to about 1,
// and those of a ladder must go in one direction.
func checkEvents(t *testing.T, markets []*sampleMarket, events []market.Event) {
	t.Helper()
	for _, e := range events {
		sum, last, rungs := 0.0, -1.0, 0
		for _, m := range markets {
			if m.EventID != e.ID || m.final != nil {
				continue
			}
			now := m.perOutcome(m.path.at(m.opened.Add(openFor), 0, nil))[0]
			if m.nested != nil {
				if rungs > 0 && (now > last) == m.nested.above {
					t.Errorf("%s: %s has the price %.3f after %.3f", e.Title, m.Label, now, last)
				}
				rungs++
			}
			sum, last = sum+now, now
			if m.Label == "" || m.EventTitle != e.Title || m.EventPosition == nil {
				t.Errorf("%s has no distinct label in %q", m.Question, e.Title)
			}
		}
		if strings.ContainsAny(e.Title+e.Description, "{}") || (rungs == 0) != *e.Exclusive || rungs == 0 && sum > 1.000001 {
			t.Errorf("event %+v: prices sum up to %.3f, want about 1", e, sum)
		}
	}
}

func checkPrices(t *testing.T, id string, prices []float64) {
	t.Helper()
	sum := 0.0
	for _, p := range prices {
		sum += p
		if p < 0.001 || p > 0.999 {
			t.Fatalf("%s trades at %v", id, prices)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("prices of %s sum up to %v, want 1", id, sum)
	}
}

func checkNews(t *testing.T, start time.Time, items []news.Item) {
	t.Helper()
	for _, item := range items {
		for _, address := range []string{item.URL, item.Permalink} {
			u, err := url.Parse(address)
			if err != nil || (u.Host != "example.org" && u.Host != "example.com") {
				t.Errorf("got news at %s", address)
			}
		}
		if age := start.Sub(item.PostedAt); age < 0 || age > 36*time.Hour {
			t.Errorf("%q is %s old, want at most 36 hours", item.Title, age)
		}
	}
}

// checkPredictions checks each prediction against the rules of publishing.
func checkPredictions(t *testing.T, start time.Time, markets []*sampleMarket, predictions []samplePrediction) {
	t.Helper()
	byID := map[string]*sampleMarket{}
	for _, m := range markets {
		byID[m.ID] = m
	}
	last := map[int]time.Time{}
	theses := map[string]bool{}
	for _, f := range predictions {
		draft := prediction.Draft{Title: f.Title, Thesis: f.Thesis, Confidence: &f.Confidence, HorizonAt: &f.HorizonAt,
			Category: f.Category, Model: f.Model, MarketID: f.MarketID, Outcome: f.Outcome, Evidence: f.Evidence}
		if wrong := draft.Check(f.CreatedAt); len(wrong) > 0 {
			t.Errorf("%q would be refused: %v", f.Title, wrong)
		}
		if theses[f.Thesis] || strings.ContainsAny(f.Thesis, "{}") || strings.Contains(f.Thesis, "..") {
			t.Errorf("got thesis %q", f.Thesis)
		}
		theses[f.Thesis] = true
		m := byID[f.MarketID]
		if m.final != nil && !f.CreatedAt.Before(m.ClosesAt) || f.CreatedAt.After(start.Add(-settledYet)) || f.CreatedAt.Before(m.opened) {
			t.Errorf("%q was published at %s, outside the allowed time", f.Title, f.CreatedAt)
		}
		if joined := start.Add(-time.Duration(personas[f.agent].daysAgo * float64(day))); f.CreatedAt.Before(joined) {
			t.Errorf("%s published before it joined", personas[f.agent].handle)
		}
		if !f.CreatedAt.After(last[f.agent]) {
			t.Errorf("%s has two predictions at %s", personas[f.agent].handle, f.CreatedAt)
		}
		last[f.agent] = f.CreatedAt
	}
}

// TestRevealIsCalibrated draws many markets and compares the price half way with how often the outcome happens.
func TestRevealIsCalibrated(t *testing.T) {
	t.Parallel()
	const markets, bins = 20_000, 5
	rolls := dice("calibration")
	var said, happened, n [bins]float64
	for range markets {
		prior := []float64{0.5, 0.3, 0.2}
		winner := draw(prior, rolls)
		p := reveal(firstLook, firstLook.Add(12*day), prior, winner, rolls)
		for k, price := range p.at(firstLook.Add(6*day), 0, nil) {
			bin := min(int(price*bins), bins-1)
			said[bin] += price
			n[bin]++
			if k == winner {
				happened[bin]++
			}
		}
	}
	for bin := range n {
		gap := (said[bin] - happened[bin]) / n[bin]
		if error := 4 * math.Sqrt(0.25/n[bin]); n[bin] < 100 || math.Abs(gap) > error {
			t.Errorf("bin %d: mean price %.3f, happened %.3f of %.0f", bin, said[bin]/n[bin], happened[bin]/n[bin], n[bin])
		}
	}
}

func TestWanderEndsWhereItShould(t *testing.T) {
	t.Parallel()
	want := []float64{0.6, 0.3, 0.1}
	moment := firstLook.Add(31 * day).Add(5 * time.Hour)
	p := wander(firstLook, moment, want, dice("wander"))
	for k, got := range p.at(moment, 0, nil) {
		if math.Abs(got-want[k]) > 1e-9 {
			t.Errorf("outcome %d: got %v, want %v", k, got, want[k])
		}
	}
	if start := p.at(firstLook, 0, nil); math.Abs(start[0]-want[0]) < 1e-6 {
		t.Errorf("the price never moved: %v", start)
	}
}
