package settlement

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/update"
)

// resolution is the status and resolution that a prediction has or must get.
type resolution struct {
	Status  prediction.Status
	Value   float64 // y, when Resolved
	Outcome string
	Source  string
	Note    string
	At      time.Time // resolution time, zero if Open
	// Ruled reports whether an admin ruled on this prediction alone, and not on its market.
	Ruled bool
}

// item is a prediction with its result.
type item struct {
	ID               uuid.UUID `bun:",type:uuid"`
	AgentID          uuid.UUID `bun:",type:uuid"`
	Outcome          string    `bun:",nullzero"`
	OutcomeIndex     *int
	Confidence       float64
	Category         string
	HorizonAt        time.Time
	MarketID         string    `bun:",nullzero"`
	MarketCategory   string    `bun:",nullzero"`
	EventKey         string    `bun:",nullzero"`
	ScheduledCloseAt time.Time `bun:",nullzero"`
	CreatedAt        time.Time
	BaselineState    prediction.BaselineState
	Baseline         *float64
	WeightIndex      *int64

	Status            prediction.Status
	ResolutionValue   *float64
	ResolutionOutcome string `bun:",nullzero"`
	ResolutionSource  string `bun:",nullzero"`
	ResolutionNote    string `bun:",nullzero"`
	Ruled             bool

	Reveal     prediction.Reveal
	Unrevealed bool

	last *Entry // latest in the ledger, nil if there is none
}

func (i *item) bet() bet {
	b := bet{AgentID: i.AgentID, P: i.Confidence, EventKey: i.EventKey}
	if i.BaselineState == prediction.Fixed {
		b.Q, b.Index = i.Baseline, int(*i.WeightIndex)
	}
	return b
}

// cell returns the category and day that a prediction without a baseline counts under. A linked
// prediction uses its market's category and scheduled close, or settled if the market has none. An
// unlinked one uses its own category and horizon.
func (i *item) cell(settled time.Time) cell {
	if i.MarketID == "" {
		return cell{i.Category, dayOf(i.HorizonAt)}
	}
	c := cell{categoryOf(i.MarketCategory), dayOf(i.ScheduledCloseAt)}
	if c.Day == "" {
		c.Day = dayOf(settled)
	}
	return c
}

// matches reports whether the prediction is already resolved as to says.
func (i *item) matches(to resolution) bool {
	if i.Status != to.Status || i.Ruled != to.Ruled {
		return false
	}
	if to.Status == prediction.Open {
		return true
	}
	same := i.ResolutionOutcome == to.Outcome && i.ResolutionSource == to.Source && i.ResolutionNote == to.Note
	if to.Status == prediction.Void {
		return same
	}
	return same && i.ResolutionValue != nil && score.SameValue(*i.ResolutionValue, to.Value)
}

// batch gathers the changes of one transaction and writes them in a few statements.
type batch struct {
	now      time.Time
	settled  time.Time // decides the day of results without a scheduled close or horizon
	withheld bool      // the predictions stay withheld
	clusters map[clusterKey]*Cluster
	before   map[clusterKey]Cluster // changed clusters as they were read

	days        dayTerms
	entries     []Entry
	predictions []prediction.Resolution
	references  []ReferencePrediction
	tallies     map[uuid.UUID]*prediction.TallyMove
	updates     []update.Update
}

// newBatch reads the clusters of the given bets.
func newBatch(ctx context.Context, tx bun.Tx, bets []bet, now, settled time.Time) (*batch, error) {
	wanted := make(map[clusterKey]struct{}, len(bets))
	for _, b := range bets {
		if b.Q != nil {
			wanted[clusterKey{b.AgentID, b.EventKey}] = struct{}{}
		}
	}
	clusters, err := loadClusters(ctx, tx, wanted)
	return &batch{
		now: now, settled: settled, clusters: clusters,
		before: make(map[clusterKey]Cluster, len(clusters)), days: make(dayTerms, len(bets)),
		entries: make([]Entry, 0, len(bets)), predictions: make([]prediction.Resolution, 0, len(bets)),
		tallies: make(map[uuid.UUID]*prediction.TallyMove, len(bets)),
	}, err
}

// move gives one prediction the status and resolution in to. It takes back the score that counted
// and adds the new one, if there is one.
func (b *batch) move(i *item, to resolution) error {
	if i.matches(to) {
		return nil
	}
	row := prediction.Resolution{
		AgentID: i.AgentID, ID: i.ID, Was: i.Status, Status: to.Status, Outcome: to.Outcome, Source: to.Source,
		Note: to.Note, ResolvedAt: to.At, SettledAt: b.now, Ruled: to.Ruled,
	}
	if i.Status == prediction.Resolved {
		if err := b.reverse(i, to.Note); err != nil {
			return err
		}
	}
	if to.Status == prediction.Resolved {
		if err := b.enter(i, to); err != nil {
			return err
		}
		e := i.last
		row.Value, row.Brier, row.Edge, row.LogEdge = &e.Value, &e.Brier, e.Edge, e.LogEdge
		row.Day, row.ScoreCategory, row.RulesVersion = e.Day, e.Category, e.RulesVersion
	}
	b.predictions = append(b.predictions, row)
	b.updates = append(b.updates, i.movedUpdate(&row, b.now, b.withheld))
	b.tally(i.AgentID).Count(i.Status, -1)
	b.tally(i.AgentID).Count(to.Status, 1)
	return nil
}

