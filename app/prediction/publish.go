package prediction

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// Publisher checks and stores new predictions. One transaction stores all that wait at the same time; see
// committer and batch. Its methods are safe for concurrent use.
type Publisher struct {
	db    *database.DB
	now   func() time.Time
	fresh time.Duration
	// marketPages is the prefix of the addresses of this service's market pages.
	marketPages string

	// MinLiquidity is the liquidity below which a market gives no baseline (RANKED_MIN_LIQUIDITY), in US
	// dollars. 0 means no minimum. Set it before the first Publish.
	MinLiquidity float64

	// Seed, if set, makes ids reproducible when the clock stands still. An id then depends only on Seed, the
	// agent, the Idempotency-Key (or the body, if there is no key) and the item's index in the request. The
	// order of requests doesn't matter. A request without a key counts as a repeat if its body equals that of
	// an earlier one. Set Seed before the first Publish.
	Seed []byte

	// DecidedWhileOpen, if set, returns those of the given markets that already have an outcome although no source
	// has closed them. Publish refuses them like closed ones. Set it before the first Publish.
	DecidedWhileOpen func(ctx context.Context, db bun.IDB, list []market.Market) (map[string]bool, error)

	markets market.Store
	news    news.Store

	committer *committer
	claims    claims
	failing   atomic.Bool  // the last batch was not stored
	tried     atomic.Int64 // when a batch was stored or TryWrite tested the database, in Unix nanoseconds of now
}

// NewPublisher returns a Publisher that stores into db. If a market's price is older than fresh (three
// intervals of the market feed), the publisher warns that it has no fresh price. baseURL is the service's
// public address.
func NewPublisher(db *database.DB, now func() time.Time, fresh time.Duration, baseURL string) *Publisher {
	p := &Publisher{
		db: db, now: now, fresh: fresh, marketPages: baseURL + "/markets/", claims: claims{held: map[agentKey]chan struct{}{}},
	}
	batches := 1
	if db.Kind == database.Postgres {
		batches = postgresBatches
	}
	p.committer = newCommitter(batches, p.commit)
	return p
}

// Submission is one request to publish.
type Submission struct {
	Agent agent.Agent
	Draft Draft
	// Warnings come from the edge. They stand first in the receipt.
	Warnings []string
	// Refused is the error that the edge found. It is the answer, unless the request is a repeat.
	Refused error
	// DryRun checks everything and stores nothing.
	DryRun bool
	// IdempotencyKey and BodyHash identify a repeated request. The key is optional.
	IdempotencyKey string
	BodyHash       [32]byte
	// Render writes the answer. It runs inside the transaction, so that the stored answer is the one that was
	// sent. It may run after Publish has returned.
	Render func(Receipt) ([]byte, error)
}

// dryRunWarning is the last warning of a dry run, because the answer has an id and an address like any other.
const dryRunWarning = "Dry run: nothing was stored, so this id and url don't exist. Send the same request without dryRun to publish."

// Receipt is the result of a published submission.
type Receipt struct {
	Record Record
	// ReadAs restates the prediction in words.
	ReadAs   string
	Warnings []string
}

// Publish checks a submission and stores it. When it returns nil, the prediction is durable.
//
// It returns what Render wrote for this request, or for the first request with the same key. A repeat that
// arrives while the first is still being stored waits for its answer.
//
// Refusals are *problem.Error: invalid_prediction, market_closed, idempotency_mismatch and account_closed.
// Publish returns unavailable if the database fails, if too many submissions wait, after Stop, or if another
// transaction changes the agent's predictions for more than five seconds. If ctx ends first, the submission
// leaves the queue, but it may still be stored if its transaction has begun.
func (p *Publisher) Publish(ctx context.Context, s Submission) ([]byte, error) {
	r := p.publish(ctx, s.request(), s.DryRun)
	return r.answer, r.err
}

// PublishAll publishes several predictions in one transaction, in order; see Publish. A refused item is part of
// the answer, and the others are stored. repeat reports whether the answer is that of an earlier request with the same
// key; then nothing more was stored. After an error of the database, all of them may be stored, or none.
func (p *Publisher) PublishAll(ctx context.Context, s BatchSubmission) (answer []byte, repeat bool, err error) {
	r := p.publish(ctx, s.request(), s.DryRun)
	return r.answer, r.repeat, r.err
}

func (p *Publisher) publish(ctx context.Context, w *request, dryRun bool) result {
	if p.Seed != nil && w.idempotencyKey == "" {
		w.idempotencyKey = bodyKey(w.bodyHash)
	}
	if dryRun {
		answer, err := p.dryRun(ctx, w)
		return result{answer: answer, err: err}
	}
	for _, it := range w.items {
		it.cut(p.db)
	}
	return p.committer.do(ctx, w)
}

