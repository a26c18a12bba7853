package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// lastWeighed is the last index whose weight can still move a cluster by 1/10,000
// of a point; see score.Contribution.
const lastWeighed = 20

// Event is an agent's settled forecasts on one event: one term of its skill.
type Event struct {
	Key      string `bun:"event_key"`
	Category string
	Day      string // scheduled close, "2026-11-21"; it counts from then on
	// Value is C in points: the sum of the edges times their weights.
	Value score.Points
	// Disagreements counts the forecasts at least 0.03 from the market.
	Disagreements int64
	// Title is the upstream event's, else the market's question.
	Title string `bun:"-"`
	// Predictions are the forecasts with a baseline that weigh anything, in order of
	// publication, without thesis and evidence.
	Predictions []prediction.Prediction `bun:"-"`
}

// countedOn is the day a cluster counts on.
const countedOn = "COALESCE(c.day, c.settled_day)"

// EventsOf lists the events that made an agent's skill on a board, the latest first,
// down to the single forecasts.
func (s *Store) EventsOf(ctx context.Context, db bun.IDB, agentID uuid.UUID, w Window, category string, limit int) ([]Event, error) {
	return s.events(ctx, db, agentID, w, category, countedOn+" DESC, c.event_key DESC", limit)
}

// BestAndWorst lists the events that helped and that hurt an agent's skill most over
// all time, at most limit each. An event that earned nothing is in neither.
func (s *Store) BestAndWorst(ctx context.Context, db bun.IDB, agentID uuid.UUID, limit int) (best, worst []Event, err error) {
	if best, err = s.events(ctx, db, agentID, All, AllCategories, "c.value DESC, c.event_key", limit); err != nil {
		return nil, nil, err
	}
	if worst, err = s.events(ctx, db, agentID, All, AllCategories, "c.value, c.event_key", limit); err != nil {
		return nil, nil, err
	}
	for i, e := range best {
		if e.Value <= 0 {
			best = best[:i]
			break
		}
	}
	for i, e := range worst {
		if e.Value >= 0 {
			worst = worst[:i]
			break
		}
	}
	return best, worst, nil
}

func (s *Store) events(ctx context.Context, db bun.IDB, agentID uuid.UUID, w Window, category, order string, limit int) ([]Event, error) {
	events := []Event{}
	q := db.NewSelect().TableExpr("clusters AS c").
		ColumnExpr("c.event_key, c.category, "+countedOn+" AS day, c.value, c.disagreements").
		Where("c.agent_id = ?", agentID).Where("c.settled > 0").Where(countedOn+" <= ?", day(s.now())).
		OrderExpr(order).Limit(int64(limit))
	if since := w.since(s.now()); since != "" {
		q.Where(countedOn+" >= ?", since)
	}
	if category != AllCategories {
		q.Where("c.category = ?", category)
	}
	if err := q.Scan(ctx, &events); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	if len(events) == 0 {
		return events, nil
	}
	return events, addPredictions(ctx, db, agentID, events)
}

// addPredictions fills in the forecasts and titles.
func addPredictions(ctx context.Context, db bun.IDB, agentID uuid.UUID, events []Event) error {
	byKey := make(map[string]*Event, len(events))
	keys := make([]string, 0, len(events))
	for i := range events {
		byKey[events[i].Key] = &events[i]
		keys = append(keys, events[i].Key)
	}
	var list []prediction.Prediction
	err := db.NewSelect().Model(&list).ExcludeColumn("thesis", "evidence").
		Where("p.agent_id = ?", agentID).Where("p.event_key IN (?)", bun.List(keys)).
		Where("p.status = ?", prediction.Resolved).Where("p.weight_index <= ?", lastWeighed).
		OrderExpr("p.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the predictions of events: %w", err)
	}
	titles, err := eventTitles(ctx, db, list)
	if err != nil {
		return err
	}
	author, err := agent.Store{}.ByID(ctx, db, agentID)
	if err != nil {
		return err
	}
	for _, p := range list {
		e := byKey[p.EventKey]
		e.Title = titles[p.MarketID]
		p.Redact(author.Visibility, agent.Viewer{})
		e.Predictions = append(e.Predictions, p)
	}
	return nil
}

// eventTitles names the event of each market that the forecasts are about.
func eventTitles(ctx context.Context, db bun.IDB, list []prediction.Prediction) (map[string]string, error) {
	ids := make([]string, 0, len(list))
	for _, p := range list {
		ids = append(ids, p.MarketID)
	}
	titles := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return titles, nil
	}
	var markets []market.Market
	err := db.NewSelect().Model(&markets).Column("id", "title", "event_title").
		Where("m.id IN (?)", bun.List(ids)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the titles of events: %w", err)
	}
	for _, m := range markets {
		titles[m.ID] = m.Title
		if m.EventTitle != "" {
			titles[m.ID] = m.EventTitle
		}
	}
	return titles, nil
}
