package leaderboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// lastWeighed is the last index whose weighted edge can still be 1/10,000 of a point; see
// score.Contribution.
const lastWeighed = 20

// Event is an agent's settled predictions on one event: one term of its skill.
type Event struct {
	Key      string `bun:"event_key"`
	Category string
	Day      string // scheduled close, "2026-11-21"; the event counts from this day on
	// Value is C, the sum of weight · edge, in points.
	Value score.Points
	// Disagreements counts the predictions at least score.MinDisagreement from their baselines.
	Disagreements int64
	// Title is the title of the upstream event, or the market's question if it has none.
	Title string `bun:"-"`
	// Predictions are the first 21 predictions with a baseline, in order of publication, without
	// thesis and evidence. Later ones weigh nothing.
	Predictions []prediction.Prediction `bun:"-"`
}

// eventMark begins the cursors of lists of events.
const eventMark = "events"

// EventsOf lists at most limit of the events behind an agent's skill with their predictions, the latest first. next
// is the cursor after the last of them, or "" if no more follow. An empty cursor starts at the latest event.
func (s *Store) EventsOf(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, limit int, after string,
) (events []Event, next string, err error) {
	q := settlement.SelectNewestClusters(db, agentID, day(s.now()), limit+1)
	if after != "" {
		parts, err := cursor.Decode(after, 3)
		if err != nil {
			return nil, "", err
		}
		if _, err := time.Parse(time.DateOnly, parts[1]); err != nil || parts[0] != eventMark || plaintext.Check(parts[2], false) != "" {
			return nil, "", cursor.Invalid()
		}
		q.Where("(COALESCE(c.day, c.settled_day), c.event_key) < (?, ?)", parts[1], parts[2])
	}
	if events, err = s.events(ctx, db, q, "c.day DESC, c.event_key DESC", limit+1); err != nil {
		return nil, "", err
	}
	if len(events) > limit {
		events = events[:limit]
		last := &events[limit-1]
		next = cursor.Encode(eventMark, last.Day, last.Key)
	}
	return events, next, addPredictions(ctx, db, agentID, events)
}

// BestAndWorst lists the events that raised and lowered an agent's skill most, among its latest
// MaxReviewed events. Each list has at most limit events. best holds only values above 0, and worst
// only values below 0.
func (s *Store) BestAndWorst(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, limit int,
) (best, worst []Event, err error) {
	newest := settlement.SelectNewestClusters(db, agentID, day(s.now()), MaxReviewed)
	if best, err = s.events(ctx, db, newest, "c.value DESC, c.event_key", limit); err != nil {
		return nil, nil, err
	}
	if worst, err = s.events(ctx, db, newest, "c.value, c.event_key", limit); err != nil {
		return nil, nil, err
	}
	best = slices.DeleteFunc(best, func(e Event) bool { return e.Value <= 0 })
	worst = slices.DeleteFunc(worst, func(e Event) bool { return e.Value >= 0 })
	both := slices.Concat(best, worst)
	err = addPredictions(ctx, db, agentID, both)
	return both[:len(best):len(best)], both[len(best):], err
}

// events lists at most limit of the clusters that newest selects, in the given order, without their predictions.
func (s *Store) events(ctx context.Context, db bun.IDB, newest *bun.SelectQuery, order string, limit int) ([]Event, error) {
	events := []Event{}
	q := db.NewSelect().TableExpr("(?) AS c", newest).
		ColumnExpr("c.event_key, c.category, c.day, c.value, c.disagreements").OrderExpr(order).Limit(int64(limit))
	if err := q.Scan(ctx, &events); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// addPredictions fills in the predictions and titles.
func addPredictions(ctx context.Context, db bun.IDB, agentID uuid.UUID, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	byKey := make(map[string]*Event, len(events))
	keys := make([]string, 0, len(events))
	for i := range events {
		byKey[events[i].Key] = &events[i]
		keys = append(keys, events[i].Key)
	}
	list, err := prediction.Store{}.ResolvedOn(ctx, db, agentID, keys, lastWeighed)
	if err != nil {
		return err
	}
	author, err := agent.Store{}.ByID(ctx, db, agentID)
	if err != nil {
		return err
	}
	titles, err := market.Store{}.EventTitles(ctx, db, marketsOf(list))
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

// marketsOf returns the market ids of predictions.
func marketsOf(list []prediction.Prediction) []string {
	ids := make([]string, 0, len(list))
	for _, p := range list {
		ids = append(ids, p.MarketID)
	}
	return ids
}
