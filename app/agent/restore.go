package agent

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Restore writes agents as they are, for a database that is made from a data release. Those that
// the schema brings stay as they are.
func Restore(ctx context.Context, tx bun.Tx, list []Agent) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&list).On("CONFLICT (id) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("restore agents: %w", err)
	}
	return nil
}
