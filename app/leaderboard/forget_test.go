package leaderboard_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// hold blocks after the first query that reads the handles of a board, until goOn is closed.
type hold struct {
	once          sync.Once
	reached, goOn chan struct{}
}

func (h *hold) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *hold) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "agents") && strings.Contains(e.Query, "board_rows") {
		h.once.Do(func() {
			close(h.reached)
			<-h.goOn
		})
	}
}

// TestForgetDuringRead checks that a call after Forget doesn't share a read that began before it.
func TestForgetDuringRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "old", model: "m", days: 14}), "sport", "2026-11-01", 40, 3)
		w.tick()
		best := func(db bun.IDB) (string, error) {
			models, err := w.store.Models(t.Context(), db, leaderboard.All)
			if err != nil || len(models) == 0 {
				return "", err
			}
			return models[0].Best, nil
		}
		h := &hold{reached: make(chan struct{}), goOn: make(chan struct{})}
		slow := make(chan error, 1)
		go func() {
			_, err := best(db.Reader.WithQueryHook(h))
			slow <- err
		}()
		<-h.reached
		w.exec("UPDATE agents SET name = 'new', handle = 'new' WHERE handle = 'old'")
		w.store.Forget()
		got := make(chan string, 1)
		go func() {
			name, err := best(db.Reader)
			if err != nil {
				name = err.Error()
			}
			got <- name
		}()
		select {
		case name := <-got:
			if name != "new" {
				t.Errorf("got %q after Forget", name)
			}
		case <-time.After(time.Minute):
			t.Error("a call after Forget waits for a read that began before")
		}
		close(h.goOn)
		if err := <-slow; err != nil {
			t.Error(err)
		}
		if name, err := best(db.Reader); err != nil || name != "new" {
			t.Errorf("after both reads: got %q, %v", name, err)
		}
	})
}
