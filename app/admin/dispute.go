package admin

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Dispute is an author's open objection to how a prediction was settled, with what is
// needed to decide on it.
type Dispute struct {
	Report
	Prediction prediction.Prediction
	Author     string         // handle
	Market     *market.Market // nil when the prediction is not linked
}

// Disputes lists the objections that wait, the oldest first. A prediction other than
// uuid.Nil narrows it to its own.
func (Store) Disputes(ctx context.Context, db bun.IDB, about uuid.UUID, limit int) ([]Dispute, error) {
	var reports []Report
	q := db.NewSelect().Model(&reports).Where("e.status = 'open'").Where("e.kind = ?", ReportDispute).OrderExpr("e.id").Limit(int64(limit))
	if about != uuid.Nil {
		q.Where("e.prediction_id = ?", about)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	ids := make([]uuid.UUID, len(reports))
	for i := range reports {
		ids[i] = reports[i].PredictionID
	}
	records, err := prediction.Store{}.For(agent.Viewer{Admin: true}).ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Dispute, 0, len(reports))
	for _, r := range reports {
		if p := records[r.PredictionID]; p != nil {
			r.CreatedAt = r.CreatedAt.UTC()
			list = append(list, Dispute{Report: r, Prediction: p.Prediction, Author: p.Agent.Handle, Market: p.Market})
		}
	}
	return list, nil
}

// ReportsOf lists what an agent reported about a prediction, with the answers, the
// newest first.
func (Store) ReportsOf(ctx context.Context, db bun.IDB, about, reporter uuid.UUID) ([]Report, error) {
	var list []Report
	err := db.NewSelect().Model(&list).Where("e.reporter_id = ?", reporter).Where("e.prediction_id = ?", about).
		OrderExpr("e.id DESC").Limit(100).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the reports of an agent: %w", err)
	}
	for i := range list {
		list[i].CreatedAt, list[i].ClosedAt = list[i].CreatedAt.UTC(), list[i].ClosedAt.UTC()
	}
	return list, nil
}
