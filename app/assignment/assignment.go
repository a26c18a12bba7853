// Package assignment owns the open questions that agents are asked to forecast. Twelve are chosen each UTC day
// from liquid markets, and admins write others.
package assignment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// Status says whether an assignment still accepts answers.
type Status string

// An assignment is open until it is due, its market closes, or an admin closes it.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// Assignment is one question to forecast.
type Assignment struct {
	bun.BaseModel `bun:"table:assignments,alias:s"`

	ID uuid.UUID `bun:",pk,type:uuid"`
	// Day is the UTC day that it was chosen for ("2026-11-21"). It is empty if an admin wrote it.
	Day string `bun:",nullzero"`
	// MarketID and Outcome say what to forecast. Both are empty for a question without a market.
	MarketID     string `bun:",nullzero"`
	Outcome      string `bun:",nullzero"`
	Title        string
	Instructions string
	Category     string
	Status       Status
	OpensAt      time.Time
	DueAt        time.Time
	Sample       bool
	CreatedAt    time.Time
	// Announced says that an update about the opening is recorded.
	Announced bool
}

func (a *Assignment) utc() {
	a.OpensAt, a.DueAt, a.CreatedAt = a.OpensAt.UTC(), a.DueAt.UTC(), a.CreatedAt.UTC()
}

// Listed is an assignment with its current state.
type Listed struct {
	Assignment
	Market *market.Market // nil without a market
	// Consensus is zero without a market, or if the market has no predictions.
	Consensus prediction.Consensus
	// Done says that the agent has answered since the assignment opened. An answer is a prediction on the
	// market, or, for a question without a market, a prediction with the same title.
	Done bool
}

// Filter selects assignments.
type Filter struct {
	Limit  int    // at least 1
	Cursor string // the next that List returned for the previous page
	// AgentID is the agent that Done is about. With uuid.Nil, Done is never set.
	AgentID uuid.UUID
}

// Store reads and writes assignments.
type Store struct {
	markets     market.Store
	predictions prediction.Store
}

// List returns a page of the assignments that are open at the given time, next due first. next is the cursor of
// the next page, empty on the last page. An assignment whose market has closed is left out, even if it isn't
// marked as closed yet. List refuses a cursor of another list as invalid_parameter.
func (s Store) List(ctx context.Context, db bun.IDB, f Filter, now time.Time) (list []Listed, next string, err error) {
	open, next, err := page(ctx, db, f, now)
	if err != nil {
		return nil, "", err
	}
	list = make([]Listed, len(open))
	for i := range open {
		list[i].Assignment = open[i]
		list[i].utc()
	}
	if len(list) == 0 {
		return list, "", nil
	}
	if err := s.addMarkets(ctx, db, list); err != nil {
		return nil, "", err
	}
	if err := s.addConsensus(ctx, db, list); err != nil {
		return nil, "", err
	}
	return list, next, s.MarkDone(ctx, db, list, f.AgentID)
}

func page(ctx context.Context, db bun.IDB, f Filter, now time.Time) (open []Assignment, next string, err error) {
	q := selectOpen(db, now).Limit(int64(f.Limit) + 1)
	if f.Cursor != "" {
		parts, err := cursor.Decode(f.Cursor, 2)
		if err != nil {
			return nil, "", err
		}
		due, err := cursor.ParseTime(parts[0])
		if err != nil {
			return nil, "", err
		}
		id, err := uuid.Parse(parts[1])
		if err != nil {
			return nil, "", cursor.Invalid()
		}
		q = q.Where("(s.due_at, s.id) > (?, ?)", due, id)
	}
	if err := q.Scan(ctx, &open); err != nil {
		return nil, "", fmt.Errorf("list assignments: %w", err)
	}
	if len(open) > f.Limit {
		open = open[:f.Limit]
		last := open[f.Limit-1]
		next = cursor.Encode(cursor.Time(last.DueAt), last.ID.String())
	}
	return open, next, nil
}

// selectOpen selects the assignments that are open at the given time, next due first.
func selectOpen(db bun.IDB, now time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*Assignment)(nil)).
		Where("s.status = ?", Open).Where("s.opens_at <= ?", now).Where("s.due_at > ?", now).
		Where("NOT EXISTS (?)", market.SelectClosed(db, "s.market_id")).OrderExpr("s.due_at, s.id")
}

