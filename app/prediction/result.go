package prediction

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
)

// SelectResults begins a query on predictions AS p and their results AS s, with the columns that settling
// needs.
func SelectResults(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().TableExpr("predictions AS p").
		Join("JOIN results AS s ON s.agent_id = p.agent_id AND s.id = p.id").
		Column("p.id", "p.agent_id", "p.outcome", "p.outcome_index", "p.confidence", "p.category", "p.horizon_at", "p.market_id", "p.event_key", "p.market_category",
			"p.scheduled_close_at", "p.created_at", "s.baseline_state", "s.baseline", "s.weight_index", "s.status",
			"s.resolution_value", "s.resolution_outcome", "s.resolution_source", "s.resolution_note", "s.ruled", "p.reveal", "p.unrevealed")
}

// SelectVoided begins a query on the results AS s of void predictions, with their keys and the time of settling, which
// the index results_voided orders.
func SelectVoided(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().TableExpr("results AS s").Column("s.agent_id", "s.id", "s.settled_at").Where("s.status = 'void'")
}

// Which selects predictions of a market by status.
type Which int

// The three choices.
const (
	OnlyOpen Which = iota
	NotOpen
	OpenOrNot
)

// Key identifies a prediction and its result.
type Key struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	ID      uuid.UUID `bun:",type:uuid"`
}

// KeyOf returns the key of the prediction with this id, or nil if there is none.
func (Store) KeyOf(ctx context.Context, db bun.IDB, id uuid.UUID) (*Key, error) {
	var key Key
	err := db.NewRaw("SELECT agent_id, id FROM predictions WHERE id = ?", id).Scan(ctx, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a prediction: %w", err)
	}
	return &key, nil
}

// NextToSettle lists the next predictions on a market that don't wait for a baseline. It returns at most limit
// with ids greater than after, in the order of ids.
func (Store) NextToSettle(
	ctx context.Context, db bun.IDB, marketID string, which Which, after uuid.UUID, limit int,
) ([]Key, error) {
	var keys []Key
	if err := selectToSettle(db, marketID, which, after, limit).Scan(ctx, &keys); err != nil {
		return nil, fmt.Errorf("read predictions to settle: %w", err)
	}
	return keys, nil
}

func selectToSettle(db bun.IDB, marketID string, which Which, after uuid.UUID, limit int) *bun.SelectQuery {
	q := db.NewSelect().TableExpr("results AS s").Column("s.agent_id", "s.id").
		Where("s.baseline_state <> 'pending'").Limit(int64(limit))
	if which == OnlyOpen {
		return q.Where("s.status = 'open'").Where("s.market_id = ?", marketID).Where("s.id > ?", after).Order("s.id")
	}
	if which == NotOpen {
		q = q.Where("s.status <> 'open'")
	}
	// Order by p.id: with s.id, SQLite would sort all remaining rows of the market for each chunk.
	return q.Join("JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id").
		Where("p.market_id = ?", marketID).Where("p.id > ?", after).Order("p.id")
}

// PendingFilter chooses predictions that wait for a baseline.
type PendingFilter struct {
	// Until is the latest publication. It doesn't bound predictions on closed markets.
	Until time.Time
	// Markets, if any, limits the predictions to those on the events of these markets.
	Markets []string
	After   uuid.UUID // the last id of the page before
	Limit   int
}

// Awaiting is a prediction that waits for its baseline.
type Awaiting struct {
	Key
	MarketID  string
	CreatedAt time.Time
	Closed    bool // the market was closed
}

