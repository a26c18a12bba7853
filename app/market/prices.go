package market

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Price holds the prices of a market's outcomes in one reading.
type Price struct {
	bun.BaseModel `bun:"table:market_prices,alias:mp"`

	MarketID   string    `bun:",pk"`
	ObservedAt time.Time `bun:",pk"`
	Prices     []float64 `bun:"type:json"` // 0..1, in the order of Market.Outcomes

	// The other fields are as in Market, and nil if the reading didn't have them.
	BestBid   *float64
	BestAsk   *float64
	Liquidity *float64
	Volume    *float64
}

// priceColumns are the columns of Price.
const priceColumns = "market_id, observed_at, prices, best_bid, best_ask, liquidity, volume"

// priceError absorbs the rounding error in the difference of two prices.
const priceError = 1e-9

// Of returns the price of outcome i. The bool is false if the reading didn't have it.
func (p *Price) Of(i int) (float64, bool) {
	if i < 0 || i >= len(p.Prices) {
		return 0, false
	}
	return p.Prices[i], true
}

// observation returns the row for the price history.
func (m *Market) observation() Price {
	return Price{
		MarketID: m.ID, ObservedAt: m.ObservedAt, Prices: m.Prices,
		BestBid: m.BestBid, BestAsk: m.BestAsk, Liquidity: m.Liquidity, Volume: m.Volume,
	}
}

// appendPrices appends to the price history. It leaves out closed markets, because a price that follows from
// the outcome must never become a baseline.
func appendPrices(ctx context.Context, db bun.IDB, part []Market) error {
	rows := make([]Price, 0, len(part))
	for i := range part {
		m := &part[i]
		if !m.Closed && len(m.Prices) > 0 && len(m.Prices) == len(m.Outcomes) {
			rows = append(rows, m.observation())
		}
	}
	return insertPrices(ctx, db, rows)
}

// deletePrices deletes the prices of markets that are later than after.
func deletePrices(ctx context.Context, db bun.IDB, marketIDs []string, after time.Time) error {
	if len(marketIDs) == 0 {
		return nil
	}
	_, err := db.NewDelete().Model((*Price)(nil)).Where("market_id IN ?", bun.Tuple(marketIDs)).Where("observed_at > ?", after).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete replaced prices: %w", err)
	}
	return nil
}

// DropPrices deletes the prices of all markets. It is for databases whose prices can be read from an archive
// again.
func (Store) DropPrices(ctx context.Context, db bun.IDB) error {
	if _, err := db.NewDelete().Model((*Price)(nil)).Where("TRUE").Exec(ctx); err != nil {
		return fmt.Errorf("drop prices: %w", err)
	}
	return nil
}

// AddPrices stores prices of known markets that don't come from a reading, such as a sample's history. If a
// time already has a price, that price stays.
func (Store) AddPrices(ctx context.Context, db bun.IDB, rows []Price) error {
	for len(rows) > 0 {
		n := min(len(rows), 1000)
		part := make([]Price, n)
		for i, row := range rows[:n] {
			row.ObservedAt = database.Stored(row.ObservedAt)
			part[i] = row
		}
		if err := insertPrices(ctx, db, part); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func insertPrices(ctx context.Context, db bun.IDB, rows []Price) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := db.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("store prices: %w", err)
	}
	return nil
}

// A history has the newest recentPrices prices of a market, which are a day by the minute, and at most evenPrices of the
// older ones. With a reading each minute, Thin leaves about 3,600 prices of a market and four more for each day. If
// readings are far more frequent, or Thin has fallen behind, historyRows bounds what is read, and the history begins later.
const (
	recentPrices = 1500
	evenPrices   = 1500
	historyRows  = 50_000
)

// History returns at most 3000 prices of a market, oldest first, from its first price to the newest. It leaves out
// older prices evenly. They are counted from the first, so that two readings soon after each other show nearly the same.
func (Store) History(ctx context.Context, db bun.IDB, marketID string) ([]Price, error) {
	newest := db.NewSelect().Table("market_prices").ColumnExpr(priceColumns).Where("market_id = ?", marketID).
		OrderExpr("observed_at DESC").Limit(historyRows)
	numbered := db.NewSelect().TableExpr("(?) AS p", newest).ColumnExpr(priceColumns).
		ColumnExpr("ROW_NUMBER() OVER (ORDER BY observed_at) AS n").ColumnExpr("COUNT(*) OVER () - ? AS older", recentPrices)
	return scanPrices(ctx, db.NewSelect().TableExpr("(?) AS t", numbered).ColumnExpr(priceColumns).
		Where("CASE WHEN n > older THEN TRUE ELSE (n - 1) % ((older - 1) / ? + 1) = 0 END", evenPrices).
		OrderExpr("observed_at"))
}

