package demo

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
)

const (
	// quietStart and quietEnd are the periods after a market's opening and before its close in which no agent
	// publishes.
	quietStart = 3 * time.Hour
	quietEnd   = 3 * time.Hour
	// settledYet is the least age of a prediction, so that the price after it is known.
	settledYet = 40 * time.Minute
	// openSince is the greatest age of a prediction on an open market.
	openSince = 12 * day
	// openInterest is how often an agent forecasts an open event, relative to a settled one. openLeast is the
	// least probability with which it forecasts an open event.
	openInterest = 0.4
	openLeast    = 0.14
	// favourites is how many of an event's first siblings agents forecast.
	favourites = 5
)

// samplePrediction is a prediction without its id and its agent's id.
type samplePrediction struct {
	prediction.Prediction
	agent int // index in personas
}

// press makes all predictions of a world.
type press struct {
	now         time.Time
	library     *library
	predictions []samplePrediction
	ticks       []market.Price // the readings before and after each publication
}

// samplePredictions returns the agents' predictions in order of time, and the price readings before and after
// each publication.
func samplePredictions(now time.Time, markets []*sampleMarket, items []news.Item) ([]samplePrediction, []market.Price) {
	p := &press{now: now, library: newLibrary(items, markets)}
	for _, event := range byEvent(markets) {
		for a := range personas {
			p.visit(a, event)
		}
	}
	slices.SortStableFunc(p.predictions, func(a, b samplePrediction) int { return a.CreatedAt.Compare(b.CreatedAt) })
	p.apart()
	return p.predictions, p.ticks
}

// byEvent groups siblings. It keeps the order of the markets.
func byEvent(markets []*sampleMarket) [][]*sampleMarket {
	var out [][]*sampleMarket
	for _, m := range markets {
		if n := len(out); n > 0 && out[n-1][0].EventKey() == m.EventKey() {
			out[n-1] = append(out[n-1], m)
			continue
		}
		out = append(out, []*sampleMarket{m})
	}
	return out
}

// visit decides which predictions one agent publishes on one event: none, one, on several siblings, or a second
// one later.
func (p *press) visit(a int, event []*sampleMarket) {
	who, first := &personas[a], event[0]
	rolls := dice(who.handle + " on " + first.key)
	open := first.final == nil
	chance := who.attends
	if open {
		chance = max(chance*openInterest, openLeast)
	}
	if rolls.Float64() >= chance || asks(&first.Market, bookless) {
		return
	}
	from, until := first.opened.Add(quietStart), first.ClosedAt.Add(-quietEnd)
	if open {
		from, until = p.now.Add(-openSince), p.now.Add(-settledYet)
		if ends := first.ClosesAt.Add(-quietEnd); ends.Before(until) {
			until = ends
		}
	}
	if joined := p.joined(who); joined.After(from) {
		from = joined
	}
	if !from.Before(until) {
		return
	}
	part := 0.04 + 0.6*rolls.Float64()
	if open { // most are recent
		part = 1 - part*part*2
	}
	at := p.hour(who, from, until, part, rolls)
	k := rolls.IntN(min(len(event), favourites))
	for n := range min(len(event), 1+rolls.IntN(2)) {
		m := event[(k+n)%len(event)]
		outcome := 0
		if m.YesIndex() < 0 && rolls.Float64() < 0.4 {
			outcome = 1 + rolls.IntN(len(m.Outcomes)-1)
		}
		moment := at.Add(time.Duration(n) * time.Duration(4+rolls.IntN(20)) * time.Minute)
		if moment.After(until) {
			return
		}
		p.publish(a, m, outcome, moment, false, rolls)
		if rolls.Float64() < who.again && until.Sub(moment) > day {
			p.publish(a, m, outcome, p.hour(who, moment.Add(day/2), until, 0.2+0.7*rolls.Float64(), rolls), true, rolls)
		}
	}
}

