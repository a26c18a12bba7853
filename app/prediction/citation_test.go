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

// TestCitationRows checks that the rows read for a signal don't grow with its citations, even if an admin has hidden
// the texts of all of them.
func TestCitationRows(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPlain(t, database.Postgres) // only Postgres counts rows
	const agents, each = 10, 500
	past.write(t, db, 1, agents*each)
	exec := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO citations (kind, signal_id, prediction_id, agent_id) SELECT 'news', 'n1', id, agent_id FROM predictions")
	exec("INSERT INTO citations (kind, signal_id, prediction_id, agent_id) SELECT 'news', 'n2', id, agent_id FROM predictions ORDER BY id DESC LIMIT 7")
	exec("ANALYZE")
	for _, c := range []struct {
		name, hide string
		newest     int
	}{
		{"shown", "", 5},
		{"hidden", "UPDATE predictions SET hidden = TRUE", 0},
	} {
		if c.hide != "" {
			exec(c.hide)
		}
		var cited map[string]prediction.Cited
		explained := dbtest.Explain(t, db, func(db *database.DB) {
			var err error
			cited, err = prediction.Store{}.CitedBy(t.Context(), db.Reader, prediction.SignalNews, []string{"n1", "n2", "n3"}, 5)
			if err != nil {
				t.Fatal(err)
			}
		})
		if len(cited) != 2 || cited["n1"].Total != prediction.MaxCitations+1 || cited["n2"].Total != 7 || len(cited["n1"].Newest) != c.newest {
			t.Errorf("%s: got %d signals, totals %d and %d, %d newest", c.name, len(cited), cited["n1"].Total, cited["n2"].Total, len(cited["n1"].Newest))
		}
		if n := dbtest.TouchedRows(explained); n > 1500 {
			t.Errorf("%s: read %d rows of %d citations, want at most 1500", c.name, n, agents*each)
			for _, e := range explained {
				t.Logf("%d rows: %s", e.Rows, e.Query)
			}
		}
	}
}
