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

// Consensus is the stored consensus of a market.
//
// Publishing a prediction increments Predictions and sets Changed, and so does a later reveal. Changed is also
// set, and CountedAt cleared, when a prediction is settled or reopened, or when the agents that count change.
//
// A count begins with TakeChanged, which sets CountedAt. It ends with SaveConsensus, which clears Changed only
// if Predictions and CountedAt haven't moved since. A count therefore needs no lock, misses no change, and is
// repeated if it is interrupted.
type Consensus struct {
	bun.BaseModel `bun:"table:market_consensus,alias:c"`

	MarketID string `bun:",pk,type:text"`
	// Outcome is the outcome that the probabilities refer to: "Yes" if the market has it, else its first
	// outcome.
	Outcome     string `bun:",type:text"`
	Predictions int64  `bun:",type:bigint"` // all predictions ever revealed on the market
	// Agents and Others count agents with an open prediction: Agents those that count towards the consensus,
	// Others those that are too new. Their sum is at most twice maxVoices.
	Agents int `bun:",type:bigint"`
	Others int `bun:",type:bigint"`
	// Median of the probabilities, and their mean in log odds weighted by skill (see score.WeightedConsensus).
	// Both are from 0 to 1, and nil if no agent counts.
	Median   *float64 `bun:",type:double precision"`
	Weighted *float64 `bun:",type:double precision"`
	// Changed is true while Agents, Others, Median and Weighted are out of date.
	Changed bool `bun:",type:boolean"`
	// CountedAt is when the latest count began. It is zero if there was no count, or if settlements or agents
	// changed the consensus since.
	CountedAt time.Time `bun:",nullzero,type:timestamptz"`
}

// Consensus reads the consensus of markets. It leaves out markets without predictions.
func (Store) Consensus(ctx context.Context, db bun.IDB, marketIDs []string) (map[string]Consensus, error) {
	found := make(map[string]Consensus, len(marketIDs))
	if len(marketIDs) == 0 {
		return found, nil
	}
	var rows []Consensus
	p := database.NewPlanned(db)
	if err := p.Scan(ctx, p.In(db.NewSelect().Model((*Consensus)(nil)), "c.market_id", marketIDs), &rows); err != nil {
		return nil, fmt.Errorf("read consensus: %w", err)
	}
	for _, c := range rows {
		found[c.MarketID] = c
	}
	return found, nil
}

// newCount is the number of new predictions on a market.
type newCount struct {
	MarketID    string `bun:",type:text"`
	Predictions int64  `bun:",type:bigint"`
	Changed     bool   `bun:",type:boolean"`
}

// countsWrite adds to the counts of predictions of markets. Its rows are in the order of the markets, so that
// transactions lock markets in one order.
func countsWrite(published map[string]int64) database.Write {
	rows := make([]newCount, 0, len(published))
	for _, id := range slices.Sorted(maps.Keys(published)) {
		rows = append(rows, newCount{id, published[id], true})
	}
	return database.NewInsert("market_consensus AS c", rows,
		"ON CONFLICT (market_id) DO UPDATE SET predictions = c.predictions + EXCLUDED.predictions, changed = TRUE")
}

// CountOnMarkets adds to the counts of predictions of markets, when predictions are published or revealed. It
// must be the last step of a transaction, because it locks rows that other transactions wait for.
func CountOnMarkets(ctx context.Context, db bun.IDB, published map[string]int64) error {
	if len(published) == 0 {
		return nil
	}
	if err := database.ExecWrites(ctx, db, countsWrite(published)); err != nil {
		return fmt.Errorf("count predictions on markets: %w", err)
	}
	return nil
}

// baselineDecided is a market on which baselines were decided.
type baselineDecided struct {
	MarketID     string `bun:",type:text"`
	Predictions  int64  `bun:",type:bigint"`
	Changed      bool   `bun:",type:boolean"`
	ReferenceDue bool   `bun:",type:boolean"`
}

// BaselinesDecided marks those of the markets for ConsensusDue that are true in due. It locks the rows of all of them
// in the order of the markets. Only RevealBaselines may follow in the transaction: it changes some of these rows.
func BaselinesDecided(ctx context.Context, tx bun.Tx, due map[string]bool) error {
	rows := make([]baselineDecided, 0, len(due))
	for _, id := range slices.Sorted(maps.Keys(due)) {
		rows = append(rows, baselineDecided{MarketID: id, ReferenceDue: due[id]})
	}
	err := database.ExecWrites(ctx, tx, database.NewInsert("market_consensus AS c", rows,
		"ON CONFLICT (market_id) DO UPDATE SET reference_due = c.reference_due OR EXCLUDED.reference_due"))
	if err != nil {
		return fmt.Errorf("mark markets for a row of Consensus: %w", err)
	}
	return nil
}

// ConsensusDue lists the markets that BaselinesDecided has marked.
func (Store) ConsensusDue(ctx context.Context, db bun.IDB) (ids []string, err error) {
	err = db.NewSelect().Model((*Consensus)(nil)).Column("market_id").Where("c.reference_due").Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read markets without a row of Consensus: %w", err)
	}
	return ids, nil
}

// ConsensusTried takes back the mark of BaselinesDecided. It waits for transactions that set the mark, so a caller
// that reads the opinions on the market afterwards sees their baselines.
func ConsensusTried(ctx context.Context, tx bun.Tx, marketID string) error {
	_, err := tx.NewUpdate().Model((*Consensus)(nil)).Set("reference_due = FALSE").Where("market_id = ?", marketID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("take back a mark for a row of Consensus: %w", err)
	}
	return nil
}