// Stop refuses new submissions. It returns when all waiting ones are answered, or when ctx ends.
func (p *Publisher) Stop(ctx context.Context) error { return p.committer.stop(ctx) }

// untriedFor is how long TryWrite trusts that the database accepts writes.
const untriedFor = 5 * time.Minute

// TryWrite returns nil if the last batch was stored, and not long ago. Otherwise it tests whether the database accepts
// writes.
func (p *Publisher) TryWrite(ctx context.Context) error {
	now, tried := p.now(), p.tried.Load()
	if !p.failing.Load() && (now.Sub(time.Unix(0, tried)).Abs() < untriedFor || !p.tried.CompareAndSwap(tried, now.UnixNano())) {
		return nil
	}
	err := database.TryWrite(ctx, p.db)
	p.failing.Store(err != nil)
	return err
}

func (p *Publisher) dryRun(ctx context.Context, w *request) ([]byte, error) {
	items := itemsOf([]*request{w})
	known, reads := p.lookUp(items)
	if err := database.ScanReads(ctx, p.db.Reader, reads...); err != nil {
		return nil, err
	}
	if err := p.lookUpRest(ctx, p.db.Reader, known, items); err != nil {
		return nil, err
	}
	outcomes := p.prepareAll(w, known, &Tally{}, database.Stored(p.now()))
	for i := range outcomes {
		if o := &outcomes[i]; o.Err == nil {
			o.Receipt.Warnings = append(o.Receipt.Warnings, dryRunWarning)
		}
	}
	return w.reply(outcomes)
}

// prepareAll prepares the items in order, without storing them. It counts each item in tally, and as an earlier
// prediction for the items after it.
func (p *Publisher) prepareAll(w *request, known *facts, tally *Tally, now time.Time) []ItemOutcome {
	outcomes := make([]ItemOutcome, len(w.items))
	before := map[agentEvent]int{} // of this request
	for i, it := range w.items {
		o := &outcomes[i]
		if o.Err = it.refused; o.Err != nil {
			continue
		}
		id := p.identify(w, i, tally, now)
		if o.Receipt, o.Err = p.prepare(w.agent, it, known, before, id); o.Err == nil {
			made := &o.Receipt.Record
			tally.addNew(&made.Prediction)
			before[eventOf(&made.Prediction)]++
			known.note(made)
		}
	}
	return outcomes
}

func (p *Publisher) prepare(
	a agent.Agent, it *item, known *facts, before map[agentEvent]int, id identity,
) (Receipt, error) {
	at := id.at
	to, warnings, err := known.link(it)
	if err != nil {
		return Receipt{}, err
	}
	if err := known.checkReveal(it, to, at); err != nil {
		return Receipt{}, err
	}
	draft := it.draft
	if to.market != nil {
		if draft, err = draft.complete(to.market, at); err != nil {
			return Receipt{}, err
		}
	}
	record := Record{Prediction: draft.prediction(a, to, id), Agent: a.Shown(), Market: to.market}
	if to.market != nil {
		record.EventKey = known.events[agentMarket{a.ID, to.market.ID}]
	}
	known.linkEvidence(record.Evidence)
	if err := record.seal(cmp.Or(draft.Reveal, RevealNow)); err != nil {
		return Receipt{}, err
	}
	if to.market != nil {
		event := eventOf(&record.Prediction)
		earlier := known.earlier[event].and(before[event])
		warnings = append(warnings, p.advice(&record, to, earlier, known.said[to.saidBy(a.ID)])...)
	}
	return Receipt{
		Record:   record,
		ReadAs:   readAs(&record, to),
		Warnings: append(append([]string{}, it.warnings...), warnings...),
	}, nil
}

func (d *Draft) prediction(a agent.Agent, to link, id identity) Prediction {
	model := d.Model
	if model == "" {
		model = a.Model
	}
	pr := Prediction{
		ID: id.id, AgentID: a.ID,
		Title: d.Title, Thesis: d.Thesis, Confidence: roundConfidence(*d.Confidence),
		HorizonAt: database.Stored(*d.HorizonAt), Category: d.Category, Model: model,
		Evidence: append([]Evidence{}, d.Evidence...), BaselineState: Unlinked,
		Status: Open, Sample: a.Sample, CreatedAt: id.at,
	}
	if m := to.market; m != nil {
		pr.MarketID, pr.Outcome, pr.OutcomeIndex = m.ID, m.Outcomes[to.outcome], &to.outcome
		pr.MarketCategory, pr.ScheduledCloseAt, pr.BaselineState = m.Category, m.ClosesAt, Pending
	}
	return pr
}
