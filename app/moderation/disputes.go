package moderation

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Dispute is an author's open objection to a settlement, with what an admin needs to decide on it.
type Dispute struct {
	Report
	Prediction prediction.Prediction
	Author     string         // handle of the author
	Market     *market.Market // nil if the prediction is not linked
}

// Disputes returns the open disputes, oldest first. If about isn't uuid.Nil, it returns only those
// about that prediction.
func (s *Service) Disputes(ctx context.Context, about uuid.UUID, limit int) ([]Dispute, error) {
	var reports []Report
	q := s.DB.Reader.NewSelect().Model(&reports).Where("e.status = 'open'").Where("e.kind = ?", ReportDispute).
		OrderExpr("e.id").Limit(int64(limit))
	if about != uuid.Nil {
		q.Where("e.prediction_id = ?", about)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	records, err := s.reported(ctx, reports)
	if err != nil {
		return nil, err
	}
	list := make([]Dispute, 0, len(reports))
	for _, r := range reports {
		if p := records[r.PredictionID]; p != nil {
			list = append(
				list, Dispute{Report: r.utc(), Prediction: p.Prediction, Author: p.Agent.Handle, Market: p.Market},
			)
		}
	}
	return list, nil
}

// reported reads the predictions that the reports are about, by id.
func (s *Service) reported(ctx context.Context, reports []Report) (map[uuid.UUID]*prediction.Record, error) {
	ids := make([]uuid.UUID, len(reports))
	for i := range reports {
		ids[i] = reports[i].PredictionID
	}
	return s.predictions.ByIDs(ctx, s.DB.Reader, ids)
}
