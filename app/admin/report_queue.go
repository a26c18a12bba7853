package admin

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/queue"
)

// ReportQueue measures the open reports, since they were filed.
func (Store) ReportQueue(ctx context.Context, db bun.IDB) (queue.Depth, error) {
	d, err := queue.Read(ctx, db.NewSelect().Model((*Report)(nil)).Where("e.status = 'open'"), "e.created_at")
	if err != nil {
		return d, fmt.Errorf("count open reports: %w", err)
	}
	return d, nil
}