func (b *batch) tally(agent uuid.UUID) *prediction.TallyMove {
	if b.tallies[agent] == nil {
		b.tallies[agent] = &prediction.TallyMove{AgentID: agent}
	}
	return b.tallies[agent]
}

// enter adds a score to the sums and to the ledger. The new entry is i.last.
func (b *batch) enter(i *item, to resolution) error {
	bet := i.bet()
	r := bet.score(to.Value)
	cell, err := b.count(bet, to.Value, r, i.cell(b.settled), 1)
	if err != nil {
		return err
	}
	e := Entry{
		ID: database.NewID(b.now), PredictionID: i.ID, Kind: kindScore, AgentID: i.AgentID,
		Value: to.Value, Outcome: to.Outcome, Source: to.Source, Note: to.Note,
		Brier: r.Brier, Edge: r.Edge, Contribution: r.Contribution, LogEdge: r.LogEdge, Stake: r.Stake, Spread: r.Spread,
		Category: cell.Category, Day: cell.Day, RulesVersion: score.RulesVersion, CreatedAt: b.now,
	}
	if i.last != nil {
		e.Seq = i.last.Seq + 1
	}
	i.last = &e
	b.entries = append(b.entries, e)
	return nil
}

// reverse takes the last score back, using the numbers in the ledger.
func (b *batch) reverse(i *item, note string) error {
	was := i.last
	if was == nil || !was.IsScore() {
		return fmt.Errorf("prediction %s is resolved, but the ledger has no score", i.ID)
	}
	r := was.result()
	if _, err := b.count(i.bet(), was.Value, r, cell{was.Category, was.Day}, -1); err != nil {
		return err
	}
	e := *was
	e.ID, e.Seq, e.Kind, e.Note, e.CreatedAt = database.NewID(b.now), was.Seq+1, kindReversal, note, b.now
	e.Brier = 0 - was.Brier
	e.Edge, e.Contribution, e.LogEdge = negated(was.Edge), negated(was.Contribution), negated(was.LogEdge)
	e.Stake, e.Spread = negated(was.Stake), negated(was.Spread)
	i.last = &e
	b.entries = append(b.entries, e)
	return nil
}

func negated[N score.Points | float64](n *N) *N {
	if n == nil {
		return nil
	}
	negative := 0 - *n // never −0
	return &negative
}

// count adds a result to the sums (sign 1) or takes it back (−1). It returns the category and day
// the result counts under: those of its cluster, or own for a prediction without a baseline.
func (b *batch) count(bet bet, y float64, r result, own cell, sign int64) (cell, error) {
	if bet.Q != nil {
		key := clusterKey{bet.AgentID, bet.EventKey}
		c := b.clusters[key]
		if c == nil {
			return own, fmt.Errorf(
				"agent %s has a baseline on %s but no cluster: run settle --rebuild", bet.AgentID, bet.EventKey,
			)
		}
		if _, ok := b.before[key]; !ok {
			b.before[key] = *c
		}
		c.count(&bet, r, sign, dayOf(b.settled))
		own = cell{c.Category, c.countsOn()}
	}
	b.days.add(bet.term(y, r, sign, own.Category, own.Day))
	return own, nil
}

// gains returns 1 for each cluster that got its first settled prediction, and −1 for each whose last
// one was taken back.
func (b *batch) gains() map[clusterKey]int64 {
	gained := make(map[clusterKey]int64, len(b.before))
	for key, before := range b.before {
		switch after := b.clusters[key]; {
		case before.Settled == 0 && after.Settled > 0:
			gained[key] = 1
		case before.Settled > 0 && after.Settled == 0:
			gained[key] = -1
		}
	}
	return gained
}

// moveReference is move for a reference row. The row serves as its own ledger.
func (b *batch) moveReference(ref ReferencePrediction, to resolution) error {
	same := ref.Status == to.Status && (to.Status != prediction.Resolved || score.SameValue(*ref.Value, to.Value))
	if same {
		return nil
	}
	bet := ref.bet()
	if y := ref.Value; y != nil {
		if _, err := b.count(bet, *y, bet.score(*y), cell{}, -1); err != nil {
			return err
		}
	}
	ref.Status, ref.Value, ref.Edge, ref.SettledAt = to.Status, nil, nil, b.now
	if to.Status == prediction.Resolved {
		r := bet.score(to.Value)
		if _, err := b.count(bet, to.Value, r, cell{}, 1); err != nil {
			return err
		}
		ref.Value, ref.Edge = &to.Value, r.Edge
	}
	b.references = append(b.references, ref)
	return nil
}

func (r *ReferencePrediction) bet() bet {
	return bet{AgentID: r.AgentID, P: r.Confidence, Q: &r.Baseline, Index: int(r.WeightIndex), EventKey: r.EventKey}
}
