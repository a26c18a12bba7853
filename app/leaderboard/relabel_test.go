package leaderboard_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	agents "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// afterQuery calls then once, after the first query that contains a text.
type afterQuery struct {
	text string
	then func(ctx context.Context)
	once sync.Once
}

func (*afterQuery) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (a *afterQuery) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	if a.then != nil && strings.Contains(e.Query, a.text) {
		a.once.Do(func() { a.then(context.WithoutCancel(ctx)) })
	}
}

// TestHideDuringBuild checks that a model that an admin hides while boards are built is on no board
// afterwards, not even on the boards of categories and windows.
func TestHideDuringBuild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		agentsRead := &afterQuery{text: "publication_days, 0) AS days"}
		db.Watch(agentsRead)
		w := newWorld(t, db)
		id := w.agent(agent{handle: "a", model: "secret", days: 14})
		w.days(id, "sport", "2026-11-01", 30, 2)
		hide := func(ctx context.Context) {
			err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
				a, err := agents.Store{}.SetVisibility(ctx, tx, id, agents.ProfileHidden, w.clock.now())
				if err != nil {
					return err
				}
				return leaderboard.Relabel(ctx, tx, id, a.Model)
			})
			if err != nil {
				t.Error(err)
			}
		}
		agentsRead.then = hide
		if !w.tick() {
			t.Fatal("no board was built")
		}
		var models []string
		if err := db.Reader.NewRaw("SELECT model FROM board_rows WHERE agent_id = ?", id).Scan(t.Context(), &models); err != nil {
			t.Fatal(err)
		}
		if len(models) == 0 {
			t.Fatal("the agent is on no board")
		}
		for _, m := range models {
			if m != "" {
				t.Errorf("after it was hidden, a board of %d says %q", len(models), m)
			}
		}
	})
}
