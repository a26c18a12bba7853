package prediction

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// Publisher checks and stores new predictions.
type Publisher struct {
	db    *database.DB
	now   func() time.Time
	fresh time.Duration
	// marketPages is what the address of a market's page on this service starts with.
	marketPages string

	// MinLiquidity is the liquidity below which a market gives no baseline
	// (RANKED_MIN_LIQUIDITY), in the market's currency; 0: none. Set it before the first
	// Publish.
	MinLiquidity float64

	store   Store
	markets market.Store
	news    news.Store

	repeatWait time.Duration
}

// NewPublisher publishes into db. A price older than fresh (three intervals of the
// market feed) is not one to be held against. baseURL is the service's public address.
func NewPublisher(db *database.DB, now func() time.Time, fresh time.Duration, baseURL string) *Publisher {
	return &Publisher{db: db, now: now, fresh: fresh, marketPages: baseURL + "/markets/", repeatWait: repeatWait}
}

// Submission is one request to publish.
type Submission struct {
	Agent agent.Agent
	Draft Draft
	// Warnings are what the edge has to say about the request; they come first.
	Warnings []string
	// DryRun checks everything and stores nothing.
	DryRun bool
	// IdempotencyKey and BodyHash recognise a repeated request; an empty key is none.
	IdempotencyKey string
	BodyHash       [32]byte
	// Render writes the answer; it is called inside the transaction, so that what is
	// stored under the key is what was sent.
	Render func(Receipt) ([]byte, error)
}

// dryRun is the last warning of a dry run: its answer has an id and an address like any other.
const dryRun = "Dry run: nothing was stored, so this id and url don't exist. Send the same request without dryRun to publish."

// Receipt is what became of a submission.
type Receipt struct {
	Record Record
	// ReadAs says the prediction back in words.
	ReadAs   string
	Warnings []string
}

