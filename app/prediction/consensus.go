package prediction

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
)

// Consensus is what the agents together think of a market, as it is stored.
//
// Publishing moves Predictions and sets Changed, a later reveal too. So does, without a new prediction, whatever
// opens or closes predictions or changes who counts; it also clears CountedAt. A count begins
// with TakeChanged, which sets CountedAt, and ends with SaveConsensus, which clears Changed
// only if Predictions and CountedAt are still those that it began with. So a count holds no
// lock, misses nothing, and one that is cut off is done again.
type Consensus struct {
	bun.BaseModel `bun:"table:market_consensus,alias:c"`

	MarketID string `bun:",pk,type:text"`
	// Outcome is what the probabilities are of: "Yes", else the market's first outcome.
	Outcome     string `bun:",type:text"`
	Predictions int64  `bun:",type:bigint"` // ever revealed on the market
	// Agents have an open prediction and count; Others have one and are too new to count.
	// Together they are at most twice maxVoices.
	Agents int `bun:",type:bigint"`
	Others int `bun:",type:bigint"`
	// Median, and the mean of the log odds weighted by skill (see score.WeightedConsensus),
	// 0..1; nil when no agent counts.
	Median   *float64 `bun:",type:double precision"`
	Weighted *float64 `bun:",type:double precision"`
	// Changed says that Agents, Others, Median and Weighted wait to be counted anew.
	Changed bool `bun:",type:boolean"`
	// CountedAt is when the latest count began, zero if what it counted has changed since or
	// there was none.
	CountedAt time.Time `bun:",nullzero,type:timestamptz"`
}

// Consensus reads what the agents together think of some markets. Markets without any
// prediction are left out.
func (Store) Consensus(ctx context.Context, db bun.IDB, marketIDs []string) (map[string]Consensus, error) {
	found := make(map[string]Consensus, len(marketIDs))
	if len(marketIDs) == 0 {
		return found, nil
	}
	var rows []Consensus
	if err := db.NewSelect().Model(&rows).Where("c.market_id IN (?)", bun.List(marketIDs)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read consensus: %w", err)
	}
	for _, c := range rows {
		found[c.MarketID] = c
	}
	return found, nil
}

// marketCount is how many predictions are new on a market.
type marketCount struct {
	MarketID string `bun:",type:text"`
	Count    int64  `bun:",type:bigint"`
}

// addCounts adds marketCounts.
const addCounts = `INSERT INTO market_consensus AS c (market_id, predictions, changed)
	SELECT market_id, count, TRUE FROM v WHERE TRUE ORDER BY market_id
	ON CONFLICT (market_id) DO UPDATE SET predictions = c.predictions + EXCLUDED.predictions, changed = TRUE`

// countsOf sorts counts by market, so that transactions lock markets in one order.
func countsOf(published map[string]int64) []marketCount {
	rows := make([]marketCount, 0, len(published))
	for _, id := range slices.Sorted(maps.Keys(published)) {
		rows = append(rows, marketCount{id, published[id]})
	}
	return rows
}

// AddToMarkets counts newly published or revealed predictions, by market. It is the last step of a
// transaction that publishes or reveals: others wait for the rows until it commits.
func AddToMarkets(ctx context.Context, db bun.IDB, published map[string]int64) error {
	if len(published) == 0 {
		return nil
	}
	if _, err := database.ExecPlannedRows(ctx, db, addCounts, countsOf(published)); err != nil {
		return fmt.Errorf("count predictions on markets: %w", err)
	}
	return nil
}

// ConsensusChanged has the consensus of markets counted anew, because predictions on them
// were settled or opened again. It is the last step of its transaction.
func ConsensusChanged(ctx context.Context, tx bun.Tx, marketIDs ...string) error {
	if err := lockConsensus(ctx, tx, marketIDs); err != nil || len(marketIDs) == 0 {
		return err
	}
	_, err := tx.NewUpdate().Model((*Consensus)(nil)).Set("changed = TRUE").Set("counted_at = NULL").
		Where("market_id IN (?)", bun.List(marketIDs)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that consensus changed: %w", err)
	}
	return nil
}

// maxChanged is how many open predictions AgentsChanged looks at.
const maxChanged = 5000

// AgentsChanged has the consensus of markets counted anew on which agents have an open
// prediction, because they begin or cease to count, and of some markets more. Where the agents
// have more than maxChanged open predictions, RefreshConsensus finds the other markets later.
// It is the last step of its transaction.
func AgentsChanged(ctx context.Context, tx bun.Tx, agents []uuid.UUID, marketIDs ...string) error {
	if len(agents) > 0 {
		var ids []string
		err := tx.NewRaw(`SELECT DISTINCT o.market_id FROM (SELECT r.market_id FROM results AS r
			WHERE r.agent_id IN (?) AND r.status = 'open' LIMIT ?) AS o WHERE o.market_id IS NOT NULL`, bun.List(agents), maxChanged).
			Scan(ctx, &ids)
		if err != nil {
			return fmt.Errorf("read the markets of agents: %w", err)
		}
		marketIDs = append(ids, marketIDs...)
	}
	return ConsensusChanged(ctx, tx, marketIDs...)
}