// PricesFrom returns the history of a market from one time up to, but not including, another, oldest first. If
// it has more than limit rows, the oldest are returned.
func (Store) PricesFrom(ctx context.Context, db bun.IDB, marketID string, from, to time.Time, limit int) ([]Price, error) {
	return scanPrices(ctx, db.NewSelect().Model((*Price)(nil)).Where("market_id = ?", marketID).
		Where("observed_at >= ?", database.Stored(from)).Where("observed_at < ?", database.Stored(to)).
		OrderExpr("observed_at").Limit(int64(limit)))
}

// ThinnedPrices returns at most points+2 prices of each market since a time, from the first to the newest. Two of
// them are at least as far apart as the time between these two, divided by points. Only the first may be nearer to the
// second. The rows are ordered by market, oldest first.
func (Store) ThinnedPrices(
	ctx context.Context, db bun.IDB, marketIDs []string, since time.Time, points int,
) ([]Price, error) {
	if len(marketIDs) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(marketIDs)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	query, markets := thinnedOnSQLite, any(string(ids))
	if database.IsPostgres(db) {
		query, markets = thinnedOnPostgres, bun.List(marketIDs)
	}
	prices, err := scanPrices(ctx, db.NewRaw(query, markets, database.Stored(since), points))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(prices, func(a, b Price) int {
		return cmp.Or(strings.Compare(a.MarketID, b.MarketID), a.ObservedAt.Compare(b.ObservedAt))
	})
	return prices, nil
}

// walkPrices returns a recursive query w that goes back from the newest price of each market in v. step is the least
// time between two prices, and earlier the latest moment of the next. Each step is one look-up in the primary key.
func walkPrices(step, earlier string) string {
	return `b AS (SELECT v.market_id,
			(SELECT MAX(p.observed_at) FROM market_prices AS p WHERE p.market_id = v.market_id AND p.observed_at >= ?1) AS last,
			(SELECT MIN(p.observed_at) FROM market_prices AS p WHERE p.market_id = v.market_id AND p.observed_at >= ?1) AS first FROM v),
		w (market_id, at, first, step) AS (
			SELECT b.market_id, b.last, b.first, ` + step + ` FROM b WHERE b.last IS NOT NULL
			UNION ALL SELECT w.market_id, COALESCE((SELECT p.observed_at FROM market_prices AS p WHERE p.market_id = w.market_id
				AND p.observed_at < w.at AND p.observed_at <= ` + earlier + ` AND p.observed_at > w.first
				ORDER BY p.observed_at DESC LIMIT 1), w.first), w.first, w.step
			FROM w WHERE w.at > w.first) `
}

// OFFSET 0 keeps the planner of Postgres from reading all prices for the join.
var thinnedOnPostgres = `WITH RECURSIVE v (market_id) AS (SELECT unnest((SELECT ARRAY[?0]::text[]))), ` +
	walkPrices("(b.last - b.first) / ?2", "w.at - w.step") +
	`SELECT p.* FROM w CROSS JOIN LATERAL (SELECT ` + priceColumns + ` FROM market_prices AS q
		WHERE q.market_id = w.market_id AND q.observed_at = w.at OFFSET 0) AS p`

// SQLite keeps times as text, which it compares sign by sign. It calculates them to the millisecond.
var thinnedOnSQLite = `WITH RECURSIVE v (market_id) AS (SELECT value FROM json_each(?0)), ` +
	walkPrices("printf('-%.3f seconds', (julianday(b.last) - julianday(b.first)) * 86400 / ?2)",
		"strftime('%Y-%m-%d %H:%M:%f', w.at, w.step)") +
	`SELECT p.market_id, p.observed_at, p.prices, p.best_bid, p.best_ask, p.liquidity, p.volume FROM w
		CROSS JOIN market_prices AS p ON p.market_id = w.market_id AND p.observed_at = w.at`

// PricesBetween returns the price history of markets between two times, ordered by market, oldest first.
func (Store) PricesBetween(ctx context.Context, db bun.IDB, marketIDs []string, from, to time.Time) ([]Price, error) {
	return scanPrices(ctx, db.NewSelect().Model((*Price)(nil)).Where("mp.market_id IN (?)", bun.List(marketIDs)).
		Where("mp.observed_at BETWEEN ? AND ?", from, to).Order("mp.market_id", "mp.observed_at"))
}

// FirstPrices returns the first price of each market that has one.
func (Store) FirstPrices(ctx context.Context, db bun.IDB, marketIDs []string) ([]Price, error) {
	return scanPrices(ctx, db.NewSelect().Model((*Price)(nil)).Where("mp.market_id IN (?)", bun.List(marketIDs)).
		Where("mp.observed_at = (SELECT min(f.observed_at) FROM market_prices AS f WHERE f.market_id = mp.market_id)").
		Order("mp.market_id", "mp.observed_at"))
}

func scanPrices(ctx context.Context, q interface {
	Scan(ctx context.Context, dest ...any) error
}) ([]Price, error) {
	var prices []Price
	if err := q.Scan(ctx, &prices); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	for i := range prices {
		prices[i].ObservedAt = prices[i].ObservedAt.UTC()
	}
	return prices, nil
}