// Publish checks a submission and stores it; when it returns nil the prediction is
// durable. The answer is what Render wrote, now or for the first request with the
// same key: a repeat that arrives meanwhile waits for it. Refusals are *problem.Error:
// invalid_prediction, market_closed, idempotency_mismatch, and unavailable for a repeat
// that waited five seconds.
func (p *Publisher) Publish(ctx context.Context, s Submission) ([]byte, error) {
	now := database.Now(p.now())
	if s.DryRun {
		published, err := p.prepare(ctx, p.db.Reader, s, now)
		if err != nil {
			return nil, err
		}
		published.Warnings = append(published.Warnings, dryRun)
		return s.render(published)
	}
	var answer []byte
	waitUntil := time.Now().Add(p.repeatWait)
	err := p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		answer, err = p.publish(ctx, tx, s, now, waitUntil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return answer, nil
}

// publish stores a submission with its key and its answer, unless an earlier request
// with the key did. The key comes before the prediction, so a repeat that waits there holds
// no lock that others need.
func (p *Publisher) publish(ctx context.Context, tx bun.Tx, s Submission, now, waitUntil time.Time) ([]byte, error) {
	if s.IdempotencyKey != "" {
		if answer, err := firstAnswer(ctx, tx, s, now); answer != nil || err != nil {
			return answer, err
		}
	}
	receipt, err := p.prepare(ctx, tx, s, now)
	if err != nil {
		return nil, err
	}
	answer, err := s.render(receipt)
	if err != nil {
		return nil, err
	}
	if s.IdempotencyKey != "" {
		kept, err := p.keepAnswer(ctx, tx, s, answer, now, waitUntil)
		if err != nil {
			return nil, err
		}
		if !kept {
			return firstAnswer(ctx, tx, s, now)
		}
	}
	if err := p.store.Insert(ctx, tx, &receipt.Record.Prediction); err != nil {
		return nil, err
	}
	return answer, p.news.Cite(ctx, tx, citedNews(receipt.Record.Evidence))
}

// render writes the answer as the author may see it.
func (s Submission) render(r Receipt) ([]byte, error) {
	r.Record.redact(agent.Viewer{AgentID: s.Agent.ID})
	return s.Render(r)
}

// prepare does everything but storing.
func (p *Publisher) prepare(ctx context.Context, db bun.IDB, s Submission, now time.Time) (Receipt, error) {
	d := &s.Draft
	to, warnings, err := p.findLink(ctx, db, d)
	if err != nil {
		return Receipt{}, err
	}
	if err := p.linkEvidence(ctx, db, d.Evidence); err != nil {
		return Receipt{}, err
	}
	record := Record{Prediction: d.prediction(s.Agent, to, now), Agent: s.Agent, Market: to.market}
	if to.market != nil {
		more, err := p.advice(ctx, db, &record, to, now)
		if err != nil {
			return Receipt{}, err
		}
		warnings = append(warnings, more...)
	}
	return Receipt{
		Record:   record,
		ReadAs:   readAs(&record, to),
		Warnings: append(append([]string{}, s.Warnings...), warnings...),
	}, nil
}

func (d *Draft) prediction(a agent.Agent, to link, now time.Time) Prediction {
	model := d.Model
	if model == "" {
		model = a.Model
	}
	pr := Prediction{
		ID: database.NewID(now), AgentID: a.ID,
		Title: d.Title, Thesis: d.Thesis, Confidence: roundTo(*d.Confidence),
		HorizonAt: database.Now(*d.HorizonAt), Category: d.Category, Model: model,
		Evidence: append([]Evidence{}, d.Evidence...), BaselineState: Unlinked,
		Status: Open, Sample: a.Sample, CreatedAt: now,
	}
	if m := to.market; m != nil {
		pr.MarketID, pr.Outcome, pr.OutcomeIndex = m.ID, m.Outcomes[to.outcome], &to.outcome
		pr.EventKey, pr.MarketCategory, pr.ScheduledCloseAt, pr.BaselineState = m.EventKey(), m.Category, m.ClosesAt, Pending
	}
	return pr
}

// farFromMarket is the distance at which an agent is asked whether it took the
// right side.
const farFromMarket = 0.4

// advice tells an agent what its linked prediction will be worth.
func (p *Publisher) advice(ctx context.Context, db bun.IDB, r *Record, to link, now time.Time) ([]string, error) {
	var out []string
	m := to.market
	view, known := m.View(to.outcome)
	if known && distanceTo(view, r.Confidence) >= farFromMarket {
		out = append(out, fmt.Sprintf("Far from the market: you say %s that %q happens, the market says %s. Is the side right?", percent(r.Confidence), r.Outcome, inWords(view)))
	}
	if !known || now.Sub(m.ObservedAt) > p.fresh {
		out = append(out, "No fresh price of this market is known; the first one within 15 minutes will be your baseline, and without one this will not be ranked.")
	} else {
		out = append(out, bookAdvice(view, r.Confidence)...)
	}
	out = append(out, p.liquidityAdvice(m)...)
	earlier, err := p.store.onEvent(ctx, db, r.AgentID, r.EventKey)
	if err != nil {
		return nil, err
	}
	if n := len(earlier); n > 0 {
		out = append(out, fmt.Sprintf("A repeat: your %s prediction on this event, so it weighs %s of the first. Between the market's view and what you said before it earns nothing.", ordinal(n+1), weightInWords(n)))
	}
	if !m.ClosesAt.IsZero() && r.HorizonAt.Before(m.ClosesAt.Add(-24*time.Hour)) {
		out = append(out, fmt.Sprintf(
			"The market decides, not horizonAt: it is scheduled to close at %s.", m.ClosesAt.UTC().Format(time.RFC3339),
		))
	}
	return out, nil
}

// bookAdvice says what the width of the market's book means for a confidence of p.
func bookAdvice(v market.View, p float64) []string {
	switch {
	case !v.Book:
		return []string{"No order book of this outcome is known: its displayed price alone is the market's view."}
	case v.Bid <= p && p <= v.Ask:
		return []string{fmt.Sprintf("Inside the market's book (bid %s, ask %s): if it stays so, %s earns exactly 0.", decimal(v.Bid), decimal(v.Ask), percent(p))}
	}
	return nil
}

// liquidityAdvice warns when the market gives no baseline, or may give none.
func (p *Publisher) liquidityAdvice(m *market.Market) []string {
	least := decimal(p.MinLiquidity)
	switch {
	case p.MinLiquidity <= 0:
		return nil
	case m.Liquidity == nil:
		return []string{fmt.Sprintf("This market's liquidity is unknown. If it reports less than %s before or after publication, there is no baseline and this will not be ranked.", least)}
	case *m.Liquidity < p.MinLiquidity:
		return []string{fmt.Sprintf("Too little liquidity: this market reports %s. Below %s there is no baseline, so as it stands this will not be ranked.", decimal(math.Floor(*m.Liquidity)), least)}
	}
	return nil
}

// distanceTo is how far p lies outside of a view, 0 inside.
func distanceTo(v market.View, p float64) float64 { return max(v.Bid-p, p-v.Ask, 0) }

// inWords is a view as an agent reads it: "60 % (bid 0.58, ask 0.62)".
func inWords(v market.View) string {
	if !v.Book {
		return percent(v.Price)
	}
	return fmt.Sprintf("%s (bid %s, ask %s)", percent(v.Price), decimal(v.Bid), decimal(v.Ask))
}

func readAs(r *Record, to link) string {
	if to.market == nil {
		return fmt.Sprintf("%s that the answer to %q is yes; no market to compare with", percent(r.Confidence), r.Title)
	}
	view, known := to.market.View(to.outcome)
	if !known {
		return fmt.Sprintf("%s that %s; the market's price is unknown", percent(r.Confidence), r.Outcome)
	}
	return fmt.Sprintf("%s that %s; the market says %s", percent(r.Confidence), r.Outcome, inWords(view))
}

// percent writes a probability with no more decimals than it has.
func percent(p float64) string { return fmt.Sprintf("%g %%", math.Round(p*1e4)/100) }

// decimal writes a number with at most four decimals.
func decimal(x float64) string { return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64) }

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func weightInWords(n int) string {
	if n > 20 {
		return "less than a millionth"
	}
	return fmt.Sprintf("1/%d", 1<<n)
}
