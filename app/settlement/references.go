package settlement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// The reference agents, as the migrations create them.
var (
	// MarketAgent is the market. Its edge is always exactly 0, so it has no rows. A rebuild checks this.
	MarketAgent = uuid.MustParse("00000000-0000-7000-8000-000000000001")
	// FiftyAgent predicts 50 % on each market when the market is first seen.
	FiftyAgent = uuid.MustParse("00000000-0000-7000-8000-000000000002")
	// ConsensusAgent predicts the agents' median once five agents that count have an opinion.
	ConsensusAgent = uuid.MustParse("00000000-0000-7000-8000-000000000003")
)

var referenceAgents = []uuid.UUID{MarketAgent, FiftyAgent, ConsensusAgent}

func isReference(id uuid.UUID) bool { return slices.Contains(referenceAgents, id) }

// consensusAgents is how many agents that count Consensus needs.
const consensusAgents = 5

// ReferencePrediction is the one prediction of a reference agent on a market. It names the market's
// reference outcome (market.Reference) and never changes. Baseline is Confidence, clamped to the
// market's view at ObservedAt.
//
// Always 50 % predicts at the market's first observation. For siblings first seen in the same
// reading, rows are stored in the order of the markets' ids.
//
// Consensus predicts at the end of a tick that fixes a baseline on the market, once five agents
// that count at that time (ConsensusEvents) have an open prediction with a baseline on it.
// Confidence is the median of their last predictions, and ObservedAt the latest observation that
// fixed a baseline on the market. A prediction on the other outcome of a market with two counts as
// its complement. If a market has more outcomes, predictions on the others are left out. Later
// settlements and reversals don't change a row: docs/decisions/0007-newcomers.md.
type ReferencePrediction struct {
	bun.BaseModel `bun:"table:reference_predictions,alias:r"`

	AgentID     uuid.UUID `bun:",pk,type:uuid"`
	MarketID    string    `bun:",pk"`
	Outcome     string
	Confidence  float64
	Baseline    float64
	ObservedAt  time.Time
	EventKey    string
	WeightIndex int64
	Status      prediction.Status
	Value       *float64
	Edge        *score.Points
	SettledAt   time.Time `bun:",nullzero"` // when Status last changed
	CreatedAt   time.Time
}

// addFifty stores a row of Always 50 % for each observed market that has none.
func (s *Service) addFifty(ctx context.Context, observed []market.Market) error {
	ids := make([]string, 0, len(observed))
	for _, m := range observed {
		if !m.Closed {
			ids = append(ids, m.ID)
		}
	}
	var missing []string
	first := map[string]market.Price{}
	for chunk := range slices.Chunk(ids, s.chunk) {
		some, err := withoutReference(ctx, s.db.Reader, FiftyAgent, chunk)
		if err != nil {
			return err
		}
		prices, err := firstPrices(ctx, s.db.Reader, some)
		if err != nil {
			return err
		}
		missing = append(missing, some...)
		maps.Copy(first, prices)
	}
	// Siblings get their weights in this order. The markets that an interrupted call has left are the oldest.
	slices.SortFunc(missing, func(a, b string) int {
		return cmp.Or(first[a].ObservedAt.Compare(first[b].ObservedAt), compareIDs(a, b))
	})
	for chunk := range slices.Chunk(missing, s.chunk) {
		err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error { return s.insertFifty(ctx, tx, chunk, first) })
		if err != nil {
			return fmt.Errorf("add rows of Always 50 %%: %w", err)
		}
	}
	return nil
}

// withoutReference returns those of the given markets that have no row of a reference agent.
func withoutReference(ctx context.Context, db bun.IDB, agent uuid.UUID, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found []string
	err := db.NewSelect().Model((*ReferencePrediction)(nil)).Column("r.market_id").
		Where("r.agent_id = ?", agent).Where("r.market_id IN (?)", bun.List(ids)).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read reference rows: %w", err)
	}
	known := make(map[string]struct{}, len(found))
	for _, id := range found {
		known[id] = struct{}{}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := known[id]; return ok }), nil
}

// insertFifty stores rows of Always 50 % for those of the markets that have a first price and no such row.
func (s *Service) insertFifty(ctx context.Context, tx bun.Tx, ids []string, first map[string]market.Price) error {
	if err := lockReferences(ctx, tx); err != nil {
		return err
	}
	ids, err := withoutReference(ctx, tx, FiftyAgent, ids)
	if err != nil {
		return err
	}
	markets, err := market.Store{}.ByIDs(ctx, tx, ids)
	if err != nil {
		return err
	}
	var rows []newReference
	for i := range markets {
		m := &markets[i]
		price := first[m.ID]
		if view, ok := price.View(m.Reference()); ok {
			rows = append(rows, newReference{FiftyAgent, m, 0.5, view, price.ObservedAt.UTC()})
		}
	}
	slices.SortFunc(rows, func(a, b newReference) int {
		return cmp.Or(a.at.Compare(b.at), compareIDs(a.market.ID, b.market.ID))
	})
	return s.insertReferences(ctx, tx, rows)
}