// Pending lists predictions that wait for a baseline, in the order of ids, which is that of publication for each agent.
// It finds each market with such predictions by one look-up in the index, and reads no prediction published after
// f.Until on a market that is open.
func (Store) Pending(ctx context.Context, db bun.IDB, f PendingFilter) ([]Awaiting, error) {
	// With an array, Postgres looks up each market in the index, whatever it knows about the table.
	among := "s.market_id IN (?)"
	if database.IsPostgres(db) {
		among = "s.market_id = ANY (ARRAY(?))"
	}
	on := func(markets, closed string) *bun.SelectQuery {
		return db.NewSelect().TableExpr("results AS s").Column("s.agent_id", "s.id", "s.market_id", "s.created_at").
			ColumnExpr(closed+" AS closed").Where("s.baseline_state = 'pending'").
			Where(among, db.NewSelect().TableExpr("held AS h").Column("h.market_id").Where(markets)).Where("s.id > ?", f.After)
	}
	due := db.NewSelect().TableExpr("(? UNION ALL ?) AS due", on("NOT h.closed", "FALSE").Where("s.created_at <= ?", f.Until.UTC()), on("h.closed", "TRUE")).
		Column("agent_id", "id", "market_id", "created_at", "closed").Order("id").Limit(int64(f.Limit))
	if len(f.Markets) > 0 {
		// A join would let the database begin with all predictions on the events.
		due.Where("(SELECT p.event_key FROM predictions AS p WHERE p.agent_id = due.agent_id AND p.id = due.id) IN ("+
			"SELECT f.event_key FROM results AS e JOIN predictions AS f ON f.agent_id = e.agent_id AND f.id = e.id"+
			" WHERE e.baseline_state = 'pending' AND e.market_id IN (?))", bun.List(f.Markets))
	}
	var list []Awaiting
	err := db.NewRaw(`WITH RECURSIVE waiting (market_id) AS (
			SELECT MIN(s.market_id) FROM results AS s WHERE s.baseline_state = 'pending'
			UNION ALL
			SELECT (SELECT MIN(s.market_id) FROM results AS s WHERE s.baseline_state = 'pending' AND s.market_id > w.market_id)
			FROM waiting AS w WHERE w.market_id IS NOT NULL
		), held AS (SELECT m.id AS market_id, m.closed FROM waiting AS w JOIN (?) AS m ON m.id = w.market_id)
		?`, market.Select(db).Column("m.id", "m.closed"), due).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("list pending predictions: %w", err)
	}
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	return list, nil
}

// ScanPending reads predictions AS p with their results AS s and their markets AS m into rows, in the order of agents,
// events and ids. The columns said, said_outcome and said_index are the confidence, the name and the place of the outcome
// of the agent's previous prediction on the same market, if it says something about the outcome of p. In a market with
// two outcomes, a prediction on the other one does, too; see score.Complement.
func ScanPending(ctx context.Context, tx bun.Tx, keys []Key, rows any) error {
	q := tx.NewSelect().TableExpr("v").
		Join("JOIN results AS s ON s.agent_id = v.agent_id AND s.id = v.id").
		Join("JOIN predictions AS p ON p.agent_id = v.agent_id AND p.id = v.id").
		Join("JOIN (?) AS m ON m.id = p.market_id", market.Select(tx)).
		Join("LEFT JOIN predictions AS said ON said.agent_id = p.agent_id AND said.id = ("+
			"SELECT r.id FROM predictions AS r WHERE r.agent_id = p.agent_id AND r.market_id = p.market_id AND r.id < p.id"+
			" AND (r.outcome = p.outcome OR "+market.HasTwoOutcomes(tx)+") ORDER BY r.id DESC LIMIT 1)").
		Column("p.id", "p.agent_id", "p.market_id", "p.outcome", "p.outcome_index", "m.outcomes", "p.event_key", "p.market_category", "p.confidence",
			"p.created_at", "p.scheduled_close_at", "s.status", "s.baseline_state", "m.closed", "m.closed_at").
		ColumnExpr("said.confidence AS said, said.outcome AS said_outcome, said.outcome_index AS said_index").
		Order("p.agent_id", "p.event_key", "p.id")
	if err := database.ScanRows(ctx, tx, q.String(), keys, rows); err != nil {
		return fmt.Errorf("read pending predictions: %w", err)
	}
	return nil
}

// CountByStatus counts the predictions on a market by status. It leaves out predictions with a ruling.
func (Store) CountByStatus(ctx context.Context, db bun.IDB, marketID string) (map[Status]int64, error) {
	var rows []struct {
		Status Status
		N      int64
	}
	err := db.NewSelect().Model((*Prediction)(nil)).ColumnExpr("p.status, count(*) AS n").
		Where("p.market_id = ?", marketID).Where("NOT p.ruled").GroupExpr("p.status").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("count predictions: %w", err)
	}
	counts := make(map[Status]int64, len(rows))
	for _, r := range rows {
		counts[r.Status] = r.N
	}
	return counts, nil
}

