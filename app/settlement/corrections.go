package settlement

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

// The kinds of corrections.
const (
	KindMarketChanged     = "market_changed"     // the source changed the outcome or the time of closing
	KindMarketReopened    = "market_reopened"    // the source reopened the market
	KindMarketCorrected   = "market_corrected"   // by an admin
	KindMarketVoided      = "market_voided"      // by an admin
	KindPredictionSettled = "prediction_settled" // unlinked, by an admin
	KindPredictionChanged = "prediction_corrected"
	KindPredictionVoided  = "prediction_voided"
)

var kindWords = map[string]string{
	KindMarketChanged:     "outcome changed",
	KindMarketReopened:    "reopened",
	KindMarketCorrected:   "outcome corrected",
	KindMarketVoided:      "void",
	KindPredictionSettled: "settled",
	KindPredictionChanged: "result corrected",
	KindPredictionVoided:  "void",
}

// KindWords returns a kind of corrections in words for a page that names its market or prediction, or an unknown
// kind as it is.
func KindWords(kind string) string { return cmp.Or(kindWords[kind], kind) }

// Correction is a ruling by an admin, or a change at the source, that changed what was settled. All
// are public.
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

// CorrectionFilter selects one page of corrections.
type CorrectionFilter struct {
	Cursor string // the next that Corrections returned for the previous page
	Limit  int    // at least 1
}

// Corrections returns one page of corrections, newest first, and the cursor of the next page, which
// is empty on the last one. It refuses a cursor from another list with invalid_parameter.
func Corrections(ctx context.Context, db bun.IDB, f CorrectionFilter) (rows []Correction, next string, err error) {
	q := db.NewSelect().Model(&rows).Order("k.created_at DESC", "k.id DESC").Limit(int64(f.Limit) + 1)
	if f.Cursor != "" {
		parts, err := cursor.Decode(f.Cursor, 2)
		if err != nil {
			return nil, "", err
		}
		at, err := cursor.ParseTime(parts[0])
		if err != nil {
			return nil, "", err
		}
		id, err := uuid.Parse(parts[1])
		if err != nil {
			return nil, "", cursor.Invalid()
		}
		q = q.Where("(k.created_at, k.id) < (?, ?)", at, id)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, "", fmt.Errorf("read corrections: %w", err)
	}
	for i := range rows {
		rows[i].CreatedAt = rows[i].CreatedAt.UTC()
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		last := rows[f.Limit-1]
		next = cursor.Encode(cursor.Time(last.CreatedAt), last.ID.String())
	}
	return rows, next, nil
}

func (s *Service) correct(ctx context.Context, tx bun.Tx, c Correction) error {
	c.CreatedAt = database.Stored(s.now())
	c.ID = database.NewID(c.CreatedAt)
	if _, err := tx.NewInsert().Model(&c).Exec(ctx); err != nil {
		return fmt.Errorf("store the correction: %w", err)
	}
	return generation.Move(ctx, tx, generation.Results)
}