// compareIDs orders decimal ids by their number. A shorter id is smaller.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// firstPrices returns the first observation of each market that has one.
func firstPrices(ctx context.Context, db bun.IDB, ids []string) (map[string]market.Price, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := market.Store{}.FirstPrices(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]market.Price, len(rows))
	for _, r := range rows {
		found[r.MarketID] = r
	}
	return found, nil
}

// newReference is a reference row to be stored.
type newReference struct {
	agent  uuid.UUID
	market *market.Market
	p      float64
	view   market.View
	at     time.Time
}

// insertReferences stores reference rows in the order given. They get weight indexes as predictions do. The
// agents must have no rows on these markets.
func (s *Service) insertReferences(ctx context.Context, tx bun.Tx, list []newReference) error {
	if len(list) == 0 {
		return nil
	}
	keys := make([]clusterKey, len(list))
	for i, x := range list {
		keys[i] = clusterKey{x.agent, x.market.EventKey()}
	}
	indexes, err := newWeightIndexes(ctx, tx, keys)
	if err != nil {
		return err
	}
	rows := make([]ReferencePrediction, 0, len(list))
	for i, x := range list {
		q, _ := score.Bounds{After: &x.view.View}.Clamp(x.p)
		rows = append(rows, ReferencePrediction{
			AgentID: x.agent, MarketID: x.market.ID, Outcome: x.market.Outcomes[x.market.Reference()],
			Confidence: x.p, Baseline: q, ObservedAt: x.at, EventKey: keys[i].event,
			WeightIndex: indexes.next(keys[i], x.market.Category, x.market.ClosesAt),
			Status:      prediction.Open, CreatedAt: database.Stored(s.now()),
		})
	}
	if err := indexes.save(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("store reference rows: %w", err)
	}
	return nil
}

// formConsensus stores a row of Consensus for those of the due markets that now have enough agents.
func (s *Service) formConsensus(ctx context.Context, due map[string]struct{}) error {
	var errs []error
	for _, id := range slices.SortedFunc(maps.Keys(due), compareIDs) {
		err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error { return s.consensusOn(ctx, tx, id) })
		if err != nil {
			errs = append(errs, fmt.Errorf("consensus on market %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Service) consensusOn(ctx context.Context, tx bun.Tx, id string) error {
	if err := lockReferences(ctx, tx); err != nil {
		return err
	}
	if err := prediction.ConsensusTried(ctx, tx, id); err != nil {
		return err
	}
	exists, err := tx.NewSelect().Model((*ReferencePrediction)(nil)).
		Where("r.agent_id = ?", ConsensusAgent).Where("r.market_id = ?", id).Exists(ctx)
	if err != nil || exists {
		return err
	}
	markets, err := market.Store{}.ByIDs(ctx, tx, []string{id})
	if err != nil || len(markets) == 0 {
		return err
	}
	m := &markets[0]
	confidences, at, err := openConfidences(ctx, tx, m)
	if err != nil || len(confidences) < consensusAgents {
		return err
	}
	rows, err := market.Store{}.PricesBetween(ctx, tx, []string{id}, at, at)
	if err != nil || len(rows) == 0 {
		return err
	}
	view, ok := rows[0].View(m.Reference())
	if !ok {
		return nil
	}
	median, _ := score.Median(confidences)
	return s.insertReferences(ctx, tx, []newReference{{ConsensusAgent, m, median, view, at}})
}

// openConfidences returns, for each agent that counts now, its latest probability of the market's
// reference outcome. at is the latest observation that fixed a baseline on the market. Disabled agents are left out, as
// from the consensus that is shown.
func openConfidences(ctx context.Context, tx bun.Tx, m *market.Market) (confidences []float64, at time.Time, err error) {
	opinions, err := prediction.Opinions(ctx, tx, []string{m.ID})
	if err != nil {
		return nil, at, err
	}
	opinions = slices.DeleteFunc(opinions, func(o prediction.Opinion) bool { return o.BaselineState != prediction.Fixed })
	agents := make([]uuid.UUID, 0, len(opinions))
	for _, o := range opinions {
		agents = append(agents, o.AgentID)
	}
	listed, err := agent.Store{}.ListedAmong(ctx, tx, agents)
	if err != nil {
		return nil, at, err
	}
	counts, err := CountInConsensus(ctx, tx, agents)
	if err != nil {
		return nil, at, err
	}
	seen := map[uuid.UUID]bool{}
	for _, o := range opinions {
		p, ok := m.OfReference(o.OutcomeIndex, o.Confidence)
		if !ok || !listed[o.AgentID] {
			continue
		}
		if o.BaselineObservedAt.After(at) {
			at = o.BaselineObservedAt
		}
		if counts[o.AgentID] && !seen[o.AgentID] {
			seen[o.AgentID] = true
			confidences = append(confidences, p)
		}
	}
	return confidences, at, nil
}
