package leaderboard

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/memo"
)

const (
	// checkEvery is how often a first page in memory is compared with the board.
	checkEvery = time.Second
	// reloadEvery is how often it is read again all the same: names and counts in it
	// move without the board.
	reloadEvery = 10 * time.Second
	// maxFirstPages bounds the memory; there are four for each category.
	maxFirstPages = 256
	// modelsFor is how long the models of a board are kept. The board's next build
	// replaces them earlier.
	modelsFor = time.Hour
)

// Store reads boards and what is behind them. It keeps first pages in memory; its
// methods are safe for concurrent use.
type Store struct {
	thresholds Thresholds
	now        func() time.Time

	pages  *memo.Cache[boardKey, *firstPage]
	models *memo.Cache[modelsKey, []ModelRow]
}

// Forget drops what is kept in memory, because names and models in it may have changed.
func (s *Store) Forget() {
	s.pages.Forget()
	s.models.Forget()
}

// Relabel shows another declared model of an agent on every board at once; else the
// next build would.
func Relabel(ctx context.Context, tx bun.Tx, agentID uuid.UUID, model string) error {
	_, err := tx.NewUpdate().Model((*Row)(nil)).Set("model = ?", model).Where("agent_id = ?", agentID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("relabel an agent: %w", err)
	}
	return nil
}

type boardKey struct {
	window   Window
	category string
}

// firstPage is the top of a board; it is never changed once it is shared.
type firstPage struct {
	board    *Board
	entries  []Entry
	loadedAt time.Time
}

// NewStore makes a Store. The thresholds are for Stats' progress and should be the
// Builder's.
func NewStore(t Thresholds, now func() time.Time) *Store {
	return &Store{
		thresholds: t, now: now,
		pages:  memo.New[boardKey](memo.Options[*firstPage]{Size: maxFirstPages, Now: now}),
		models: memo.New[modelsKey](memo.Options[[]ModelRow]{Size: 2 * len(Windows), Now: now}),
	}
}

// top returns the first page of a board, at most a second old.
func (s *Store) top(ctx context.Context, db bun.IDB, key boardKey) (*firstPage, error) {
	return s.pages.Get(
		ctx, key, func(ctx context.Context) (*firstPage, time.Time, error) { return s.refresh(ctx, db, key) },
	)
}

// refresh compares a first page with its board, and reads it again if the board is newer
// or the page is old. It also returns when the next comparison is due.
func (s *Store) refresh(ctx context.Context, db bun.IDB, key boardKey) (*firstPage, time.Time, error) {
	now := s.now()
	board, err := readBoard(ctx, db, key.window, key.category)
	if err != nil {
		return nil, time.Time{}, err
	}
	if board == nil { // not kept, because any word can be asked for
		return &firstPage{entries: []Entry{}}, time.Time{}, nil
	}
	p := &firstPage{board: board, loadedAt: now}
	if old, ok := s.pages.Last(key); ok && old.board.AsOf.Equal(board.AsOf) && now.Sub(old.loadedAt) < reloadEvery {
		p.entries, p.loadedAt = old.entries, old.loadedAt
	} else {
		f := Filter{Window: key.window, Category: key.category}
		if p.entries, err = readEntries(ctx, db, f, nil, MaxLimit+1); err != nil {
			return nil, time.Time{}, err
		}
	}
	return p, now.Add(checkEvery), nil
}
