package leaderboard

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Figures are counts over the whole service.
type Figures struct {
	Agents int64 // agents that have published
	Events int64 // events with a settled prediction
	Ranked int64 // ranked agents of the main board
	Proven int64 // proven agents among the ranked
}

// Figures counts agents and events. Its cost grows with the number of agents, not with that of
// markets or predictions. Callers must cache the result and must not call it concurrently.
func (s *Store) Figures(ctx context.Context, db bun.IDB) (f Figures, err error) {
	if f.Agents, err = (prediction.Store{}).Publishers(ctx, db); err != nil {
		return f, err
	}
	if f.Events, err = settlement.CountEvents(ctx, db); err != nil {
		return f, err
	}
	board, err := readBoard(ctx, db, All, AllCategories)
	if board != nil {
		f.Ranked, f.Proven = board.Ranked, board.Proven
	}
	return f, err
}

// allTimeRows selects the rows of the boards over all time, of every category, without the reference
// rows.
func allTimeRows(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().Table("board_rows").Where("span = ?", All).Where(shownOf, All).Where("NOT reference")
}

// Choices are the values that a board's filters can take.
type Choices struct {
	Categories []string // categories with a board, the one with most agents first
	Models     []string // models that agents on the main board declare, the most frequent first
}

// Choices lists at most limit categories and limit models. It reads a row for each agent and
// category. Callers must cache the result and must not call it concurrently.
func (s *Store) Choices(ctx context.Context, db bun.IDB, limit int) (c Choices, err error) {
	of := func(column string) *bun.SelectQuery {
		return allTimeRows(db).Column(column).Where("? <> ''", bun.Ident(column)).
			Group(column).OrderExpr("COUNT(*) DESC, ?", bun.Ident(column)).Limit(int64(limit))
	}
	if err := of("category").Scan(ctx, &c.Categories); err != nil {
		return c, fmt.Errorf("read categories: %w", err)
	}
	if err := of("model").Where("category = ?", AllCategories).Scan(ctx, &c.Models); err != nil {
		return c, fmt.Errorf("read models: %w", err)
	}
	return c, nil
}
