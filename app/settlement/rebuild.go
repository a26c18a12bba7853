package settlement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

const (
	// rebuildAgents is how many agents one transaction of a rebuild processes at most.
	rebuildAgents = 100
	// rebuildRows is how many predictions are in memory at once. It also bounds a transaction, unless its only
	// agent has more predictions. During the transaction its agents can't publish. On SQLite, no agent can.
	rebuildRows = 5000
)

// Compared names what a rebuild compares with the stored numbers.
type Compared string

const (
	ComparedClusters Compared = "cluster"
	ComparedDays     Compared = "day"
	ComparedTallies  Compared = "tally"
	// ComparedCounts are the counts of predictions on a market, and ComparedEvents those of agents on an event.
	ComparedCounts Compared = "count"
	ComparedEvents Compared = "event"
	// ComparedLedger are published scores. ComparedMarket are predictions of the market, which has none.
	ComparedLedger Compared = "ledger"
	ComparedMarket Compared = "market"
)

// Difference is a number that differs from the recomputed one.
type Difference struct {
	What  Compared
	Agent uuid.UUID // uuid.Nil if the number is of a market or an event
	Key   string    // the event, "category day", the prediction, or the market; empty for a tally
	Have  string
	Want  string
}

// Published reports whether the number was published with a score. Rebuild never rewrites such a
// number.
func (d Difference) Published() bool { return d.What == ComparedLedger || d.What == ComparedMarket }

func (d Difference) String() string {
	of := make([]string, 0, 2)
	if d.Agent != uuid.Nil {
		of = append(of, d.Agent.String())
	}
	if d.Key != "" {
		of = append(of, d.Key)
	}
	return fmt.Sprintf("%s of %s: have %s, want %s", d.What, strings.Join(of, ", "), d.Have, d.Want)
}

// RebuildReport counts what a rebuild read and lists the differences it found.
type RebuildReport struct {
	Agents, Predictions, Entries, References int64
	Differences                              []Difference
}

// Rebuild recomputes the clusters, days and tallies of each agent from the predictions' baselines
// and the ledger, the counts of predictions on each market, and the counts of agents on each event.
// It compares them with the stored ones. With replace it rewrites the sums that differ. Ledger
// entries and predictions that break the rules are only reported, because published numbers are
// never rewritten.
func (s *Service) Rebuild(ctx context.Context, replace bool) (RebuildReport, error) {
	var report RebuildReport
	last := uuid.Nil
	for {
		agents, err := agent.Store{}.IDs(ctx, s.db.Reader, last, rebuildAgents)
		if err != nil {
			return report, err
		}
		if len(agents) == 0 {
			err := s.rebuildCounts(ctx, replace, &report)
			if err == nil {
				err = s.rebuildEvents(ctx, replace, &report)
			}
			return report, err
		}
		if agents, err = s.atMostRows(ctx, agents); err != nil {
			return report, err
		}
		if last != uuid.Nil {
			if err := s.db.Pause(ctx); err != nil {
				return report, fmt.Errorf("rebuild: %w", err)
			}
		}
		last = agents[len(agents)-1]
		err = s.inWholeLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
			return s.rebuildSome(ctx, tx, agents, replace, &report)
		})
		if err != nil {
			return report, fmt.Errorf("rebuild: %w", err)
		}
	}
}

// atMostRows returns the first of agents, as many as have about rebuildRows predictions, but at least one.
func (s *Service) atMostRows(ctx context.Context, agents []uuid.UUID) ([]uuid.UUID, error) {
	tallies, err := prediction.Tallies(ctx, s.db.Reader, agents)
	if err != nil {
		return nil, err
	}
	rows := int64(0)
	for i, id := range agents {
		if rows += tallies[id].Total; rows > rebuildRows && i > 0 {
			return agents[:i], nil
		}
	}
	return agents, nil
}

