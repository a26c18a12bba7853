package settlement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/update"
)

// storedWithin is how long after its reading a price may still be missing from the database.
const storedWithin = time.Minute

// BaselineWithin is the longest time from publication to a baseline, or to the decision that there is none.
const BaselineWithin = score.AfterWithin + storedWithin

// FixBaselines decides every pending prediction that can be decided: it gets a baseline, or is
// recorded as having none. With marketIDs, only predictions on the events of these markets are
// decided. An agent's predictions on one event are decided in the order of publication. One that
// still waits for its price holds up the later ones, so the weights depend only on the times of
// publication.
//
// Pending predictions of any age are decided, so a stop of the service loses none.
func (s *Service) FixBaselines(ctx context.Context, marketIDs ...string) error {
	return s.fixBaselines(ctx, time.Time{}, marketIDs...)
}

// fixBaselines is FixBaselines, but begins no further chunk after stop unless stop is zero. The next call decides what is
// left, beginning with the oldest.
func (s *Service) fixBaselines(ctx context.Context, stop time.Time, marketIDs ...string) error {
	run := baselineRun{
		service: s, until: s.now().Add(-score.AfterDelay(s.interval)), blocked: map[clusterKey]struct{}{}, due: map[string]struct{}{},
	}
	if len(marketIDs) == 0 {
		left, err := prediction.Store{}.ConsensusDue(ctx, s.db.Reader) // by an interrupted run
		if err != nil {
			return fmt.Errorf("fix baselines: %w", err)
		}
		for _, id := range left {
			run.due[id] = struct{}{}
		}
	}
	next := prediction.PendingFilter{Until: run.until, Markets: marketIDs, Limit: s.listed}
	for more := true; more; {
		list, err := prediction.Store{}.Pending(ctx, s.db.Reader, next)
		if err != nil {
			return fmt.Errorf("fix baselines: %w", err)
		}
		if more = len(list) == s.listed; more {
			next.After = list[len(list)-1].ID
		}
		for len(list) > 0 {
			if err := run.look(ctx, &list); err != nil {
				return fmt.Errorf("fix baselines: %w", err)
			}
			for chunk := range slices.Chunk(run.looked, s.chunk) {
				err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error { return run.chunk(ctx, tx, chunk) })
				if err != nil {
					return fmt.Errorf("fix baselines: %w", err)
				}
				if err := s.afterChunk(); err != nil {
					return err
				}
				if !stop.IsZero() && !time.Now().Before(stop) {
					return s.formConsensus(ctx, run.due)
				}
			}
		}
	}
	return s.formConsensus(ctx, run.due)
}

// pending is a prediction that waits for its baseline, and the facts of its market.
type pending struct {
	ID               uuid.UUID `bun:",type:uuid"`
	AgentID          uuid.UUID `bun:",type:uuid"`
	MarketID         string
	Outcome          string
	OutcomeIndex     int
	Outcomes         []string `bun:"type:json"` // the market's outcomes now
	EventKey         string
	Confidence       float64
	Status           prediction.Status
	BaselineState    prediction.BaselineState
	CreatedAt        time.Time
	ScheduledCloseAt time.Time `bun:",nullzero"`
	Said             *float64  // the agent's previous confidence on the market, about SaidOutcome; nil if there is none
	SaidOutcome      string    `bun:",nullzero"`
	SaidIndex        int       `bun:",nullzero"`
	Closed           bool
	ClosedAt         time.Time `bun:",nullzero"`
	MarketCategory   string    `bun:",nullzero"`
	// Final says that no view after publication is missing from the prices that were read.
	Final bool `bun:"-"`
}

// previous returns the agent's previous confidence as one about the outcome of p, or nil if there is none. So an agent
// that believes 0.7 of "Yes" isn't paid again for 0.3 of "No". The source may have renamed the outcomes between the two
// predictions, or listed them in another order. So an equal name means the same outcome. An equal place does too, if the
// market has no outcome with the earlier name any more.
func (p *pending) previous() *float64 {
	renamed := p.SaidIndex == p.OutcomeIndex && !slices.Contains(p.Outcomes, p.SaidOutcome)
	if p.Said == nil || p.SaidOutcome == p.Outcome || renamed {
		return p.Said
	}
	other := score.Complement(*p.Said)
	return &other
}

// baselineRun walks through the pending predictions in the order of publication.
type baselineRun struct {
	service *Service
	until   time.Time               // no view counts yet after later publications
	blocked map[clusterKey]struct{} // an earlier prediction of the agent on the event waits
	due     map[string]struct{}     // the markets that got a baseline and have no row of Consensus

	looked []prediction.Awaiting // the predictions to decide next
	prices map[string]history    // that may bound their baselines, by market
	at     time.Time             // before the prices were read
}

