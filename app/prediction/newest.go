package prediction

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// NewestOn reads the newest predictions on some markets together, at most limit of them and
// at most 100 markets: each market costs one look at the end of an index, however many
// predictions it has.
func (s Store) NewestOn(ctx context.Context, db bun.IDB, marketIDs []string, limit int) ([]Record, error) {
	marketIDs = marketIDs[:min(len(marketIDs), 100)]
	if len(marketIDs) == 0 {
		return nil, nil
	}
	one := `SELECT * FROM (SELECT r.id FROM predictions AS r WHERE ` + onMarket(db, "r") + `
		ORDER BY r.market_id DESC, r.id DESC LIMIT ?1) AS newest`
	parts, args := make([]string, len(marketIDs)), make([]any, 0, len(marketIDs)+1)
	for i, id := range marketIDs {
		parts[i] = "?"
		args = append(args, db.NewRaw(one, id, limit))
	}
	var ids []uuid.UUID
	query := "SELECT id FROM (" + strings.Join(parts, " UNION ALL ") + ") AS s ORDER BY id DESC LIMIT ?"
	if err := db.NewRaw(query, append(args, limit)...).Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("read the newest predictions of markets: %w", err)
	}
	page := make([]place, len(ids))
	for i := range ids {
		page[i].ID = ids[i]
	}
	return s.inOrder(ctx, db, page)
}
