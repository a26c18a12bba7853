package settlement

import (
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// fixedUpdate returns the update that a prediction's baseline is decided. Its baseline is nil if there is
// none. The update is private, because a baseline inside the book is the confidence itself.
func (p *pending) fixedUpdate(b *prediction.Baseline, at time.Time) update.Update {
	return update.Update{
		Type: update.PredictionBaseline, At: at, Private: true,
		Ref: update.Ref{
			Prediction: &update.Prediction{
				ID: p.ID, AgentID: p.AgentID, Status: string(p.Status), Confidence: &p.Confidence, Baseline: b.Q,
			},
			Market: prediction.MarketRef(p.MarketID, p.EventKey, p.MarketCategory),
		},
	}
}

// movedUpdate returns the update that a prediction was resolved, voided or reopened. The same transaction
// reveals the prediction, unless it stays withheld.
func (i *item) movedUpdate(r *prediction.Resolution, at time.Time, withheld bool) update.Update {
	u := update.Update{
		Type: update.PredictionCorrected, At: at,
		Ref: update.Ref{
			Prediction: &update.Prediction{
				ID: i.ID, AgentID: i.AgentID, Status: string(r.Status), Confidence: &i.Confidence, Baseline: i.Baseline,
				Value: r.Value, Brier: r.Brier, Edge: r.Edge, LogEdge: r.LogEdge,
			},
			Market: prediction.MarketRef(i.MarketID, i.EventKey, i.MarketCategory),
		},
	}
	if withheld {
		u.Ref.Prediction.Confidence, u.Ref.Prediction.Baseline = nil, nil
	}
	switch {
	case r.Status == prediction.Void:
		u.Type = update.PredictionVoided
	case r.Status == prediction.Resolved && r.Was == prediction.Open:
		u.Type = update.PredictionSettled
	}
	return u
}

// settledUpdate returns the update that a market's outcome is decided. Its value is nil if the market is
// void.
func (o *Outcome) settledUpdate(m *market.Market, at time.Time) update.Update {
	ref := prediction.MarketRef(m.ID, m.EventKey(), m.Category)
	if i := m.Reference(); i < len(m.Outcomes) {
		if y, ok := o.value(prediction.NamedOutcome{Outcome: m.Outcomes[i], OutcomeIndex: i}); ok {
			ref.Value = &y
		}
	}
	return update.Update{Type: update.MarketSettled, At: at, Ref: update.Ref{Market: ref}}
}
