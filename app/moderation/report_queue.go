package moderation

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/queue"
)

// ReportQueue counts the open reports. Each has waited since it was filed.
func ReportQueue(ctx context.Context, db bun.IDB) (queue.Depth, error) {
	d, err := queue.Read(ctx, db.NewSelect().Model((*Report)(nil)).Where("e.status = 'open'"), "e.created_at")
	if err != nil {
		return d, fmt.Errorf("count open reports: %w", err)
	}
	return d, nil
}