// ByID returns one assignment, or nil if there is none.
func (s Store) ByID(ctx context.Context, db bun.IDB, id uuid.UUID) (*Assignment, error) {
	a := new(Assignment)
	err := db.NewSelect().Model(a).Where("s.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read assignment: %w", err)
	}
	a.utc()
	return a, nil
}

// All returns assignments for the admin pages: the open ones, next due first, and then the closed ones, last due
// first. So an open one is listed however many were opened since. The index has this order, so the closed ones needn't
// all be read.
func (s Store) All(ctx context.Context, db bun.IDB, limit int) ([]Assignment, error) {
	read := func(status Status, order string) (list []Assignment, err error) {
		err = db.NewSelect().Model(&list).Where("s.status = ?", status).OrderExpr(order).Limit(int64(limit)).Scan(ctx)
		return list, err
	}
	list, err := read(Open, "s.due_at, s.id")
	if err != nil {
		return nil, fmt.Errorf("list open assignments: %w", err)
	}
	closed, err := read(Closed, "s.due_at DESC, s.id DESC")
	if err != nil {
		return nil, fmt.Errorf("list closed assignments: %w", err)
	}
	list = append(list, closed[:min(len(closed), limit-len(list))]...)
	for i := range list {
		list[i].utc()
	}
	return list, nil
}

// CloseDue closes the assignments that are due or whose market has closed. It returns their number.
func (s Store) CloseDue(ctx context.Context, db bun.IDB, now time.Time) (int64, error) {
	res, err := db.NewUpdate().Model((*Assignment)(nil)).Set("status = ?", Closed).Where("s.status = ?", Open).
		Where("(s.due_at <= ? OR EXISTS (?))", database.Stored(now), market.SelectClosed(db, "s.market_id")).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("close assignments: %w", err)
	}
	return res.RowsAffected()
}

func marketIDs(list []Listed) []string {
	ids := make([]string, 0, len(list))
	for _, a := range list {
		if a.MarketID != "" {
			ids = append(ids, a.MarketID)
		}
	}
	return ids
}

func (s Store) addMarkets(ctx context.Context, db bun.IDB, list []Listed) error {
	ids := marketIDs(list)
	if len(ids) == 0 {
		return nil
	}
	markets, err := s.markets.ByIDs(ctx, db, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]*market.Market, len(markets))
	for i := range markets {
		byID[markets[i].ID] = &markets[i]
	}
	for i := range list {
		list[i].Market = byID[list[i].MarketID]
	}
	return nil
}

func (s Store) addConsensus(ctx context.Context, db bun.IDB, list []Listed) error {
	found, err := s.predictions.Consensus(ctx, db, marketIDs(list))
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Consensus = found[list[i].MarketID]
	}
	return nil
}

// MarkDone sets Done for the assignments that an agent has answered, with one query. It looks at the agent's newest
// prediction on each market, because the earlier ones may be many. An answer to an assignment without a market has its
// title. It is looked for among the agent's newest 1,000 predictions. MarkDone does nothing for uuid.Nil.
func (Store) MarkDone(ctx context.Context, db bun.IDB, list []Listed, agentID uuid.UUID) error {
	if len(list) == 0 || agentID == uuid.Nil {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(list))
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	var done []uuid.UUID
	newest := prediction.SelectBy(db, agentID).Where("p.market_id = s.market_id").OrderExpr("p.id DESC").Limit(1)
	onMarket := db.NewSelect().TableExpr("(?) AS p", newest).Where("p.created_at >= s.opens_at")
	byTitle := prediction.SelectNewestBy(db, agentID).Column("p.title").Where("lower(p.title) = lower(s.title)").Where("p.created_at >= s.opens_at")
	err := db.NewSelect().Model((*Assignment)(nil)).Column("s.id").Where("s.id IN (?)", bun.List(ids)).
		Where("EXISTS (?) OR (s.market_id IS NULL AND EXISTS (?))", onMarket, byTitle).
		Scan(ctx, &done)
	if err != nil {
		return fmt.Errorf("look for answers to assignments: %w", err)
	}
	for _, id := range done {
		for i := range list {
			list[i].Done = list[i].Done || list[i].ID == id
		}
	}
	return nil
}
