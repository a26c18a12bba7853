package leaderboard

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// BuiltAt returns the moment up to which the main board shows the ledger. It returns the zero time
// before the first build.
func BuiltAt(ctx context.Context, db bun.IDB) (at time.Time, err error) {
	var boards []time.Time // none or one
	err = db.NewSelect().Model((*Board)(nil)).Column("as_of").
		Where("span = ?", All).Where("category = ?", AllCategories).Scan(ctx, &boards)
	if err != nil {
		return at, fmt.Errorf("read when the boards were built: %w", err)
	}
	if len(boards) == 0 {
		return at, nil
	}
	return boards[0].UTC(), nil
}
