package agent

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Restore stores agents unchanged, for a database that is built from a data release. Agents that
// the migrations have created stay unchanged.
func Restore(ctx context.Context, tx bun.Tx, list []Agent) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&list).On("CONFLICT (id) DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("restore agents: %w", err)
	}
	return nil
}
