package release

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// ids parses the ids of a row.
func ids(texts ...string) ([]uuid.UUID, error) {
	list := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = uuid.Parse(text); err != nil {
			return nil, fmt.Errorf("%q is not an id", text)
		}
	}
	return list, nil
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// agentOf uses the id as the handle, because names are texts and may be erased. owner is the hash of
// the owner, "" if it is unknown or erased.
func agentOf(r *archive.AgentRow, owner string) (a agent.Agent, err error) {
	id, err := ids(r.ID)
	if err != nil {
		return a, err
	}
	return agent.Agent{
		ID: id[0], Handle: r.ID, Profile: agent.Profile{Name: r.ID}, Kind: agent.Kind(r.Kind), Status: agent.Active, Owner: owner,
		Visibility: agent.Public, Sample: r.Sample, CreatedAt: r.CreatedAt.UTC(),
	}, nil
}

func entryOf(r *archive.LedgerRow) (e settlement.Entry, err error) {
	id, err := ids(r.ID, r.Prediction, r.Agent)
	if err != nil {
		return e, err
	}
	return settlement.Entry{
		ID: id[0], PredictionID: id[1], AgentID: id[2], Seq: r.Seq, Kind: r.Kind, Value: r.Value, Outcome: r.Outcome, Source: r.Source,
		Note: r.Note, Brier: r.Brier, Edge: points(r.Edge), Contribution: points(r.Contribution), LogEdge: r.LogEdge,
		Stake: points(r.Stake), Spread: points(r.Spread), Category: r.Category, Day: r.Day, RulesVersion: r.RulesVersion,
		CreatedAt: r.CreatedAt.UTC(),
	}, nil
}

func predictionOf(r *archive.PredictionRow) (p prediction.Prediction, err error) {
	id, err := ids(r.ID, r.Agent)
	if err != nil {
		return p, err
	}
	return prediction.Prediction{
		ID: id[0], AgentID: id[1], Confidence: r.Confidence, HorizonAt: r.HorizonAt.UTC(), Category: r.Category, Evidence: []prediction.Evidence{},
		MarketID: r.Market, Outcome: r.Outcome, OutcomeIndex: as[int](r.OutcomeIndex), EventKey: r.EventKey, MarketCategory: r.MarketCategory,
		ScheduledCloseAt: orZero(r.ScheduledCloseAt), BaselineState: prediction.BaselineState(r.BaselineState), Baseline: r.Baseline,
		BaselineBefore: r.BaselineBefore, BaselineAfter: r.BaselineAfter, BaselinePrevious: r.BaselinePrevious,
		BaselineObservedAt: orZero(r.BaselineObserved), BeforeBid: r.BeforeBid, BeforeAsk: r.BeforeAsk, AfterBid: r.AfterBid, AfterAsk: r.AfterAsk,
		MedianBid: r.MedianBid, MedianAsk: r.MedianAsk, Stake: points(r.Stake), Spread: points(r.Spread), WeightIndex: as[int](r.WeightIndex),
		ResolutionValue: r.ResolutionValue, ResolutionOutcome: r.ResolutionOutcome, ResolutionSource: r.ResolutionSource,
		ResolutionNote: r.ResolutionNote, ResolvedAt: orZero(r.ResolvedAt), SettledAt: orZero(r.ResolvedAt), Brier: r.Brier, Edge: points(r.Edge), LogEdge: r.LogEdge,
		RulesVersion: r.RulesVersion, Ruled: r.Ruled, Reveal: prediction.Reveal(r.Reveal), Hidden: r.Hidden, Sample: r.Sample, CreatedAt: r.CreatedAt.UTC(),
	}, nil
}

func referenceOf(r *archive.ReferenceRow) (s settlement.SettledReference, err error) {
	id, err := ids(r.Agent)
	if err != nil {
		return s, err
	}
	return settlement.SettledReference{
		ReferencePrediction: settlement.ReferencePrediction{
			AgentID: id[0], MarketID: r.Market, Outcome: r.Outcome, Confidence: r.Confidence, Baseline: r.Baseline,
			ObservedAt: r.ObservedAt.UTC(), EventKey: r.EventKey, WeightIndex: r.WeightIndex, Status: prediction.Status(r.Status),
			Value: r.Value, SettledAt: r.SettledAt.UTC(), CreatedAt: r.ObservedAt.UTC(),
		},
		Category: r.Category, Day: r.Day,
	}, nil
}
