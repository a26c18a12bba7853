package leaderboard

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Figures are the numbers of the whole place.
type Figures struct {
	Agents int64 // that have published
	Events int64 // with a settled prediction
	Ranked int64 // agents on the main board
	Proven int64 // of these
}

// Figures counts them. It walks the agents, never the predictions or the markets: callers keep the
// answer, and one of them reads it at a time.
func (s *Store) Figures(ctx context.Context, db bun.IDB) (f Figures, err error) {
	if f.Agents, err = (prediction.Store{}).Publishers(ctx, db); err != nil {
		return f, err
	}
	if f.Events, err = settlement.CountEvents(ctx, db); err != nil {
		return f, err
	}
	ranked := mainBoard(db).Where("rank IS NOT NULL")
	for _, count := range []struct {
		to *int64
		q  *bun.SelectQuery
	}{
		{&f.Ranked, ranked.Clone().ColumnExpr("COUNT(*)").Where("category = ?", AllCategories)},
		{&f.Proven, provenOn(db, All, AllCategories)},
	} {
		if err := count.q.Scan(ctx, count.to); err != nil {
			return f, fmt.Errorf("count agents and events: %w", err)
		}
	}
	return f, nil
}

// CountProven counts the ranked agents of a board that are proven. It walks the board.
func (s *Store) CountProven(ctx context.Context, db bun.IDB, w Window, category string) (n int64, err error) {
	if err := provenOn(db, w, category).Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("count proven agents: %w", err)
	}
	return n, nil
}

func provenOn(db bun.IDB, w Window, category string) *bun.SelectQuery {
	return db.NewSelect().Table("board_rows").ColumnExpr("COUNT(*)").
		Where("span = ?", w).Where("category = ?", category).
		Where("rank IS NOT NULL").Where("odds >= ?", score.ProvenOdds)
}

// mainBoard are the rows over all time, of every category, but for the reference rows.
func mainBoard(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().Table("board_rows").Where("span = ?", All).Where("NOT reference")
}

// Choices are what the filters of a board can be set to.
type Choices struct {
	Categories []string // that have a board, the fullest first
	Models     []string // declared by agents on the main board, the most frequent first
}

// Choices lists them, at most limit of each. It walks the main boards, a row for each agent and
// category: callers keep the answer, and one of them reads it at a time.
func (s *Store) Choices(ctx context.Context, db bun.IDB, limit int) (c Choices, err error) {
	of := func(column string) *bun.SelectQuery {
		return mainBoard(db).Column(column).Where("? <> ''", bun.Ident(column)).
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
