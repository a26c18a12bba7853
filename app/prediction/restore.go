package prediction

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// restoreRows is how many predictions one statement of Restore writes.
const restoreRows = 200

// Restore writes predictions and their results unchanged, and nothing else. It is for a database made from a
// data release.
func Restore(ctx context.Context, db bun.IDB, list []Prediction) error {
	for chunk := range slices.Chunk(list, restoreRows) {
		if _, err := db.NewInsert().Model(&chunk).ModelTableExpr("predictions").Column(predictionColumns...).Exec(ctx); err != nil {
			return fmt.Errorf("restore predictions: %w", err)
		}
		if _, err := db.NewInsert().Model(&chunk).ModelTableExpr("results").Column(resultColumns...).Exec(ctx); err != nil {
			return fmt.Errorf("restore results: %w", err)
		}
	}
	return nil
}
