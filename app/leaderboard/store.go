package leaderboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/sync/singleflight"
)

const (
	// checkEvery is how often a first page in memory is compared with the board.
	checkEvery = time.Second
	// reloadEvery is how often it is read again all the same: names and counts in it
	// move without the board.
	reloadEvery = 10 * time.Second
	// maxFirstPages bounds the memory; there are four for each category.
	maxFirstPages = 256
	// loadTimeout bounds a read that several callers wait for.
	loadTimeout = 5 * time.Second
)

// Store reads boards and what is behind them. It keeps first pages in memory; its
// methods are safe for concurrent use.
type Store struct {
	thresholds Thresholds
	now        func() time.Time

	flight singleflight.Group
	mu     sync.RWMutex
	epoch  int // moves with Forget
	pages  map[boardKey]*firstPage
	models map[Window]*keptModels
}

// Forget drops what is kept in memory: names and models in it may have changed.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	clear(s.pages)
	clear(s.models)
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
	board     *Board
	entries   []Entry
	loadedAt  time.Time
	checkedAt time.Time
}

// NewStore makes a Store. The thresholds are for Stats' progress and should be the
// Builder's.
func NewStore(t Thresholds, now func() time.Time) *Store {
	return &Store{thresholds: t, now: now, pages: map[boardKey]*firstPage{}, models: map[Window]*keptModels{}}
}

// top is the first page of a board, at most a second old.
func (s *Store) top(ctx context.Context, db bun.IDB, key boardKey) (*firstPage, error) {
	s.mu.RLock()
	p, epoch := s.pages[key], s.epoch
	s.mu.RUnlock()
	if p != nil && s.now().Sub(p.checkedAt) < checkEvery {
		return p, nil
	}
	// Who asks after Forget must not join who began before it.
	loaded, err, _ := s.flight.Do(fmt.Sprintf("%d %s %s", epoch, key.window, key.category), func() (any, error) {
		// The caller that happens to be first must not fail the others by leaving.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return s.refresh(ctx, db, key, p, epoch)
	})
	if err != nil {
		return nil, err
	}
	return loaded.(*firstPage), nil
}

// refresh checks a first page against its board, and reads it again when the board
// is newer or the page is old.
func (s *Store) refresh(ctx context.Context, db bun.IDB, key boardKey, old *firstPage, epoch int) (*firstPage, error) {
	now := s.now()
	board, err := readBoard(ctx, db, key.window, key.category)
	if err != nil {
		return nil, err
	}
	if board == nil {
		return &firstPage{entries: []Entry{}}, nil // not kept: any word can be asked for
	}
	p := &firstPage{board: board, checkedAt: now, loadedAt: now}
	if old != nil && old.board.AsOf.Equal(board.AsOf) && now.Sub(old.loadedAt) < reloadEvery {
		p.entries, p.loadedAt = old.entries, old.loadedAt
	} else {
		f := Filter{Window: key.window, Category: key.category}
		if p.entries, err = readEntries(ctx, db, f, nil, MaxLimit+1); err != nil {
			return nil, err
		}
	}
	s.keep(key, p, epoch)
	return p, nil
}

// keep keeps a first page, unless what it was made of has been forgotten meanwhile.
func (s *Store) keep(key boardKey, p *firstPage, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.epoch {
		return
	}
	if _, known := s.pages[key]; !known && len(s.pages) >= maxFirstPages {
		clear(s.pages)
	}
	s.pages[key] = p
}
