package agent

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// UpdateProfile calls Update in a transaction.
func (s Store) UpdateProfile(ctx context.Context, db *database.DB, id uuid.UUID, change func(*Profile)) (updated *Agent, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		updated, err = s.Update(ctx, tx, id, change)
		return err
	})
	return updated, err
}