func (s *Service) rebuildSome(ctx context.Context, tx bun.Tx, agents []uuid.UUID, replace bool, report *RebuildReport) error {
	// Publishing doesn't take the ledger lock. A prediction committed after its agent's predictions
	// are read and before the tally is written would be missing from the tally.
	if err := prediction.LockTallies(ctx, tx, agents); err != nil {
		return err
	}
	have, err := loadSums(ctx, tx, agents)
	if err != nil {
		return err
	}
	want := newSums()
	r := recount{sums: want, kept: have.clusters, report: report, latest: database.LatestPlausible(s.now())}
	for _, id := range agents {
		if err := r.agent(ctx, tx, id); err != nil {
			return err
		}
	}
	want.countClusters()
	report.Agents += int64(len(agents))
	found := have.compare(want)
	report.Differences = append(report.Differences, found...)
	if !replace || len(found) == 0 {
		return prediction.DropEmptyTallies(ctx, tx, agents)
	}
	return want.replace(ctx, tx, agents)
}

// recount computes the sums of agents from scratch.
type recount struct {
	*sums
	kept   map[clusterKey]*Cluster // clusters as stored, for their fixed category and day
	report *RebuildReport
	// latest is the latest plausible time of a prediction. As in publishing, later times and days don't count.
	latest time.Time
}

func (r *recount) agent(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
	tally := prediction.Tally{AgentID: id}
	days := map[string]struct{}{}
	for last := uuid.Nil; ; {
		var rows []item
		q := prediction.SelectResults(tx).Where("p.agent_id = ?", id).Where("p.id > ?", last).Order("p.id").Limit(rebuildRows)
		if err := q.Scan(ctx, &rows); err != nil {
			return fmt.Errorf("read predictions: %w", err)
		}
		if err := r.predictions(ctx, tx, rows); err != nil {
			return err
		}
		for i := range rows {
			p := &rows[i]
			last = p.ID
			count(&tally, p)
			if p.CreatedAt.After(tally.LastPublishedAt) && !p.CreatedAt.After(r.latest) {
				tally.LastPublishedAt = p.CreatedAt
			}
			if day := dayOf(p.CreatedAt); p.MarketID != "" && day <= dayOf(r.latest) {
				days[day] = struct{}{}
				tally.LastRankedDay = max(tally.LastRankedDay, day)
			}
		}
		if len(rows) < rebuildRows {
			break
		}
	}
	tally.PublicationDays = int64(len(days))
	if tally.Total > 0 {
		r.tallies[id] = tally
	}
	return r.references(ctx, tx, id)
}

func count(t *prediction.Tally, p *item) {
	t.Total++
	switch p.Status {
	case prediction.Open:
		t.Open++
	case prediction.Resolved:
		t.Resolved++
	case prediction.Void:
		t.Void++
	}
}

func (r *recount) predictions(ctx context.Context, tx bun.Tx, rows []item) error {
	ids := make([]uuid.UUID, 0, len(rows))
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	entries, err := ledgerOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		p := &rows[i]
		p.CreatedAt = p.CreatedAt.UTC()
		if own := entries[p.ID]; len(own) > 0 {
			p.last = &own[len(own)-1]
		}
		r.report.Predictions++
		r.report.Entries += int64(len(entries[p.ID]))
		if p.BaselineState == prediction.Fixed {
			c := r.cluster(p.AgentID, p.EventKey, categoryOf(p.MarketCategory), dayOf(p.ScheduledCloseAt))
			c.NextIndex = max(c.NextIndex, *p.WeightIndex+1)
		}
		for _, e := range entries[p.ID] {
			r.entry(p, &e)
		}
		if scored := p.last != nil && p.last.IsScore(); scored != (p.Status == prediction.Resolved) {
			r.report.differ(
				ComparedLedger, p.AgentID, p.ID.String(), fmt.Sprintf("has a score: %t", scored), "status "+string(p.Status),
			)
		}
	}
	return nil
}

// entry adds one ledger entry to the sums. It first checks the numbers of an entry under the current
// rules version.
func (r *recount) entry(p *item, e *Entry) {
	sign, numbers := int64(1), e.result()
	if !e.IsScore() {
		sign = -1
	}
	bet := p.bet()
	if fresh := bet.score(e.Value); e.RulesVersion == score.RulesVersion && !fresh.equal(numbers) {
		r.report.differ(ComparedLedger, e.AgentID, fmt.Sprintf("%s/%d", e.PredictionID, e.Seq), numbers.String(), fresh.String())
	}
	if bet.Q != nil {
		c := r.clusters[clusterKey{bet.AgentID, bet.EventKey}]
		c.Category = e.Category
		if c.count(&bet, numbers, sign, ""); c.Day == "" && e.ID == p.last.ID && e.IsScore() {
			c.SettledDay = e.Day // all scores on one event count on one day
		}
	}
	r.add(bet.term(e.Value, numbers, sign, e.Category, e.Day))
}

