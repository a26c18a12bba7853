package settlement

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// The kinds of corrections.
const (
	KindMarketChanged     = "market_changed"     // the upstream changed its outcome
	KindMarketReopened    = "market_reopened"    // the upstream opened it again
	KindMarketCorrected   = "market_corrected"   // by an admin
	KindMarketVoided      = "market_voided"      // by an admin
	KindPredictionSettled = "prediction_settled" // unlinked, by an admin
	KindPredictionChanged = "prediction_corrected"
	KindPredictionVoided  = "prediction_voided"
)

// Correction is a decision by a person, or a change of mind upstream, that moved
// scores. All are public.
type Correction struct {
	bun.BaseModel `bun:"table:corrections,alias:k"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	Kind         string
	MarketID     string    `bun:",nullzero"`
	PredictionID uuid.UUID `bun:",nullzero,type:uuid"`
	Note         string    // the reason
	Actor        string    // the admin's name, or "market"
	CreatedAt    time.Time
}

// Corrections lists the newest corrections.
func Corrections(ctx context.Context, db bun.IDB, limit int) ([]Correction, error) {
	var rows []Correction
	if err := db.NewSelect().Model(&rows).Order("k.created_at DESC", "k.id DESC").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read corrections: %w", err)
	}
	for i := range rows {
		rows[i].CreatedAt = rows[i].CreatedAt.UTC()
	}
	return rows, nil
}

func (s *Service) correct(ctx context.Context, tx bun.Tx, c Correction) error {
	c.CreatedAt = database.Now(s.now())
	c.ID = database.NewID(c.CreatedAt)
	if _, err := tx.NewInsert().Model(&c).Exec(ctx); err != nil {
		return fmt.Errorf("store the correction: %w", err)
	}
	return nil
}
