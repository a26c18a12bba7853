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
	"github.com/pulsecast/pulsecast/app/prediction"
)

func TestCitedBy(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		study := prediction.Evidence{Title: "A study", URL: "https://example.org/study"}
		discussion := prediction.Evidence{Title: "Its discussion", URL: "https://example.org/r/1"}
		page := prediction.Evidence{Title: "A market", URL: "https://pulse.example/markets/2"}
		other := prediction.Evidence{Title: "Unknown", URL: "https://example.org/elsewhere"}
		var ids []uuid.UUID
		for _, evidence := range [][]prediction.Evidence{{study, discussion, page}, {study}, {other}, {discussion, other}, {study}, nil} {
			got, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.Evidence = evidence }))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, got.Record.ID)
			d.wait(time.Second)
		}
		if _, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.Evidence = []prediction.Evidence{study} }), func(s *prediction.Submission) { s.DryRun = true }); err != nil {
			t.Fatal(err)
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, _, err := prediction.Store{}.Hide(ctx, tx, ids[4], true)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		cited, err := prediction.Store{}.CitedBy(t.Context(), db.Reader, prediction.SignalNews, []string{"n1", "n2"}, 2)
		if err != nil {
			t.Fatal(err)
		}
		one := cited["n1"]
		if len(cited) != 1 || one.Total != 4 || len(one.Newest) != 2 || one.Newest[0].ID != ids[3] || one.Newest[1].ID != ids[1] || one.Newest[0].Agent.Handle != d.agent.Handle {
			t.Errorf("citations of news: got %+v", cited)
		}
		cited, err = prediction.Store{}.CitedBy(t.Context(), db.Reader, prediction.SignalMarket, []string{"2", "n1"}, 5)
		if err != nil || len(cited) != 1 || len(cited["2"].Newest) != 1 || cited["2"].Newest[0].ID != ids[0] {
			t.Errorf("citations of markets: got %+v, %v", cited, err)
		}
		// If all texts of an agent are hidden, its citations aren't listed and don't count towards the limit.
		err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := agent.Store{}.SetVisibility(ctx, tx, d.agent.ID, agent.TextsHidden, d.now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		cited, err = prediction.Store{}.CitedBy(t.Context(), db.Reader, prediction.SignalNews, []string{"n1"}, 2)
		if err != nil || cited["n1"].Total != 4 || len(cited["n1"].Newest) != 0 {
			t.Errorf("citations by a hidden agent: got %+v, %v", cited, err)
		}
		if none, err := (prediction.Store{}).CitedBy(t.Context(), db.Reader, prediction.SignalNews, nil, 5); err != nil || len(none) != 0 {
			t.Errorf("citations of no signals: got %v, %v", none, err)
		}
	})
}