// RefreshConsensus has the consensus of at most limit markets counted anew whose latest count
// began before a moment, the oldest first: the weights of the agents have moved since.
func RefreshConsensus(ctx context.Context, db *database.DB, before time.Time, limit int) error {
	var ids []string
	err := db.Reader.NewSelect().Model((*Consensus)(nil)).Column("market_id").
		Where("c.agents + c.others > 0").Where("c.counted_at < ?", before.UTC()).
		Order("c.counted_at").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read old consensus: %w", err)
	}
	if len(ids) == 0 {
		return nil
	}
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return ConsensusChanged(ctx, tx, ids...) })
}

// TakeChanged begins a count of the next markets, at most limit after an id, in the order of
// ids. What was committed before it returns belongs to the count.
func TakeChanged(ctx context.Context, db *database.DB, after string, limit int, now time.Time) ([]Consensus, error) {
	var rows []Consensus
	next := func(db bun.IDB) *bun.SelectQuery {
		return db.NewSelect().Model(&rows).Where("c.changed").Where("c.market_id > ?", after).
			Order("c.market_id").Limit(int64(limit))
	}
	// The reader looks first: on SQLite the writer would be taken from those who publish.
	if err := next(db.Reader).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		if err := database.ForUpdate(next(tx)).Scan(ctx); err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		for i := range rows {
			rows[i].CountedAt = database.Now(now)
			ids[i] = rows[i].MarketID
		}
		_, err := tx.NewUpdate().Model((*Consensus)(nil)).Set("counted_at = ?", database.Now(now)).
			Where("market_id IN (?)", bun.List(ids)).Exec(ctx)
		if err != nil {
			return err
		}
		return database.CommitLater(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("take changed consensus: %w", err)
	}
	return rows, nil
}

// SaveConsensus ends a count of rows that TakeChanged returned, with their new values. What
// changed during the count stays marked as changed.
func SaveConsensus(ctx context.Context, tx bun.Tx, rows []Consensus) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].MarketID
	}
	if err := lockConsensus(ctx, tx, ids); err != nil || len(rows) == 0 {
		return err
	}
	_, err := database.ExecRows(ctx, tx, `UPDATE market_consensus AS c SET
		outcome = v.outcome, agents = v.agents, others = v.others, median = v.median, weighted = v.weighted,
		changed = CASE WHEN c.predictions = v.predictions AND c.counted_at = v.counted_at THEN FALSE ELSE TRUE END
		FROM v WHERE c.market_id = v.market_id AND c.changed`, rows)
	if err != nil {
		return fmt.Errorf("store consensus: %w", err)
	}
	return nil
}

// MarketCount is how many predictions a market is said to have, and how many it has.
type MarketCount struct {
	MarketID   string
	Have, Want int64
}

// RecountMarkets compares the counts of the next markets, at most limit after an id, with
// their predictions, and has the consensus of all counted anew. With replace it corrects
// counts that differ. Publishing on these markets waits until tx ends.
func RecountMarkets(ctx context.Context, tx bun.Tx, after string, limit int, replace bool) ([]MarketCount, error) {
	ids, err := nextPredicted(ctx, tx, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// A row for each, so that there is something to lock before the predictions are counted.
	none := make(map[string]int64, len(ids))
	for _, id := range ids {
		none[id] = 0
	}
	if err := AddToMarkets(ctx, tx, none); err != nil {
		return nil, err
	}
	var counts []MarketCount
	err = tx.NewRaw(`SELECT c.market_id, c.predictions AS have,
			(SELECT COUNT(*) FROM predictions AS p WHERE p.market_id = c.market_id AND `+revealed+`) AS want
		FROM market_consensus AS c WHERE c.market_id IN (?) ORDER BY c.market_id`, bun.List(ids)).Scan(ctx, &counts)
	if err != nil {
		return nil, fmt.Errorf("count predictions on markets: %w", err)
	}
	missing := map[string]int64{}
	for _, c := range counts {
		if replace && c.Have != c.Want {
			missing[c.MarketID] = c.Want - c.Have
		}
	}
	return counts, AddToMarkets(ctx, tx, missing)
}

// nextPredicted lists the next markets that have predictions or a count of them, one look-up
// for each: the predictions between are passed over.
func nextPredicted(ctx context.Context, db bun.IDB, after string, limit int) ([]string, error) {
	var ids []string
	err := market.Select(db).Column("m.id").Where("m.id > ?", after).
		Where("EXISTS (SELECT 1 FROM predictions AS p WHERE p.market_id = m.id)"+
			" OR EXISTS (SELECT 1 FROM market_consensus AS c WHERE c.market_id = m.id)").
		Order("m.id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list markets with predictions: %w", err)
	}
	return ids, nil
}

// lockConsensus locks rows in the order in which publishing does.
func lockConsensus(ctx context.Context, tx bun.Tx, marketIDs []string) error {
	if len(marketIDs) < 2 || !database.IsPostgres(tx) {
		return nil
	}
	_, err := database.ForUpdate(tx.NewSelect().Model((*Consensus)(nil)).Column("market_id").
		Where("c.market_id IN (?)", bun.List(marketIDs)).Order("c.market_id")).Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock consensus: %w", err)
	}
	return nil
}
