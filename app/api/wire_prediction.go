package api

import (
	"encoding/hex"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// The titles of predictions that an admin has hidden, and of closed accounts.
const (
	hiddenTitle = "[hidden by an admin]"
	erasedTitle = "[erased: the account was closed]"
)

// predictionWire is a record. Before its reveal, other callers get null for every pointer and list except
// Market and Hash.
type predictionWire struct {
	ID         string             `json:"id"`
	Title      *string            `json:"title"`
	Thesis     *string            `json:"thesis"`
	Confidence *float64           `json:"confidence"`
	HorizonAt  *time.Time         `json:"horizonAt"`
	Category   *string            `json:"category"`
	Model      *string            `json:"model"`
	Evidence   []evidenceWire     `json:"evidence"`
	Agent      agentRefWire       `json:"agent"`
	Market     *marketRefWire     `json:"market"`
	Baseline   *baselineWire      `json:"baseline"`
	Weight     *float64           `json:"weight"`
	Status     *prediction.Status `json:"status"`
	Resolution *resolutionWire    `json:"resolution"`
	Scores     *scoresWire        `json:"scores"`
	LiveEdge   *float64           `json:"liveEdge"`
	Reveal     prediction.Reveal  `json:"reveal"`
	RevealedAt *string            `json:"revealedAt"`
	Hash       *string            `json:"hash"`
	Salt       *string            `json:"salt"`
	CreatedAt  time.Time          `json:"createdAt"`
	URL        string             `json:"url"`
	Hidden     bool               `json:"hidden"`
	Sample     bool               `json:"sample"`
}

type evidenceWire struct {
	Title  string      `json:"title"`
	URL    string      `json:"url"`
	Signal *signalWire `json:"signal"`
}

type signalWire struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

type marketRefWire struct {
	ID               string  `json:"id"`
	Question         string  `json:"question"`
	URL              string  `json:"url"`
	Outcome          *string `json:"outcome"`
	OutcomeIndex     *int    `json:"outcomeIndex"`
	Event            *string `json:"event"`
	Category         *string `json:"category"`
	ScheduledCloseAt *string `json:"scheduledCloseAt"`
}

type baselineWire struct {
	Probability float64   `json:"probability"`
	Before      *float64  `json:"before"`
	After       *float64  `json:"after"`
	BeforeBid   *float64  `json:"beforeBid"`
	BeforeAsk   *float64  `json:"beforeAsk"`
	AfterBid    *float64  `json:"afterBid"`
	AfterAsk    *float64  `json:"afterAsk"`
	MedianBid   *float64  `json:"medianBid"`
	MedianAsk   *float64  `json:"medianAsk"`
	Previous    *float64  `json:"previous"`
	ObservedAt  time.Time `json:"observedAt"`
}

type resolutionWire struct {
	Value      *float64  `json:"value"`
	Outcome    *string   `json:"outcome"`
	ResolvedAt time.Time `json:"resolvedAt"`
	Source     string    `json:"source"`
	Note       *string   `json:"note"`
}

type scoresWire struct {
	Brier        float64  `json:"brier"`
	Edge         *float64 `json:"edge"`
	LogEdge      *float64 `json:"logEdge"`
	Day          string   `json:"day"`
	RulesVersion string   `json:"rulesVersion"`
}

func (a *API) prediction(r *prediction.Record) predictionWire {
	w := predictionWire{
		ID: r.ID.String(), Agent: a.agentRef(r.Agent), Market: a.marketRef(r),
		Reveal: r.Reveal, RevealedAt: revealedAt(&r.Prediction), Hash: hexOrNull(r.Hash), CreatedAt: r.CreatedAt.UTC(),
		URL: a.predictionURL(r.ID), Hidden: r.Hidden, Sample: r.Sample,
	}
	if r.Withheld != prediction.NotRevealed {
		w.show(&r.Prediction)
	}
	if live, ok := r.LiveEdge(); ok {
		points := live.Float()
		w.LiveEdge = &points
	}
	if r.Withheld == prediction.HiddenByAdmin {
		w.Title = new(hiddenTitle)
		if r.Agent.Closed() {
			w.Title = new(erasedTitle)
		}
	}
	return w
}

// show adds the fields that other callers don't see before the reveal.
func (w *predictionWire) show(p *prediction.Prediction) {
	w.Title, w.Thesis, w.Confidence, w.HorizonAt = &p.Title, &p.Thesis, &p.Confidence, new(p.HorizonAt.UTC())
	w.Category, w.Model, w.Evidence, w.Status = &p.Category, textOrNull(p.Model), evidence(p.Evidence), &p.Status
	w.Baseline, w.Resolution, w.Scores, w.Salt = baseline(p), resolution(p), scores(p), hexOrNull(p.Salt)
	if p.WeightIndex != nil {
		w.Weight = new(score.Weight(*p.WeightIndex))
	}
}

// revealedAt returns the time of publication for a prediction that was never withheld.
func revealedAt(p *prediction.Prediction) *string {
	if p.Reveal == prediction.RevealNow {
		return timeOrNull(p.CreatedAt)
	}
	return timeOrNull(p.RevealedAt)
}

func hexOrNull(b []byte) *string { return textOrNull(hex.EncodeToString(b)) }

func (a *API) predictions(records []prediction.Record) []predictionWire {
	out := make([]predictionWire, len(records))
	for i := range records {
		out[i] = a.prediction(&records[i])
	}
	return out
}

func evidence(list []prediction.Evidence) []evidenceWire {
	out := make([]evidenceWire, len(list))
	for i, e := range list {
		out[i] = evidenceWire{Title: e.Title, URL: e.URL}
		if e.SignalKind != "" {
			out[i].Signal = &signalWire{Kind: e.SignalKind, ID: e.SignalID}
		}
	}
	return out
}

func (a *API) marketRef(r *prediction.Record) *marketRefWire {
	if r.Market == nil {
		return nil
	}
	return &marketRefWire{
		ID: r.Market.ID, Question: r.Market.Question, URL: a.marketURL(r.Market.ID),
		Outcome: textOrNull(r.Outcome), OutcomeIndex: r.OutcomeIndex, Event: textOrNull(market.EventID(r.EventKey)),
		Category: textOrNull(r.MarketCategory), ScheduledCloseAt: timeOrNull(r.ScheduledCloseAt),
	}
}

func baseline(p *prediction.Prediction) *baselineWire {
	if p.Baseline == nil {
		return nil
	}
	return &baselineWire{
		Probability: *p.Baseline, Before: p.BaselineBefore, After: p.BaselineAfter,
		BeforeBid: p.BeforeBid, BeforeAsk: p.BeforeAsk, AfterBid: p.AfterBid, AfterAsk: p.AfterAsk,
		MedianBid: p.MedianBid, MedianAsk: p.MedianAsk,
		Previous: p.BaselinePrevious, ObservedAt: p.BaselineObservedAt.UTC(),
	}
}

func resolution(p *prediction.Prediction) *resolutionWire {
	if p.Status == prediction.Open {
		return nil
	}
	return &resolutionWire{
		Value: p.ResolutionValue, Outcome: textOrNull(p.ResolutionOutcome), ResolvedAt: p.ResolvedAt.UTC(),
		Source: p.ResolutionSource, Note: textOrNull(p.ResolutionNote),
	}
}

func scores(p *prediction.Prediction) *scoresWire {
	if p.Brier == nil {
		return nil
	}
	w := &scoresWire{Brier: *p.Brier, LogEdge: p.LogEdge, Day: p.Day, RulesVersion: p.RulesVersion}
	if p.Edge != nil {
		points := p.Edge.Float()
		w.Edge = &points
	}
	return w
}