// look takes the next predictions from the list, and reads the prices that may bound their baselines. It runs outside
// the transactions, because these keep agents from publishing and, on SQLite, all others from writing. A price may arrive
// between look and the decision. So a market counts as closed only if the list, which was read before the prices, says
// so, and time has run out only if it had at look. All else waits for the next run, which finds the price.
func (r *baselineRun) look(ctx context.Context, list *[]prediction.Awaiting) (err error) {
	r.at = r.service.now()
	n, markets, from, to := r.service.priced(*list)
	r.looked, *list = (*list)[:n], (*list)[n:]
	r.prices, err = r.service.loadPrices(ctx, markets, from, to)
	return err
}

// pricesRead is about the most prices that are in memory at a time. They take some 20 MB.
const pricesRead = 100_000

// priced returns how many predictions at the beginning of a list need about pricesRead prices, at least one, and the
// markets and the times of these prices.
func (s *Service) priced(list []prediction.Awaiting) (n int, markets []string, from, to time.Time) {
	found := map[string]struct{}{}
	for _, p := range list {
		first, last := p.CreatedAt.Add(-s.PricesBefore()), p.CreatedAt.Add(score.AfterWithin)
		if n > 0 && from.Before(first) {
			first = from
		}
		if n > 0 && to.After(last) {
			last = to
		}
		found[p.MarketID] = struct{}{}
		if n > 0 && len(found)*int(last.Sub(first)/s.interval) > pricesRead {
			break // found has a market too many, which does no harm
		}
		n, from, to = n+1, first, last
	}
	return n, slices.Sorted(maps.Keys(found)), from, to
}

// chunk decides the next predictions. It locks their agents before it reads them, because another worker may have
// decided some since they were listed.
func (r *baselineRun) chunk(ctx context.Context, tx bun.Tx, list []prediction.Awaiting) error {
	keys, closed := make([]prediction.Key, len(list)), make(map[uuid.UUID]bool, len(list))
	for i, p := range list {
		keys[i], closed[p.ID] = p.Key, p.Closed
	}
	if err := prediction.LockTalliesOf(ctx, tx, keys); err != nil {
		return err
	}
	var rows []pending
	if err := prediction.ScanPending(ctx, tx, keys, &rows); err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(p pending) bool { return p.BaselineState != prediction.Pending })
	if len(rows) == 0 {
		return nil
	}
	for i := range rows {
		p := &rows[i]
		p.CreatedAt, p.ClosedAt = p.CreatedAt.UTC(), p.ClosedAt.UTC()
		p.Final = p.Closed && closed[p.ID] || r.at.After(p.CreatedAt.Add(BaselineWithin))
	}
	return r.decide(ctx, tx, rows)
}

// decide fixes the baselines of those rows that can be decided.
func (r *baselineRun) decide(ctx context.Context, tx bun.Tx, rows []pending) error {
	keys := make([]clusterKey, len(rows))
	for i := range rows {
		keys[i] = clusterKey{rows[i].AgentID, rows[i].EventKey}
	}
	indexes, err := newWeightIndexes(ctx, tx, keys)
	if err != nil {
		return err
	}
	decided, updates := make([]prediction.Baseline, 0, len(rows)), make([]update.Update, 0, len(rows))
	now, fixed := database.Stored(r.service.now()), map[string]bool{} // by market that got a decision
	for i, p := range rows {
		key := keys[i]
		if _, blocked := r.blocked[key]; blocked {
			continue
		}
		row, ok := r.service.baselineOf(&p, r.prices[p.MarketID])
		// A later publication is listed without the earlier ones on markets that are open, so it mustn't get a weight. It
		// can have a baseline only if the clocks of two nodes differ.
		if !ok || (row.State == prediction.Fixed && p.CreatedAt.After(r.until)) {
			r.blocked[key] = struct{}{}
			continue
		}
		if row.State == prediction.Fixed {
			index := indexes.next(key, p.MarketCategory, p.ScheduledCloseAt)
			row.WeightIndex = &index
		}
		fixed[p.MarketID] = fixed[p.MarketID] || row.State == prediction.Fixed
		decided, updates = append(decided, row), append(updates, p.fixedUpdate(&row, now))
	}
	if err := indexes.save(ctx, tx); err != nil {
		return err
	}
	if err := prediction.FixBaselines(ctx, tx, decided); err != nil {
		return err
	}
	if err := update.Record(ctx, tx, updates...); err != nil {
		return err
	}
	if err := r.markDue(ctx, tx, fixed); err != nil {
		return err
	}
	return prediction.RevealBaselines(ctx, tx, decided, r.service.now())
}

// markDue notes in the database which markets may now get a row of Consensus, so that the next run stores the row if
// this one is interrupted. fixed says of each market with a decision whether it got a baseline.
func (r *baselineRun) markDue(ctx context.Context, tx bun.Tx, fixed map[string]bool) error {
	due, ids := make(map[string]bool, len(fixed)), make([]string, 0, len(fixed))
	for id, is := range fixed {
		due[id] = false
		if is {
			ids = append(ids, id)
		}
	}
	ids, err := withoutReference(ctx, tx, ConsensusAgent, ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		due[id], r.due[id] = true, struct{}{}
	}
	return prediction.BaselinesDecided(ctx, tx, due)
}

