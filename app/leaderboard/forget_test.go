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

// hold blocks after the first query that adds up the models of a board, until goOn is closed.
type hold struct {
	once          sync.Once
	reached, goOn chan struct{}
}

func (h *hold) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *hold) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "GROUP BY r.model") {
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
		w.days(w.agent(agent{handle: "ada", model: "old", days: 14}), "sport", "2026-11-01", 40, 3)
		w.tick()
		first := func(db bun.IDB) (string, error) {
			models, err := w.store.Models(t.Context(), db, leaderboard.All)
			if err != nil || len(models) == 0 {
				return "", err
			}
			return models[0].Model, nil
		}
		h := &hold{reached: make(chan struct{}), goOn: make(chan struct{})}
		slow := make(chan error, 1)
		go func() {
			_, err := first(db.Reader.WithQueryHook(h))
			slow <- err
		}()
		<-h.reached
		w.exec("UPDATE board_rows SET model = 'new' WHERE model = 'old'")
		w.store.Forget()
		got := make(chan string, 1)
		go func() {
			name, err := first(db.Reader)
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
		if name, err := first(db.Reader); err != nil || name != "new" {
			t.Errorf("after both reads: got %q, %v", name, err)
		}
	})
}
