package api

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// updateWire is Update of the contract.
type updateWire struct {
	ID   string        `json:"id"`
	Type update.Type   `json:"type"`
	At   string        `json:"at"`
	Ref  updateRefWire `json:"ref"`
}

type updateRefWire struct {
	Prediction  *updatePredictionWire `json:"prediction"`
	Market      *updateMarketWire     `json:"market"`
	Event       *thingWire            `json:"event"`
	Assignment  *updateAssignmentWire `json:"assignment"`
	Leaderboard *updateBoardWire      `json:"leaderboard"`
}

// thingWire names something by its id and address.
type thingWire struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

type updatePredictionWire struct {
	thingWire
	AgentID    string            `json:"agentId"`
	Status     prediction.Status `json:"status"`
	Confidence *float64          `json:"confidence"`
	Baseline   *float64          `json:"baseline"`
	Value      *float64          `json:"value"`
	Scores     *updateScoresWire `json:"scores"`
}

type updateScoresWire struct {
	Brier   float64  `json:"brier"`
	Edge    *float64 `json:"edge"`
	LogEdge *float64 `json:"logEdge"`
}

type updateMarketWire struct {
	thingWire
	Category    *string  `json:"category"`
	Probability *float64 `json:"probability"`
	Before      *float64 `json:"before"`
	Value       *float64 `json:"value"`
}

type updateAssignmentWire struct {
	thingWire
	DueAt string `json:"dueAt"`
}

type updateBoardWire struct {
	URL    string `json:"url"`
	AsOf   string `json:"asOf"`
	Ranked int64  `json:"ranked"`
}

func (a *API) update(u *update.Update) updateWire {
	w := updateWire{ID: strconv.FormatInt(u.Seq, 10), Type: u.Type, At: formatTime(u.At)}
	if p := u.Ref.Prediction; p != nil {
		w.Ref.Prediction = a.updatePrediction(p)
	}
	if m := u.Ref.Market; m != nil {
		w.Ref.Market = &updateMarketWire{
			thingWire: thingWire{m.ID, a.marketURL(m.ID)}, Category: textOrNull(m.Category),
			Probability: fraction(m.Probability), Before: fraction(m.Before), Value: m.Value,
		}
		if m.EventID != "" {
			w.Ref.Event = &thingWire{m.EventID, a.eventURL(m.EventID)}
		}
	}
	if s := u.Ref.Assignment; s != nil {
		url := a.Config.BaseURL + "/assignments"
		w.Ref.Assignment = &updateAssignmentWire{thingWire{s.ID.String(), url}, formatTime(s.DueAt)}
	}
	if b := u.Ref.Board; b != nil {
		w.Ref.Leaderboard = &updateBoardWire{a.Config.BaseURL + "/leaderboard", formatTime(b.AsOf), b.Ranked}
	}
	return w
}

func (a *API) updatePrediction(p *update.Prediction) *updatePredictionWire {
	w := &updatePredictionWire{
		thingWire: thingWire{p.ID.String(), a.predictionURL(p.ID)}, AgentID: p.AgentID.String(), Status: prediction.Status(p.Status),
		Confidence: p.Confidence, Baseline: p.Baseline, Value: p.Value,
	}
	if p.Brier != nil {
		w.Scores = &updateScoresWire{Brier: *p.Brier, LogEdge: p.LogEdge}
		if p.Edge != nil {
			points := p.Edge.Float()
			w.Scores.Edge = &points
		}
	}
	return w
}

func (a *API) predictionURL(id uuid.UUID) string {
	return a.Config.BaseURL + "/predictions/" + id.String()
}
