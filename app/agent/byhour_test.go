package agent_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestUsageByHour checks that ByHour adds up written counts and counts in memory.
func TestUsageByHour(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := time.Date(2026, 11, 21, 12, 10, 0, 0, time.UTC)
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return now })
		var busy, idle *agent.Agent
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
			if busy, err = (agent.Store{}).Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Busy"}, At: now}); err != nil {
				return err
			}
			idle, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Idle"}, At: now})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		count := func(statuses ...int) {
			for _, s := range statuses {
				usage.Count(busy.ID, agent.Request{Status: s})
			}
		}
		count(200, 200, 500)
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Hour)
		count(200)
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		count(429)
		got, err := usage.ByHour(t.Context(), db.Reader, []uuid.UUID{busy.ID, idle.ID}, 3)
		if err != nil {
			t.Fatal(err)
		}
		hours := got[busy.ID]
		if len(got) != 1 || len(hours) != 3 || hours[0].Counts != (agent.Counts{Requests: 3, Errors: 1}) || hours[1].Counts != (agent.Counts{}) || hours[2].Counts != (agent.Counts{Requests: 2, Limited: 1}) {
			t.Errorf("%+v", got)
		}
	})
}