// Baseline holds the columns that a decision on a baseline writes. Unless State is Fixed, all but State and the
// keys are nil. Bids and asks are also nil if no book is known.
type Baseline struct {
	AgentID     uuid.UUID     `bun:",type:uuid"`
	ID          uuid.UUID     `bun:",type:uuid"`
	State       BaselineState `bun:",type:text"`
	Q           *float64      `bun:",type:double precision"`
	Before      *float64      `bun:",type:double precision"`
	BeforeBid   *float64      `bun:",type:double precision"`
	BeforeAsk   *float64      `bun:",type:double precision"`
	After       *float64      `bun:",type:double precision"`
	AfterBid    *float64      `bun:",type:double precision"`
	AfterAsk    *float64      `bun:",type:double precision"`
	MedianBid   *float64      `bun:",type:double precision"`
	MedianAsk   *float64      `bun:",type:double precision"`
	Previous    *float64      `bun:",type:double precision"`
	ObservedAt  time.Time     `bun:",nullzero,type:timestamptz"`
	WeightIndex *int64        `bun:",type:bigint"`
	Stake       *score.Points `bun:",type:bigint"`
	Spread      *score.Points `bun:",type:bigint"`
}

// FixBaselines writes the baselines of predictions that still wait for one.
func FixBaselines(ctx context.Context, tx bun.Tx, rows []Baseline) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := database.ExecRows(ctx, tx, "UPDATE results AS p SET baseline_state = v.state, baseline = v.q, baseline_before = v.before,"+
		" baseline_after = v.after, baseline_previous = v.previous, baseline_observed_at = v.observed_at, weight_index = v.weight_index,"+
		" before_bid = v.before_bid, before_ask = v.before_ask, after_bid = v.after_bid, after_ask = v.after_ask,"+
		" median_bid = v.median_bid, median_ask = v.median_ask, stake = v.stake, spread = v.spread"+
		" FROM v WHERE p.agent_id = v.agent_id AND p.id = v.id AND p.baseline_state = 'pending'", rows)
	if err != nil {
		return fmt.Errorf("write baselines: %w", err)
	}
	return generation.Move(ctx, tx, generation.Results)
}

// Resolution holds the columns that resolving, voiding or reopening a prediction writes.
type Resolution struct {
	AgentID    uuid.UUID     `bun:",type:uuid"`
	ID         uuid.UUID     `bun:",type:uuid"`
	Was        Status        `bun:",type:text"` // the status when it was read
	Status     Status        `bun:",type:text"`
	Value      *float64      `bun:",type:double precision"`
	Outcome    string        `bun:",nullzero,type:text"`
	Source     string        `bun:",nullzero,type:text"`
	Note       string        `bun:",nullzero,type:text"`
	ResolvedAt time.Time     `bun:",nullzero,type:timestamptz"`
	SettledAt  time.Time     `bun:",type:timestamptz"`
	Brier      *float64      `bun:",type:double precision"`
	Edge       *score.Points `bun:",type:bigint"`
	LogEdge    *float64      `bun:",type:double precision"`
	// The scores count on Day and in ScoreCategory, as those of the ledger entry do.
	Day           string `bun:",nullzero,type:text"`
	ScoreCategory string `bun:",nullzero,type:text"`
	RulesVersion  string `bun:",nullzero,type:text"`
	Ruled         bool   `bun:",type:boolean"`
}

// Resolve writes resolutions. It fails if the status of a prediction has changed since it was read.
func Resolve(ctx context.Context, tx bun.Tx, rows []Resolution) error {
	if len(rows) == 0 {
		return nil
	}
	res, err := database.ExecRows(ctx, tx, "UPDATE results AS p SET status = v.status, resolution_value = v.value, resolution_outcome = v.outcome,"+
		" resolution_source = v.source, resolution_note = v.note, resolved_at = v.resolved_at, settled_at = v.settled_at, brier = v.brier, edge = v.edge,"+
		" log_edge = v.log_edge, day = v.day, score_category = v.score_category, rules_version = v.rules_version,"+
		" ruled = v.ruled"+
		" FROM v WHERE p.agent_id = v.agent_id AND p.id = v.id AND p.status = v.was", rows)
	if err != nil {
		return fmt.Errorf("write resolutions: %w", err)
	}
	n, err := res.RowsAffected()
	if err == nil && n != int64(len(rows)) {
		err = fmt.Errorf("write resolutions: %d of %d predictions were in the status they were read in", n, len(rows))
	}
	if err != nil {
		return err
	}
	return generation.Move(ctx, tx, generation.Results)
}
