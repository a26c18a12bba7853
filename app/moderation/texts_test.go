package moderation_test

import (
	"slices"
	"testing"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestHiddenTextsLeaveTheArchive checks that hiding a prediction asks the archive to erase its
// text, and that showing it again withdraws the request. No request names the prediction that was
// never hidden.
func TestHiddenTextsLeaveTheArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		_, ids := predict(t, db, prediction.Prediction{Title: "One"}, prediction.Prediction{Title: "Two"})
		act := moderation.Act{Actor: "ada", Reason: "Spam."}
		requested := func(want ...string) {
			t.Helper()
			var records []string
			err := db.NewRaw("SELECT record FROM redaction_requests WHERE kind = 'predictions' AND reason = 'hidden'").Scan(t.Context(), &records)
			if err != nil || !slices.Equal(records, want) {
				t.Errorf("requested erasure of %v, %v; want %v", records, err, want)
			}
		}
		requested()
		if err := service(db).HidePrediction(t.Context(), act, ids[0]); err != nil {
			t.Fatal(err)
		}
		requested(ids[0].String())
		if err := service(db).HidePrediction(t.Context(), act, ids[0]); err == nil {
			t.Error("hidden twice")
		}
		if err := service(db).ShowPrediction(t.Context(), act, ids[0]); err != nil {
			t.Fatal(err)
		}
		requested()
	})
}

// TestHiddenAgentsLeaveTheArchive checks that hiding an agent's texts asks the archive to erase them,
// and that showing them again withdraws the request. The audit log names what happened.
func TestHiddenAgentsLeaveTheArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ids := populate(t, db)
		for i, step := range []struct {
			seen, to agent.Visibility
			want     []string
			action   string
		}{
			{agent.Public, agent.TextsHidden, []string{"agents"}, audit.TextHidden},
			{agent.TextsHidden, agent.ProfileHidden, []string{"profiles"}, audit.TextShown},
			{agent.ProfileHidden, agent.TextsHidden, []string{"agents"}, audit.TextHidden},
			{agent.TextsHidden, agent.Public, nil, audit.TextShown},
			{agent.Public, agent.ProfileHidden, []string{"profiles"}, audit.TextHidden},
			{agent.ProfileHidden, agent.Public, nil, audit.TextShown},
		} {
			seen := moderation.TextsWords(step.seen)
			act := moderation.Act{Actor: "ada", Reason: "Spam.", Seen: &seen}
			if changed, err := service(db).SetTexts(t.Context(), act, "agent-1", step.to); !changed || err != nil {
				t.Fatalf("step %d: changed %v, %v", i, changed, err)
			}
			var kinds []string
			err := db.NewRaw("SELECT kind FROM redaction_requests WHERE record = ? AND reason = 'hidden' ORDER BY kind", ids[1].String()).Scan(t.Context(), &kinds)
			if err != nil || !slices.Equal(kinds, step.want) {
				t.Errorf("%s after %s: the requests are %v, %v; want %v", step.to, step.seen, kinds, err, step.want)
			}
			log, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Target: audit.AgentTarget("agent-1"), Action: step.action, Limit: 100})
			if err != nil || !slices.ContainsFunc(log, func(e audit.Entry) bool { return e.Before == seen && e.After == moderation.TextsWords(step.to) }) {
				t.Errorf("%s after %s is not recorded as %s: %+v, %v", step.to, step.seen, step.action, log, err)
			}
		}
	})
}
