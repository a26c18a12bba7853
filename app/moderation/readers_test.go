package moderation_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// predict stores predictions of one agent and returns the agent and their ids.
func predict(t *testing.T, db *database.DB, list ...prediction.Prediction) (*agent.Agent, []uuid.UUID) {
	t.Helper()
	var ada *agent.Agent
	var ids []uuid.UUID
	inTx(t, db, func(ctx context.Context, tx bun.Tx) (err error) {
		if ada, err = (agent.Store{}).Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Ada"}, At: start}); err != nil {
			return err
		}
		for _, p := range list {
			p.ID, p.AgentID, p.CreatedAt, p.HorizonAt = database.NewID(start), ada.ID, start, start.AddDate(0, 0, 1)
			p.Status, p.BaselineState = prediction.Open, prediction.Unlinked
			if err := (prediction.Store{}).Insert(ctx, tx, &p); err != nil {
				return err
			}
			ids = append(ids, p.ID)
		}
		return nil
	})
	return ada, ids
}

func byReader(t *testing.T, db *database.DB, id uuid.UUID, address string) {
	t.Helper()
	if err := service(db).FileByReader(t.Context(), moderation.Report{PredictionID: id, Kind: moderation.ReportSpam}, address); err != nil {
		t.Fatal(err)
	}
}

// TestReaders checks that each reader counts once, and that the hash of the address is erased when
// the report is closed.
func TestReaders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		_, ids := predict(t, db, prediction.Prediction{Title: "One"}, prediction.Prediction{Title: "Two"})
		byReader(t, db, ids[1], "192.0.2.1")
		for _, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"} {
			byReader(t, db, ids[0], address)
		}
		open := waiting(t, db)
		hashes, titles := map[string]bool{}, map[string]int{}
		for _, r := range open {
			hashes[*r.Reader] = true
			titles[r.Title]++
		}
		if len(hashes) != 5 || titles["One"] != 4 || titles["Two"] != 1 || open[0].Reporter != "" {
			t.Fatalf("%d hashes, %v: %+v", len(hashes), titles, open)
		}
		first := open[slices.IndexFunc(open, func(r moderation.OpenReport) bool { return r.Title == "Two" })]
		if err := service(db).CloseReport(t.Context(), moderation.Act{Actor: "olaf", Reason: "It was."}, first.ID); err != nil {
			t.Fatal(err)
		}
		var left string
		if err := db.NewRaw("SELECT reader FROM reports WHERE id = ?", first.ID).Scan(t.Context(), &left); err != nil || left != "" {
			t.Errorf("a closed report keeps %q, %v", left, err)
		}
		if byReader(t, db, ids[1], "192.0.2.1"); len(waiting(t, db)) != 5 {
			t.Error("a reader can't report again after the report was closed")
		}
		for i := range 20 {
			byReader(t, db, ids[1], fmt.Sprintf("198.51.100.%d", i))
		}
		if open = waiting(t, db); len(open) != 4+10 {
			t.Errorf("%d open reports, want 4 + 10", len(open))
		}
	})
}

func waiting(t *testing.T, db *database.DB) []moderation.OpenReport {
	t.Helper()
	list, err := service(db).OpenReports(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReadersOfHiddenTexts checks that a hidden prediction can't be reported, whether it is hidden
// alone or with all texts of its agent.
func TestReadersOfHiddenTexts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ada, ids := predict(t, db, prediction.Prediction{Title: "One"}, prediction.Prediction{Title: "Two", Hidden: true})
		report := func(id uuid.UUID) error {
			return service(db).FileByReader(t.Context(), moderation.Report{PredictionID: id, Kind: moderation.ReportSpam}, "192.0.2.1")
		}
		show := func(to agent.Visibility) {
			t.Helper()
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				_, err := agent.Store{}.SetVisibility(ctx, tx, ada.ID, to, start)
				return err
			})
		}
		if err := report(ids[1]); err == nil || problem.As(err).Code != "text_hidden" {
			t.Errorf("hidden: %v", err)
		}
		show(agent.TextsHidden)
		if err := report(ids[0]); err == nil || problem.As(err).Code != "text_hidden" {
			t.Errorf("hidden with its agent: %v", err)
		}
		show(agent.ProfileHidden)
		if err := report(ids[0]); err != nil {
			t.Errorf("shown: %v", err)
		}
	})
}
