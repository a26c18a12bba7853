package settlement

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Span is the time from From up to but not including To. With a zero From it has no start.
type Span struct{ From, To time.Time }

// within narrows a query to rows whose time column lies in the span.
func (s Span) within(q *bun.SelectQuery, column string) *bun.SelectQuery {
	if !s.From.IsZero() {
		q.Where("? >= ?", bun.Ident(column), database.Stored(s.From))
	}
	return q.Where("? < ?", bun.Ident(column), database.Stored(s.To))
}

// ids narrows a query to rows whose ids were created in the span.
func (s Span) ids(q *bun.SelectQuery, column string) *bun.SelectQuery {
	if !s.From.IsZero() {
		q.Where("? >= ?", bun.Ident(column), database.FirstID(s.From))
	}
	return q.Where("? < ?", bun.Ident(column), database.FirstID(s.To))
}

// OutcomesIn lists the outcomes decided in a span, in order of market id. It returns at most limit
// outcomes of markets with an id greater than after.
func OutcomesIn(ctx context.Context, db bun.IDB, s Span, after string, limit int) ([]Outcome, error) {
	var rows []Outcome
	q := s.within(db.NewSelect().Model(&rows), "o.decided_at").Where("o.market_id > ?", after)
	if err := q.Order("o.market_id").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	for i := range rows {
		rows[i].utc()
	}
	return rows, nil
}

// EntriesIn lists the ledger entries created in a span, in order of their ids. It returns at most
// limit entries with an id greater than after.
func EntriesIn(ctx context.Context, db bun.IDB, s Span, after uuid.UUID, limit int) ([]Entry, error) {
	var rows []Entry
	q := s.ids(db.NewSelect().Model(&rows), "s.id").Where("s.id > ?", after)
	if err := q.Order("s.id", "s.agent_id").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	for i := range rows {
		rows[i].CreatedAt = rows[i].CreatedAt.UTC()
	}
	return rows, nil
}

// ScoredIn lists the predictions with a ledger entry in a span, at most limit. Each is listed once,
// ordered by its last entry in the span. The list starts after the entry named after; last is the
// id to pass for the next page.
func ScoredIn(ctx context.Context, db bun.IDB, s Span, after uuid.UUID, limit int) (
	keys []prediction.Key, last uuid.UUID, err error,
) {
	var rows []struct {
		AgentID      uuid.UUID `bun:",type:uuid"`
		PredictionID uuid.UUID `bun:",type:uuid"`
		ID           uuid.UUID `bun:",type:uuid"`
	}
	err = s.ids(db.NewSelect().TableExpr("score_entries AS s"), "s.id").Column("s.agent_id", "s.prediction_id", "s.id").
		Where("s.id > ?", after).
		Where(`NOT EXISTS (SELECT 1 FROM score_entries AS n WHERE n.prediction_id = s.prediction_id
			AND n.agent_id = s.agent_id AND n.seq > s.seq AND n.id < ?)`, database.FirstID(s.To)).
		Order("s.id").Limit(int64(limit)).Scan(ctx, &rows)
	if err != nil {
		return nil, last, fmt.Errorf("list scored predictions: %w", err)
	}
	for _, r := range rows {
		keys, last = append(keys, prediction.Key{AgentID: r.AgentID, ID: r.PredictionID}), r.ID
	}
	return keys, last, nil
}

// Voided is a void prediction, and when it became void.
type Voided struct {
	prediction.Key
	SettledAt time.Time
}

// VoidedIn lists the predictions that became void in a span and have no ledger entry in it, in the order in which they
// became void. It returns at most limit after the given one; the zero Voided begins the list.
func VoidedIn(ctx context.Context, db bun.IDB, s Span, after Voided, limit int) ([]Voided, error) {
	scored := s.ids(db.NewSelect().TableExpr("score_entries AS e").ColumnExpr("1"), "e.id").
		Where("e.prediction_id = s.id").Where("e.agent_id = s.agent_id")
	q := s.within(prediction.SelectVoided(db), "s.settled_at").Where("NOT EXISTS (?)", scored)
	if !after.SettledAt.IsZero() {
		q = q.Where("(s.settled_at, s.id) > (?, ?)", database.Stored(after.SettledAt), after.ID)
	}
	var rows []Voided
	if err := q.Order("s.settled_at", "s.id").Limit(int64(limit)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("list void predictions: %w", err)
	}
	return rows, nil
}

// SettledReference is a reference row with the category and day it counts under.
type SettledReference struct {
	ReferencePrediction
	Category string
	Day      string
}

// ReferencesIn lists the reference rows that were settled or reopened in a span, in order of agent
// and market. It returns at most limit rows after the given agent and market.
func ReferencesIn(
	ctx context.Context, db bun.IDB, s Span, agent uuid.UUID, marketID string, limit int,
) ([]SettledReference, error) {
	var rows []SettledReference
	q := db.NewSelect().Model((*ReferencePrediction)(nil)).
		Join("LEFT JOIN clusters AS c ON c.agent_id = r.agent_id AND c.event_key = r.event_key").
		ColumnExpr("?TableColumns, COALESCE(c.category, '') AS category, COALESCE(c.day, c.settled_day, '') AS day").
		Where("(r.agent_id, r.market_id) > (?, ?)", agent, marketID)
	if err := s.within(q, "r.settled_at").Order("r.agent_id", "r.market_id").Limit(int64(limit)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read reference rows: %w", err)
	}
	for i := range rows {
		r := &rows[i]
		r.ObservedAt, r.SettledAt, r.CreatedAt = r.ObservedAt.UTC(), r.SettledAt.UTC(), r.CreatedAt.UTC()
	}
	return rows, nil
}
