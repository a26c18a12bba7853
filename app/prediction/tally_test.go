package prediction_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

func TestTally(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		one, two := newAgent(t, db, "one"), newAgent(t, db, "two")
		rain := market.Market{ID: "rain", Source: "test", Question: "Will it rain?", Outcomes: []string{"Yes", "No"}, ObservedAt: noon}
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			return market.Store{}.Observe(ctx, tx, []market.Market{rain})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct {
			at     time.Time
			linked bool
		}{
			{noon, false}, {noon, true}, {noon.Add(time.Hour), true}, {noon.Add(24 * time.Hour), false},
			{noon.Add(48 * time.Hour), true}, {noon.Add(47 * time.Hour), true},
		} {
			insertAt(t, db, one, p.at, p.linked)
		}
		insertAt(t, db, two, noon, false)
		settled := prediction.TallyMove{AgentID: one}
		settled.Count(prediction.Open, -3)
		settled.Count(prediction.Resolved, 3)
		for _, moves := range [][]prediction.TallyMove{
			{settled}, {{AgentID: two, Open: -1, Void: 1}, {AgentID: one, Resolved: -1, Open: 1}},
		} {
			err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return prediction.MoveTallies(ctx, tx, moves) })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []prediction.Tally{
			{AgentID: one, Total: 6, Open: 4, Resolved: 2, PublicationDays: 2, LastRankedDay: "2026-11-22", LastPublishedAt: noon.Add(48 * time.Hour)},
			{AgentID: two, Total: 1, Void: 1, LastPublishedAt: noon},
		} {
			got := prediction.Tally{AgentID: want.AgentID}
			if err := db.Reader.NewSelect().Model(&got).WherePK().Scan(ctx); err != nil {
				t.Fatal(err)
			}
			got.LastPublishedAt = got.LastPublishedAt.UTC()
			if got != want {
				t.Errorf("got tally %+v, want %+v", got, want)
			}
		}
	})
}

// insertAt stores an open prediction, with a market if linked is true.
func insertAt(t *testing.T, db *database.DB, agentID uuid.UUID, at time.Time, linked bool) {
	t.Helper()
	p := prediction.Prediction{
		ID: database.NewID(at), AgentID: agentID, Title: "Will it rain?", Thesis: "It will.", Confidence: 0.6, HorizonAt: at.Add(time.Hour),
		Category: "general", Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: at,
	}
	if linked {
		p.MarketID, p.EventKey, p.BaselineState = "rain", "rain", prediction.Pending
	}
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &p) })
	if err != nil {
		t.Fatal(err)
	}
}

func newAgent(t *testing.T, db *database.DB, handle string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := db.ExecContext(t.Context(), "INSERT INTO agents (id, handle, name, kind, status, sample, created_at) VALUES (?, ?, ?, 'local', 'active', FALSE, ?)",
		id, handle, handle, time.Now().UTC())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestPublicationAfterAClockThatWasAhead checks that an agent's predictions have the present time again once a clock
// that was ahead is set back, and still follow each other.
func TestPublicationAfterAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		now := d.now()
		d.wait(48 * time.Hour)
		if _, _, err := d.publish(t, draft(nil)); err != nil {
			t.Fatal(err)
		}
		d.wait(-48 * time.Hour)
		for i, want := range []time.Duration{0, time.Microsecond} {
			got, _, err := d.publish(t, draft(nil))
			if err != nil || !got.Record.CreatedAt.Equal(now.Add(want)) {
				t.Errorf("prediction %d: dated %s, error %v; want %s", i, got.Record.CreatedAt, err, now.Add(want))
			}
		}
	})
}

// TestDaysAfterAClockThatWasAhead checks that an agent's publication days count again once a clock that was ahead is set
// back, each of them once.
func TestDaysAfterAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		ada, bob := d.agent, d.newAgent(t, "Bob")
		for i, step := range []struct {
			wait time.Duration
			by   agent.Agent
			days int64
			last string
		}{
			{0, ada, 1, "2026-11-21"},
			{40 * day, ada, 2, "2026-12-31"}, {0, bob, 1, "2026-12-31"}, {day, ada, 3, "2027-01-01"},
			{-41 * day, ada, 1, "2026-11-21"}, {0, bob, 1, "2026-11-21"},
			{day, ada, 2, "2026-11-22"}, {0, bob, 2, "2026-11-22"},
			{40 * day, ada, 3, "2027-01-01"}, {-40 * day, ada, 2, "2026-11-22"}, // once more
			{day, ada, 3, "2026-11-23"},
			{38 * day, ada, 4, "2026-12-31"}, {0, bob, 3, "2026-12-31"},
		} {
			d.wait(step.wait)
			linked := draft(func(dr *prediction.Draft) { dr.MarketID = "1" })
			if _, _, err := d.publish(t, linked, func(s *prediction.Submission) { s.Agent = step.by }); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			got, err := prediction.Store{}.Tally(t.Context(), db.Reader, step.by.ID)
			if err != nil || got.PublicationDays != step.days || got.LastRankedDay != step.last || !got.LastPublishedAt.Equal(d.now()) {
				t.Errorf("step %d, %s: got %+v, %v; want %d days, the last one %s", i, step.by.Handle, got, err, step.days, step.last)
			}
		}
	})
}
