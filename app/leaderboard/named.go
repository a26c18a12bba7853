package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
)

// maxNamesakes is the most agents with the same key that RankedLike checks, the oldest first. That
// suffices, because no new agent may take the name of a ranked one.
const maxNamesakes = 200

// RankedLike implements agent.RankedLike with the ranks of the main board.
func RankedLike(ctx context.Context, db bun.IDB, keys []string, self uuid.UUID) (string, error) {
	var handles []string
	for _, column := range []bun.Ident{"name_key", "handle_key"} {
		namesakes := agent.Select(db).Column("a.id", "a.handle").Where("a.? IN (?)", column, bun.List(keys)).
			Where("a.? <> ''", column).Where("a.id <> ?", self).OrderExpr("a.id").Limit(maxNamesakes)
		err := db.NewSelect().TableExpr("(?) AS a", namesakes).ColumnExpr("a.handle").
			Join("JOIN board_rows AS r ON r.agent_id = a.id").Where(onMainBoard).Where("r.rank IS NOT NULL").Limit(1).Scan(ctx, &handles)
		if err != nil {
			return "", fmt.Errorf("look for ranked agents of a name: %w", err)
		}
		if len(handles) > 0 {
			return handles[0], nil
		}
	}
	return "", nil
}
