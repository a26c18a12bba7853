package prediction

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
)

// Store reads and writes predictions. It redacts the records it returns for the public; For changes the viewer.
type Store struct {
	viewer  agent.Viewer
	agents  agent.Store
	markets market.Store
}

// Record is a prediction with its agent and its market.
type Record struct {
	Prediction
	Agent  agent.Agent
	Market *market.Market // nil if not linked
	// Withheld is the reason why the viewer doesn't see the texts. The texts are empty in that case.
	Withheld Reason
	// HiddenAlone says that an admin has hidden this prediction, whatever the visibility of its agent.
	HiddenAlone bool
}

// LiveEdge returns the edge that an open prediction would have at the current price. ok is false if there is no
// baseline or no price.
func (r *Record) LiveEdge() (edge score.Points, ok bool) {
	if r.Status != Open || r.Baseline == nil || r.Market == nil || r.OutcomeIndex == nil {
		return 0, false
	}
	price, ok := r.Market.PriceOf(*r.OutcomeIndex)
	if !ok {
		return 0, false
	}
	return score.LiveEdge(r.Confidence, *r.Baseline, price), true
}

// Insert stores an existing prediction unchanged, and counts it as new. It also stores the search words and
// citations of a revealed one. It is for imports; agents publish through a Publisher.
func (s Store) Insert(ctx context.Context, tx bun.Tx, p *Prediction) error {
	if err := generation.Move(ctx, tx, generation.Predictions); err != nil {
		return err
	}
	if err := LockTallies(ctx, tx, []uuid.UUID{p.AgentID}); err != nil {
		return err
	}
	tally, err := s.Tally(ctx, tx, p.AgentID)
	if err != nil {
		return err
	}
	if err := addRows(ctx, tx, p); err != nil {
		return err
	}
	tally.AgentID = p.AgentID
	tally.add(p)
	list := []*Prediction{p}
	var words []newWords
	if !p.Unrevealed {
		words = []newWords{{p.AgentID, p.ID, termsOf(tx, p.Title, p.Thesis)}}
	}
	writes := append(foundWrites(tx, list, words), talliesWrite([]*Tally{&tally}))
	if err := database.ExecWrites(ctx, tx, append(writes, marketCountWrites(list)...)...); err != nil {
		return fmt.Errorf("insert prediction: %w", err)
	}
	return nil
}

// The columns of Prediction in each of the two tables behind the view prediction_records.
var (
	predictionColumns = []string{
		"id", "agent_id", "title", "thesis", "confidence", "horizon_at", "category", "model", "evidence", "market_id",
		"outcome", "outcome_index", "event_key", "market_category", "scheduled_close_at", "reveal", "salt", "hash", "unrevealed",
		"revealed_at", "hidden", "newcomer", "sample", "created_at",
	}
	resultColumns = []string{
		"id", "agent_id", "market_id", "horizon_at", "scheduled_close_at", "newcomer", "sample", "created_at",
		"baseline_state", "baseline", "baseline_before", "baseline_after", "baseline_previous", "baseline_observed_at", "weight_index",
		"before_bid", "before_ask", "after_bid", "after_ask", "median_bid", "median_ask", "stake", "spread",
		"status", "resolution_value", "resolution_outcome", "resolution_source", "resolution_note", "resolved_at", "settled_at", "ruled",
		"brier", "edge", "log_edge", "day", "rules_version",
	}
)

// Add writes only the rows of a prediction, unchanged, and counts a revealed one on its market. Only tests of
// several packages use it; Insert does the rest of a publication.
func Add(ctx context.Context, db bun.IDB, p *Prediction) error {
	if err := addRows(ctx, db, p); err != nil || p.MarketID == "" || p.Unrevealed {
		return err
	}
	return CountOnMarkets(ctx, db, map[string]int64{p.MarketID: 1})
}

func addRows(ctx context.Context, db bun.IDB, p *Prediction) error {
	p.Reveal = cmp.Or(p.Reveal, RevealNow)
	return Restore(ctx, db, []Prediction{*p})
}

// ByID returns one prediction, or nil if there is none.
func (s Store) ByID(ctx context.Context, db bun.IDB, id uuid.UUID) (*Record, error) {
	var p Prediction
	planned := database.NewPlanned(db)
	err := planned.Scan(ctx, db.NewSelect().Model((*Prediction)(nil)).Where("p.id = ?", planned.Value(id)), &p)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read prediction: %w", err)
	}
	records, err := s.records(ctx, db, []Prediction{p})
	if err != nil {
		return nil, err
	}
	return &records[0], nil
}

// ByIDs returns several predictions by id. It leaves out ids that don't exist.
func (s Store) ByIDs(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]*Record, error) {
	found := make(map[uuid.UUID]*Record, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	list := make([]Prediction, 0, len(ids))
	// The second condition follows from the first, but Postgres doesn't know that. Without it, Postgres would
	// read all of a partitioned table of results.
	planned := database.NewPlanned(db)
	q := planned.In(db.NewSelect().Model((*Prediction)(nil)), "p.id", ids)
	err := planned.Scan(ctx, planned.In(q, "p.result_id", ids), &list)
	if err != nil {
		return nil, fmt.Errorf("read predictions: %w", err)
	}
	records, err := s.records(ctx, db, list)
	if err != nil {
		return nil, err
	}
	for i := range records {
		found[records[i].ID] = &records[i]
	}
	return found, nil
}

// records adds agents and markets, with one query for each.
func (s Store) records(ctx context.Context, db bun.IDB, list []Prediction) ([]Record, error) {
	agentIDs, marketIDs := make([]uuid.UUID, 0, len(list)), make([]string, 0, len(list))
	for i := range list {
		agentIDs = append(agentIDs, list[i].AgentID)
		if list[i].MarketID != "" {
			marketIDs = append(marketIDs, list[i].MarketID)
		}
	}
	agents, err := s.agents.ByIDs(ctx, db, agentIDs)
	if err != nil {
		return nil, err
	}
	markets, err := s.markets.ByIDs(ctx, db, marketIDs)
	if err != nil {
		return nil, err
	}
	out := make([]Record, len(list))
	byID := make(map[string]*market.Market, len(markets))
	for i := range markets {
		byID[markets[i].ID] = &markets[i]
	}
	for i := range list {
		out[i] = Record{Prediction: list[i], Market: byID[list[i].MarketID]}
		if a := agents[list[i].AgentID]; a != nil {
			out[i].Agent = *a
			out[i].redact(s.viewer)
		}
	}
	return out, nil
}
