package alert

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// alertRow is one alert in the database; see the package comment.
type alertRow struct {
	bun.BaseModel `bun:"table:alerts,alias:x"`

	Name   string `bun:",pk"`
	Firing bool
	Told   bool // the message about this state was delivered
	Since  time.Time
	OverAt time.Time `bun:",nullzero"`
	Text   string
}

func readAlerts(ctx context.Context, db bun.IDB) (map[string]alertRow, error) {
	var rows []alertRow
	if err := db.NewSelect().Model(&rows).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	found := make(map[string]alertRow, len(rows))
	for _, row := range rows {
		row.Since, row.OverAt = row.Since.UTC(), row.OverAt.UTC()
		found[row.Name] = row
	}
	return found, nil
}

func inOrder(rows map[string]alertRow) []alertRow {
	out := make([]alertRow, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, rows[name])
	}
	return out
}

func saveAlert(ctx context.Context, db bun.IDB, row alertRow) error {
	_, err := db.NewInsert().Model(&row).On("CONFLICT (name) DO UPDATE").
		Set("firing = EXCLUDED.firing").Set("told = EXCLUDED.told").Set("since = EXCLUDED.since").
		Set("over_at = EXCLUDED.over_at").Set("text = EXCLUDED.text").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store alert %s: %w", row.Name, err)
	}
	return nil
}

func dropAlert(ctx context.Context, db bun.IDB, name string) error {
	if _, err := db.NewDelete().Model((*alertRow)(nil)).Where("name = ?", name).Exec(ctx); err != nil {
		return fmt.Errorf("drop alert %s: %w", name, err)
	}
	return nil
}
