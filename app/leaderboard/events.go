package leaderboard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
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

const (
	// eventMark begins the cursors of lists of events.
	eventMark = "events"
	// eventColumns are the columns of Event in a list of clusters AS c.
	eventColumns = "c.event_key, c.category, c.day, c.value, c.disagreements"
)

// EventsOf lists at most limit of the events behind an agent's skill with their predictions, the latest first. next
// is the cursor after the last of them, or "" if no more follow. An empty cursor starts at the latest event.
func (s *Store) EventsOf(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, limit int, after string,
) (events []Event, next string, err error) {
	planned := database.NewPlanned(db)
	q := settlement.SelectNewestClusters(db, planned, agentID, day(s.now()), limit+1)
	if after != "" {
		parts, err := cursor.Decode(after, 3)
		if err != nil {
			return nil, "", err
		}
		if _, err := time.Parse(time.DateOnly, parts[1]); err != nil || parts[0] != eventMark || plaintext.Check(parts[2], false) != "" {
			return nil, "", cursor.Invalid()
		}
		q.Where("(COALESCE(c.day, c.settled_day), c.event_key) < (?, ?)", planned.Value(parts[1]), planned.Value(parts[2]))
	}
	events = []Event{}
	if err := planned.Scan(ctx, db.NewSelect().TableExpr("(?) AS c", q).ColumnExpr(eventColumns).OrderExpr("c.day DESC, c.event_key DESC"), &events); err != nil {
		return nil, "", fmt.Errorf("read events: %w", err)
	}
	events, next = cutEvents(events, limit)
	return events, next, addPredictions(ctx, db, agentID, events)
}

// Highlights are the events that the page of an agent shows.
type Highlights struct {
	Latest []Event // the latest first
	Older  string  // the cursor of EventsOf after Latest, or "" if no more events follow
	// Best and Worst are the events that raised and lowered the agent's skill most, among its latest MaxReviewed events.
	// Best holds only values above 0, and Worst only values below 0.
	Best, Worst []Event
}

// Highlights reads at most latest of the latest events of an agent, and at most extremes of the best and of the worst.
func (s *Store) Highlights(ctx context.Context, db bun.IDB, agentID uuid.UUID, latest, extremes int) (*Highlights, error) {
	p := database.NewPlanned(db)
	first := func(list, order string, limit int) *bun.SelectQuery {
		some := db.NewSelect().Table("newest").ColumnExpr("*").OrderExpr(order).Limit(int64(limit))
		return db.NewSelect().TableExpr("(?) AS c", some).ColumnExpr(eventColumns).
			ColumnExpr("? AS list, row_number() OVER (ORDER BY ?) AS place", list, bun.Safe(order))
	}
	lists := first("latest", "day DESC, event_key DESC", latest+1).
		UnionAll(first("best", "value DESC, event_key", extremes)).
		UnionAll(first("worst", "value, event_key", extremes))
	q := db.NewSelect().With("newest", settlement.SelectNewestClusters(db, p, agentID, day(s.now()), MaxReviewed)).
		TableExpr("(?) AS c", lists).ColumnExpr(eventColumns).Column("c.list").OrderExpr("c.list, c.place")
	var rows []struct {
		Event `bun:",extend"`
		List  string
	}
	if err := p.Scan(ctx, q, &rows); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	h := &Highlights{}
	for _, r := range rows {
		switch {
		case r.List == "latest":
			h.Latest = append(h.Latest, r.Event)
		case r.List == "best" && r.Value > 0:
			h.Best = append(h.Best, r.Event)
		case r.List == "worst" && r.Value < 0:
			h.Worst = append(h.Worst, r.Event)
		}
	}
	h.Latest, h.Older = cutEvents(h.Latest, latest)
	return h, addPredictions(ctx, db, agentID, h.Latest, h.Best, h.Worst)
}

// cutEvents cuts a list of the latest events to limit. next is the cursor after the last of them, or "" if nothing was
// cut off.
func cutEvents(events []Event, limit int) (cut []Event, next string) {
	if len(events) <= limit {
		return events, ""
	}
	last := &events[limit-1]
	return events[:limit], cursor.Encode(eventMark, last.Day, last.Key)
}

// addPredictions fills in the predictions and titles of events of an agent. An event can be in several lists.
func addPredictions(ctx context.Context, db bun.IDB, agentID uuid.UUID, lists ...[]Event) error {
	byKey := map[string][]*Event{}
	for _, list := range lists {
		for i := range list {
			byKey[list[i].Key] = append(byKey[list[i].Key], &list[i])
		}
	}
	if len(byKey) == 0 {
		return nil
	}
	list, err := prediction.Store{}.ResolvedOn(ctx, db, agentID, slices.Collect(maps.Keys(byKey)), lastWeighed)
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
		p.Redact(author.Visibility, agent.Viewer{})
		for _, e := range byKey[p.EventKey] {
			e.Title, e.Predictions = titles[p.MarketID], append(e.Predictions, p)
		}
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