// history is a market's observations, oldest first.
type history []market.Price

// since returns the observations made at a moment or later.
func (h history) since(at time.Time) history {
	i, _ := slices.BinarySearchFunc(h, at, func(p market.Price, at time.Time) int { return p.ObservedAt.Compare(at) })
	return h[i:]
}

// fresh is the maximum age of a view before publication.
func (s *Service) fresh() time.Duration { return score.BeforeMaxIntervals * s.interval }

// loadPrices reads the observations of markets between two times.
func (s *Service) loadPrices(ctx context.Context, markets []string, from, to time.Time) (map[string]history, error) {
	prices, err := market.Store{}.PricesBetween(ctx, s.db.Reader, markets, from, to)
	if err != nil {
		return nil, err
	}
	found := make(map[string]history, len(markets))
	for i, p := range prices {
		if own := found[p.MarketID]; own == nil {
			found[p.MarketID] = prices[i : i+1]
		} else {
			found[p.MarketID] = own[:len(own)+1] // the prices of a market follow each other
		}
	}
	return found, nil
}

// baselineOf returns a prediction's baseline, or the state that says why there is none. It reports
// false while the view after publication may still arrive.
func (s *Service) baselineOf(p *pending, h history) (prediction.Baseline, bool) {
	row := prediction.Baseline{AgentID: p.AgentID, ID: p.ID, State: prediction.Missed}
	before, after := s.around(p, h)
	switch {
	case after == nil:
		return row, p.Final
	case s.illiquid(before), s.illiquid(after):
		row.State = prediction.Illiquid
	default:
		fix(&row, p, before, after, s.hour(p, h))
	}
	return row, true
}

// around returns the observations of the views before and after publication, each nil if there is
// none.
func (s *Service) around(p *pending, h history) (before, after *market.Price) {
	h = h.since(p.CreatedAt.Add(-s.fresh()))
	for i := range h {
		at := h[i].ObservedAt
		_, known := h[i].View(p.OutcomeIndex)
		open := p.ClosedAt.IsZero() || at.Before(p.ClosedAt)
		switch {
		case !known:
		case score.CountsBefore(p.CreatedAt, at, s.interval):
			before = &h[i]
		case open && score.CountsAfter(p.CreatedAt, at, s.interval):
			return before, &h[i]
		}
	}
	return before, nil
}

// illiquid reports whether an observation shows less than the minimum liquidity. Unknown liquidity
// passes.
func (s *Service) illiquid(p *market.Price) bool {
	return p != nil && p.Liquidity != nil && *p.Liquidity < s.minLiquidity
}

// hour returns the median view of the hour before publication, or nil if none is known. The view at
// the start of the hour counts only if it was observed at most fresh before that start.
func (s *Service) hour(p *pending, h history) *score.View {
	var quotes []score.Quote
	for _, o := range h.since(p.CreatedAt.Add(-s.PricesBefore())) {
		if o.ObservedAt.After(p.CreatedAt) {
			break
		}
		if v, known := o.View(p.OutcomeIndex); known {
			quotes = append(quotes, score.Quote{At: o.ObservedAt, View: v.View})
		}
	}
	if median, ok := score.MedianView(quotes, p.CreatedAt); ok {
		return &median
	}
	return nil
}

// fix sets the baseline and the values it follows from. Without a view before publication, the
// median of the hour doesn't count either.
func fix(r *prediction.Baseline, p *pending, before, after *market.Price, hour *score.View) {
	bounds := score.Bounds{Previous: p.previous()}
	bounds.After, r.After, r.AfterBid, r.AfterAsk = shown(after, p.OutcomeIndex)
	if before != nil {
		bounds.Before, r.Before, r.BeforeBid, r.BeforeAsk = shown(before, p.OutcomeIndex)
		bounds.Hour = hour
	}
	if bounds.Hour != nil {
		r.MedianBid, r.MedianAsk = &hour.Bid, &hour.Ask
	}
	q, _ := bounds.Clamp(p.Confidence)
	stake, spread := score.Stake(p.Confidence, q), score.Spread(p.Confidence, q)
	r.State, r.Q, r.Previous, r.ObservedAt = prediction.Fixed, &q, bounds.Previous, after.ObservedAt
	r.Stake, r.Spread = &stake, &spread
}

// shown returns an observation of an outcome as a bound, and its price, bid and ask as they are
// stored. bid and ask are nil without a book.
func shown(p *market.Price, outcome int) (bound *score.View, price, bid, ask *float64) {
	v, _ := p.View(outcome)
	if v.Book {
		bid, ask = &v.Bid, &v.Ask
	}
	return &v.View, &v.Price, bid, ask
}
