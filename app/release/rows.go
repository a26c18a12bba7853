package release

import (
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// orNil returns nil for the zero time.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// as converts the number that a pointer points to.
func as[To, From ~int | ~int64](n *From) *To {
	if n == nil {
		return nil
	}
	out := To(*n)
	return &out
}

func outcomeRow(o *settlement.Outcome) archive.OutcomeRow {
	return archive.OutcomeRow{
		Market: o.MarketID, Revision: o.Revision, State: o.State, Winner: o.Winner, Outcomes: o.Outcomes, Values: o.OutcomeValues,
		Source: o.Source, Note: o.Note, ClosedAt: orNil(o.ClosedAt), DecidedAt: o.DecidedAt,
	}
}

func predictionRow(p *prediction.Prediction) archive.PredictionRow {
	return archive.PredictionRow{
		ID: p.ID.String(), Agent: p.AgentID.String(), Market: p.MarketID, Outcome: p.Outcome, OutcomeIndex: as[int64](p.OutcomeIndex),
		EventKey: p.EventKey, Category: countedCategory(p), MarketCategory: p.MarketCategory, Confidence: p.Confidence,
		HorizonAt: p.HorizonAt.UTC(), ScheduledCloseAt: orNil(p.ScheduledCloseAt.UTC()), CreatedAt: p.CreatedAt.UTC(),
		Reveal: string(p.Reveal), Hidden: p.Hidden, Sample: p.Sample,
		BaselineState: string(p.BaselineState), Baseline: p.Baseline, BaselineBefore: p.BaselineBefore, BaselineAfter: p.BaselineAfter,
		BaselinePrevious: p.BaselinePrevious, BeforeBid: p.BeforeBid, BeforeAsk: p.BeforeAsk, AfterBid: p.AfterBid, AfterAsk: p.AfterAsk,
		MedianBid: p.MedianBid, MedianAsk: p.MedianAsk, BaselineObserved: orNil(p.BaselineObservedAt.UTC()),
		WeightIndex: as[int64](p.WeightIndex), Stake: as[int64](p.Stake), Spread: as[int64](p.Spread),
		Status: string(p.Status), ResolutionValue: p.ResolutionValue, ResolutionOutcome: p.ResolutionOutcome,
		ResolutionSource: p.ResolutionSource, ResolutionNote: p.ResolutionNote, ResolvedAt: orNil(p.ResolvedAt.UTC()), Ruled: p.Ruled,
		Brier: p.Brier, Edge: as[int64](p.Edge), LogEdge: p.LogEdge, RulesVersion: p.RulesVersion,
	}
}

// countedCategory returns the category that a prediction counts in. The label that its author gave it is one of its
// texts, unless it has no market.
func countedCategory(p *prediction.Prediction) string {
	if p.MarketID != "" {
		return p.MarketCategory
	}
	return p.Category
}

func predictionTexts(p *prediction.Prediction) archive.PredictionTexts {
	t := archive.PredictionTexts{Title: p.Title, Thesis: p.Thesis, Category: p.Category, Model: p.Model, Evidence: []archive.PredictionProof{}}
	for _, e := range p.Evidence {
		t.Evidence = append(t.Evidence, archive.PredictionProof{Title: e.Title, URL: e.URL})
	}
	return t
}

func ledgerRow(e *settlement.Entry) archive.LedgerRow {
	return archive.LedgerRow{
		ID: e.ID.String(), Prediction: e.PredictionID.String(), Seq: e.Seq, Kind: e.Kind, Agent: e.AgentID.String(), Value: e.Value,
		Outcome: e.Outcome, Source: e.Source, Note: e.Note, Brier: e.Brier, Edge: as[int64](e.Edge), Contribution: as[int64](e.Contribution),
		LogEdge: e.LogEdge, Stake: as[int64](e.Stake), Spread: as[int64](e.Spread), Category: e.Category, Day: e.Day,
		RulesVersion: e.RulesVersion, CreatedAt: e.CreatedAt,
	}
}

func referenceRow(r *settlement.SettledReference) archive.ReferenceRow {
	return archive.ReferenceRow{
		Agent: r.AgentID.String(), Market: r.MarketID, Outcome: r.Outcome, Confidence: r.Confidence, Baseline: r.Baseline,
		ObservedAt: r.ObservedAt, EventKey: r.EventKey, WeightIndex: r.WeightIndex, Status: string(r.Status), Value: r.Value,
		SettledAt: r.SettledAt, Category: r.Category, Day: r.Day,
	}
}

func agentRow(a *agent.Agent) archive.AgentRow {
	return archive.AgentRow{
		ID: a.ID.String(), Kind: string(a.Kind), Status: string(a.Status), Sample: a.Sample, CreatedAt: a.CreatedAt.UTC(),
	}
}

func agentTexts(a *agent.Agent) archive.AgentTexts {
	return archive.AgentTexts{
		Handle: a.Handle, Name: a.Name, Model: a.Model, Framework: a.Framework, Description: a.Description, Homepage: a.Homepage,
	}
}

// points converts an integer of 1e-4 point from the archive.
func points(n *int64) *score.Points { return as[score.Points](n) }