func (p *press) joined(who *persona) time.Time {
	return p.now.Add(-time.Duration(who.daysAgo * float64(day)))
}

// hour returns the time at a fraction (part) of the way between two times. If possible, it moves the result to
// about the agent's working hour, but never beyond the two times.
func (p *press) hour(who *persona, from, until time.Time, part float64, rolls *rand.Rand) time.Time {
	at := from.Add(time.Duration(part * float64(until.Sub(from))))
	hours := math.Mod(who.hour+2*rolls.NormFloat64()+24, 24)
	moved := at.Truncate(day).Add(time.Duration(hours * float64(time.Hour)))
	if moved.After(from) && moved.Before(until) {
		at = moved
	}
	return database.Stored(at)
}

// publish adds one prediction, and the market's readings before and after it.
func (p *press) publish(a int, m *sampleMarket, outcome int, at time.Time, again bool, rolls *rand.Rand) {
	who := &personas[a]
	before, after := at.Add(-time.Duration(15+rolls.IntN(80))*time.Second), at.Add(time.Duration(150+rolls.IntN(200))*time.Second)
	seen := m.prices(before)
	p.ticks = append(p.ticks, m.observed(before, seen), m.observed(after, m.prices(after)))
	q := seen[outcome]
	confidence := who.believe(q, m.perOutcome(m.path.at(at.Add(m.lead), 0, nil))[outcome], outcome, rolls)
	title := m.Question
	if m.Outcomes[outcome] != "Yes" {
		title += " — " + m.Outcomes[outcome]
	}
	words := argument{agent: a, kind: m.kind(), subject: subject(m, outcome), p: confidence, q: q, again: again}
	p.predictions = append(p.predictions, samplePrediction{agent: a, Prediction: prediction.Prediction{
		Title: title, Thesis: p.library.thesis(words, rolls), Confidence: confidence, HorizonAt: m.ClosesAt,
		Category: cmp.Or(m.Category, prediction.DefaultCategory), Model: who.model, Evidence: p.library.evidence(m, at, rolls),
		MarketID: m.ID, Outcome: m.Outcomes[outcome], OutcomeIndex: &outcome, EventKey: m.EventKey(), MarketCategory: m.Category,
		ScheduledCloseAt: m.ClosesAt, BaselineState: prediction.Pending, Status: prediction.Open,
		Sample: true, CreatedAt: at,
	}})
}

// believe returns an agent's probability. It depends on the market's current probability q and on its later
// one.
func (who *persona) believe(q, later float64, outcome int, rolls *rand.Rand) float64 {
	q, later = inside(q), inside(later)
	odds := who.scale * (logit(q) + who.insight*(logit(later)-logit(q)))
	if outcome == 0 {
		odds += who.lean
	}
	odds += who.noise * rolls.NormFloat64()
	return min(max(round(logistic(odds), who.decimals), 0.01), 0.99)
}

func inside(p float64) float64 { return min(max(p, leastPrice), 1-leastPrice) }

// subject returns the name of the outcome for a thesis.
func subject(m *sampleMarket, outcome int) string {
	if m.Label != "" {
		return m.Label
	}
	return m.Outcomes[outcome]
}

// apart makes the publication times of each agent strictly increase, so that ids keep their order.
func (p *press) apart() {
	last := map[int]time.Time{}
	for i := range p.predictions {
		f := &p.predictions[i]
		if least := last[f.agent].Add(time.Millisecond); f.CreatedAt.Before(least) {
			f.CreatedAt = least
		}
		last[f.agent] = f.CreatedAt
	}
	slices.SortStableFunc(p.predictions, func(a, b samplePrediction) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.agent, b.agent))
	})
}

// by returns the prediction with its id and its agent's id.
func (f *samplePrediction) by(agent uuid.UUID) *prediction.Prediction {
	out := f.Prediction
	out.ID, out.AgentID = database.NewID(out.CreatedAt), agent
	return &out
}
