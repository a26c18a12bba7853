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
	// checkEvery is the longest time that a first page is served from memory without a check
	// whether its board changed.
	checkEvery = time.Second
	// reloadEvery is the age at which a first page is read again even if its board didn't change,
	// because its names and counts change without the board.
	reloadEvery = 10 * time.Second
	// maxFirstPages is the most first pages in memory. Each category has four, one for each window.
	maxFirstPages = 256
	// modelsFor is the longest time that the models of a board are kept in memory. The next build
	// of the board replaces them earlier.
	modelsFor = time.Hour
)

// Store reads boards and agents' records. It keeps first pages and models in memory. Its methods
// are safe for concurrent use.
type Store struct {
	thresholds Thresholds
	now        func() time.Time

	pages  *memo.Cache[boardKey, *firstPage]
	models *memo.Cache[modelsKey, []ModelRow]
}

// Forget drops the pages and models kept in memory. Call it when names or models have changed.
func (s *Store) Forget() {
	s.pages.Forget()
	s.models.Forget()
}

// Relabel sets an agent's declared model on every board immediately, without waiting for the next
// build.
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

// firstPage is the first page of a board. It must not be modified.
type firstPage struct {
	board    *Board
	entries  []Entry
	loadedAt time.Time
}

// NewStore returns a Store. It uses the thresholds for the progress in Stats; they should be the
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
	if board == nil { // not kept in memory, because a request can name any category
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