// ConsensusChanged marks the consensus of markets to be counted again, because predictions on them were settled
// or reopened. It must be the last step of its transaction.
func ConsensusChanged(ctx context.Context, tx bun.Tx, marketIDs ...string) error {
	if err := lockConsensus(ctx, tx, marketIDs); err != nil || len(marketIDs) == 0 {
		return err
	}
	_, err := tx.NewUpdate().Model((*Consensus)(nil)).Set("changed = TRUE").Set("counted_at = NULL").
		Where("market_id IN (?)", bun.List(marketIDs)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark consensus as changed: %w", err)
	}
	return nil
}

// maxChanged is how many open predictions AgentsChanged reads.
const maxChanged = 5000

// AgentsChanged marks markets to be counted again because agents begin or cease to count. These are the markets
// on which the agents have open predictions, and marketIDs. If the agents have more than maxChanged open
// predictions, RefreshConsensus finds the remaining markets later. It must be the last step of its transaction.
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

// RefreshConsensus marks markets to be counted again, oldest count first, because the agents' weights have moved since.
// It takes at most limit markets whose latest count began before the given time, and as many whose count began while a
// clock was ahead of now.
func RefreshConsensus(ctx context.Context, db *database.DB, before, now time.Time, limit int) error {
	var ids []string
	for _, old := range []struct {
		condition string
		at        time.Time
	}{{"c.counted_at < ?", before.UTC()}, {"c.counted_at > ?", database.LatestPlausible(now)}} {
		var found []string
		err := db.Reader.NewSelect().Model((*Consensus)(nil)).Column("market_id").
			Where("c.agents + c.others > 0").Where(old.condition, old.at).
			Order("c.counted_at").Limit(int64(limit)).Scan(ctx, &found)
		if err != nil {
			return fmt.Errorf("read old consensus: %w", err)
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 {
		return nil
	}
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return ConsensusChanged(ctx, tx, ids...) })
}

// TakeChanged begins a count of at most limit changed markets with ids greater than after, in the order of ids. The
// count includes every prediction committed before TakeChanged returns.
func TakeChanged(ctx context.Context, db *database.DB, after string, limit int, now time.Time) ([]Consensus, error) {
	var rows []Consensus
	next := func(db bun.IDB) *bun.SelectQuery {
		return db.NewSelect().Model(&rows).Where("c.changed").Where("c.market_id > ?", after).
			Order("c.market_id").Limit(int64(limit))
	}
	// Try the reader first: on SQLite, taking the writer would delay publishing.
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
			rows[i].CountedAt = database.Stored(now)
			ids[i] = rows[i].MarketID
		}
		_, err := tx.NewUpdate().Model((*Consensus)(nil)).Set("counted_at = ?", database.Stored(now)).
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

// SaveConsensus ends a count: it stores the new values of rows that TakeChanged returned. Markets that changed
// during the count stay marked as changed.
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

// MarketCount compares the stored number of predictions on a market (Have) with the actual one (Want).
type MarketCount struct {
	MarketID   string
	Have, Want int64
}

// RecountMarkets compares the stored counts of at most limit markets with ids greater than after with their
// predictions. If replace is true, it corrects wrong counts, and marks the consensus of all these markets to be
// counted again. It counts without the writer and without locks, because a market may have 100,000 predictions.
func RecountMarkets(ctx context.Context, db *database.DB, after string, limit int, replace bool) ([]MarketCount, error) {
	ids, err := nextPredicted(ctx, db.Reader, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	counts, err := readCounts(ctx, db.Reader, ids)
	if err != nil || !replace {
		return counts, err
	}
	none := make(map[string]int64, len(ids))
	for _, id := range ids {
		none[id] = 0
	}
	if err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return CountOnMarkets(ctx, tx, none) }); err != nil {
		return nil, err
	}
	for _, c := range counts {
		if c.Have == c.Want {
			continue
		}
		if err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return correctCount(ctx, tx, c) }); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// readCounts counts the predictions on markets. One statement reads both counts, so both are of the same moment.
func readCounts(ctx context.Context, db bun.IDB, ids []string) (counts []MarketCount, err error) {
	err = db.NewRaw(`SELECT m.id AS market_id, COALESCE(c.predictions, 0) AS have,
			(SELECT COUNT(*) FROM predictions AS p WHERE p.market_id = m.id AND `+revealed+`) AS want
		FROM (?) AS m LEFT JOIN market_consensus AS c ON c.market_id = m.id
		WHERE m.id IN (?) ORDER BY m.id`, market.Select(db).Column("id"), bun.List(ids)).Scan(ctx, &counts)
	if err != nil {
		return nil, fmt.Errorf("count predictions on markets: %w", err)
	}
	return counts, nil
}

// correctCount corrects the stored count of a market's predictions. If the stored count has changed since c was
// counted, it counts again. Publishing on the market waits until tx ends.
func correctCount(ctx context.Context, tx bun.Tx, c MarketCount) error {
	if err := CountOnMarkets(ctx, tx, map[string]int64{c.MarketID: 0}); err != nil { // locks the row
		return err
	}
	var have int64
	if err := tx.NewSelect().Model((*Consensus)(nil)).Column("predictions").Where("market_id = ?", c.MarketID).Scan(ctx, &have); err != nil {
		return fmt.Errorf("read the count of predictions: %w", err)
	}
	if have != c.Have {
		again, err := readCounts(ctx, tx, []string{c.MarketID})
		if err != nil || len(again) == 0 {
			return err
		}
		c = again[0]
	}
	return CountOnMarkets(ctx, tx, map[string]int64{c.MarketID: c.Want - c.Have})
}

// nextPredicted lists at most limit markets with ids greater than after that have predictions or a row in
// market_consensus. Each market costs one look-up, however many predictions it has.
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

// lockConsensus locks rows in the same order as publishing.
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