func (r *recount) references(ctx context.Context, tx bun.Tx, agent uuid.UUID) error {
	var rows []struct {
		ReferencePrediction
		Category  string    `bun:",nullzero"`
		ClosesAt  time.Time `bun:",nullzero"`
		DecidedAt time.Time `bun:",nullzero"`
	}
	err := tx.NewSelect().Model((*ReferencePrediction)(nil)).
		Join("JOIN (?) AS m ON m.id = r.market_id", market.Select(tx)).
		Join("LEFT JOIN market_outcomes AS o ON o.market_id = r.market_id").
		ColumnExpr("?TableColumns, m.category, m.closes_at, o.decided_at").Where("r.agent_id = ?", agent).
		Order("r.event_key", "r.weight_index").Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read reference rows: %w", err)
	}
	for i := range rows {
		ref := &rows[i].ReferencePrediction
		r.report.References++
		if agent == MarketAgent { // its row on the boards is exactly 0 because nothing of it counts
			r.report.differ(ComparedMarket, agent, ref.MarketID, fmt.Sprintf("confidence %g, baseline %g", ref.Confidence, ref.Baseline), "no prediction")
			continue
		}
		c := r.cluster(agent, ref.EventKey, categoryOf(rows[i].Category), dayOf(rows[i].ClosesAt))
		c.NextIndex = max(c.NextIndex, ref.WeightIndex+1)
		if ref.Value == nil {
			continue
		}
		bet := ref.bet()
		numbers := bet.score(*ref.Value)
		c.count(&bet, numbers, 1, dayOf(rows[i].DecidedAt))
		r.add(bet.term(*ref.Value, numbers, 1, c.Category, c.countsOn()))
	}
	return nil
}

// cluster returns an agent's cluster on an event, and creates it if necessary. The agent's first
// prediction on the event fixed category and day. The stored row records them until a ledger entry
// does.
func (r *recount) cluster(agent uuid.UUID, event, category, day string) *Cluster {
	key := clusterKey{agent, event}
	if c := r.clusters[key]; c != nil {
		return c
	}
	c := &Cluster{AgentID: agent, EventKey: event, Category: category, Day: day}
	if kept := r.kept[key]; kept != nil {
		c.Category, c.Day = kept.Category, kept.Day
		if isReference(agent) {
			c.SettledDay = kept.SettledDay // reference agents have no ledger entries
		}
	}
	r.clusters[key] = c
	return c
}

func (r *RebuildReport) differ(what Compared, agent uuid.UUID, key, have, want string) {
	r.Differences = append(r.Differences, Difference{what, agent, key, have, want})
}

func ledgerOf(ctx context.Context, tx bun.Tx, ids []uuid.UUID) (map[uuid.UUID][]Entry, error) {
	found := map[uuid.UUID][]Entry{}
	if len(ids) == 0 {
		return found, nil
	}
	var entries []Entry
	err := tx.NewSelect().Model(&entries).Where("s.prediction_id IN (?)", bun.List(ids)).
		Order("s.prediction_id", "s.seq").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for _, e := range entries {
		found[e.PredictionID] = append(found[e.PredictionID], e)
	}
	return found, nil
}

func (r result) equal(other result) bool {
	return units(r.Brier, 1e12) == units(other.Brier, 1e12) && same(r.Edge, other.Edge) &&
		same(r.Contribution, other.Contribution) && same(r.Stake, other.Stake) && same(r.Spread, other.Spread) &&
		(r.LogEdge == nil || units(*r.LogEdge, 1e6) == units(*other.LogEdge, 1e6))
}

func same[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func (r result) String() string {
	if r.Edge == nil {
		return fmt.Sprintf("brier %g", r.Brier)
	}
	return fmt.Sprintf("brier %g, edge %d, contribution %d, log edge %g, stake %d, spread %d",
		r.Brier, *r.Edge, *r.Contribution, *r.LogEdge, *r.Stake, *r.Spread)
}
