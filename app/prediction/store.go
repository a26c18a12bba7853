package prediction

import (
	"cmp"
	"context"
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
	viewer agent.Viewer
	agents agent.Store
}

// Record is a prediction with its agent and its market.
type Record struct {
	Prediction
	Agent agent.Shown
	// Market is nil if the prediction isn't linked. A record that was read has the columns of market.JoinShown only.
	Market *market.Market
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
		"brier", "edge", "log_edge", "day", "score_category", "rules_version",
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
	records, err := s.read(ctx, db, func(q *bun.SelectQuery, p *database.Planned) *bun.SelectQuery {
		return q.Where("p.id = ?", p.Value(id))
	})
	if err != nil || len(records) == 0 {
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
	// The second condition follows from the first, but Postgres doesn't know that. Without it, Postgres would
	// read all of a partitioned table of results.
	records, err := s.read(ctx, db, func(q *bun.SelectQuery, p *database.Planned) *bun.SelectQuery {
		return p.In(p.In(q, "p.id", ids), "p.result_id", ids)
	})
	if err != nil {
		return nil, err
	}
	for i := range records {
		found[records[i].ID] = &records[i]
	}
	return found, nil
}

// recordRow is a prediction as selectRecords selects it, with the columns of its agent and its market.
type recordRow struct {
	Prediction
	Author agent.Shown   `bun:"embed:author_"`
	Linked market.Market `bun:"embed:linked_"`
}

// record returns the record of a row, redacted for the viewer.
func (s Store) record(row *recordRow) Record {
	r := Record{Prediction: row.Prediction, Agent: row.Author}
	if row.Linked.ID != "" {
		r.Market = row.Linked.UTC()
	}
	r.redact(s.viewer)
	return r
}

// selectRecords makes q, which is on prediction_records AS p, select the columns of recordRow.
func selectRecords(q *bun.SelectQuery) *bun.SelectQuery {
	q = q.Model((*Prediction)(nil)).ColumnExpr("?TableColumns")
	return market.JoinShown(agent.JoinShown(q, "p.agent_id", "author_"), "p.market_id", "linked_")
}

// read returns the predictions AS p that where selects, with their agents and markets, by one statement.
func (s Store) read(
	ctx context.Context, db bun.IDB, where func(*bun.SelectQuery, *database.Planned) *bun.SelectQuery,
) ([]Record, error) {
	planned := database.NewPlanned(db)
	var rows []recordRow
	if err := planned.Scan(ctx, where(selectRecords(db.NewSelect()), planned), &rows); err != nil {
		return nil, fmt.Errorf("read predictions: %w", err)
	}
	records := make([]Record, len(rows))
	for i := range rows {
		records[i] = s.record(&rows[i])
	}
	return records, nil
}
