package prediction_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// TestStandingsMigration: what stands of a prediction outlives the way back into one table
// and there again.
func TestStandingsMigration(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		d := open(t, db)
		one, two, index, edge := 1.0, .25, 2, score.Points(123)
		settled := prediction.Prediction{
			ID: database.NewID(start), AgentID: d.agent.ID, Title: "a", Thesis: "b", Confidence: .5, HorizonAt: start, Category: "c", Model: "m",
			Evidence: []prediction.Evidence{{Title: "e", URL: "https://example.org"}}, MarketID: "1", Outcome: "Yes", OutcomeIndex: &index,
			EventKey: "e:weather", ScheduledCloseAt: start.Add(time.Hour), BaselineState: prediction.Fixed, Baseline: &two, BaselineBefore: &one,
			BaselineAfter: &two, BaselinePrevious: &one, BaselineObservedAt: start.Add(time.Minute), WeightIndex: &index,
			Status: prediction.Resolved, ResolutionValue: &one, ResolutionOutcome: "Yes", ResolutionSource: "admin", ResolutionNote: "n",
			ResolvedAt: start.Add(2 * time.Hour), Brier: &two, Edge: &edge, LogEdge: &two, RulesVersion: "1", Hidden: true, Sample: true, CreatedAt: start,
		}
		bare := prediction.Prediction{ID: database.NewID(start), AgentID: d.agent.ID, HorizonAt: start, Evidence: []prediction.Evidence{},
			BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: start}
		for _, p := range []*prediction.Prediction{&settled, &bare} {
			if err := prediction.Add(ctx, db, p); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(ctx, "UPDATE standings SET ruled = TRUE WHERE id = ?", settled.ID); err != nil {
			t.Fatal(err)
		}
		// Only the last group is rolled back.
		if _, err := db.ExecContext(ctx, "UPDATE bun_migrations SET group_id = 99 WHERE name >= '20261121000013'"); err != nil {
			t.Fatal(err)
		}
		if names, err := db.Rollback(ctx); err != nil || !slices.Contains(names, "20261121000013_standings") {
			t.Fatal(names, err)
		}
		var ruled, all int
		if err := db.QueryRowContext(ctx, "SELECT SUM(CASE WHEN ruled THEN 1 ELSE 0 END), COUNT(*) FROM predictions").Scan(&ruled, &all); err != nil || ruled != 1 || all != 2 {
			t.Errorf("%d of %d ruled in one table, %v", ruled, all, err)
		}
		if _, err := db.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		for _, want := range []prediction.Prediction{settled, bare} {
			r, err := prediction.Store{}.For(agent.Viewer{Admin: true}).ByID(ctx, db.Reader, want.ID)
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			got := r.Prediction
			for _, at := range []*time.Time{&got.HorizonAt, &got.ScheduledCloseAt, &got.BaselineObservedAt, &got.ResolvedAt, &got.CreatedAt} {
				*at = at.UTC()
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM standings WHERE ruled AND agent_id = ? AND market_id = '1'", d.agent.ID).Scan(&ruled); err != nil || ruled != 1 {
			t.Errorf("%d ruled standings, %v", ruled, err)
		}
	})
}
