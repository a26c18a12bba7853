package cli

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestRedactNeedsAReason checks that a blank reason is refused. Stored, it would count as no request.
func TestRedactNeedsAReason(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"", " "} {
		cfg := config.Default()
		cfg.DatabaseURL = dbtest.URL(t, database.SQLite)
		ada, _ := storeRecords(t, dbtest.OpenAt(t, cfg.DatabaseURL))
		err := (&redactCommand{Config: cfg, Table: archive.Agents, Record: ada, Reason: reason}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the reason is empty") {
			t.Errorf("reason %q: %v", reason, err)
		}
	}
}

// TestRedactFindsTheRecord checks that data redact stores a request only for a record that exists,
// and with the id as the archive writes it.
func TestRedactFindsTheRecord(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.DatabaseURL = dbtest.URL(t, kind)
			db := dbtest.OpenAt(t, cfg.DatabaseURL)
			ada, said := storeRecords(t, db)
			for _, c := range []struct{ table, record, stored, refusal string }{
				{archive.Agents, ada, ada, ""},
				{archive.Agents, strings.ToUpper(ada), ada, ""},
				{archive.Agents, "ada", "", "ada is a handle; its id is " + ada},
				{archive.Agents, said, "", "no record of agents has the id " + said},
				{archive.Agents, "bob", "", `"bob" is not an id of agents: send the UUID`},
				{archive.Predictions, said, said, ""},
				{archive.Predictions, strings.ToUpper(said), said, ""},
				{archive.Predictions, ada, "", "no record of predictions has the id " + ada},
				{archive.Predictions, "ada", "", `"ada" is not an id of predictions`},
				{archive.News, "current", "current", ""},
				{archive.News, "archived", "archived", ""},
				{archive.News, "erased", "erased", ""},
				{archive.News, "none", "", `no current or archived news has the id "none"`},
			} {
				if _, err := db.ExecContext(t.Context(), "DELETE FROM redaction_requests WHERE record <> 'erased'"); err != nil {
					t.Fatal(err)
				}
				err := (&redactCommand{Config: cfg, Table: c.table, Record: c.record, Reason: "ordered"}).Run(t.Context())
				if (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
					t.Errorf("%s %s: %v, want %q", c.table, c.record, err, c.refusal)
				}
				var got []string
				err = db.NewRaw("SELECT record FROM redaction_requests WHERE record <> 'erased' OR reason = 'ordered'").Scan(t.Context(), &got)
				want := []string{c.stored}
				if c.stored == "" || c.record == "erased" { // its first reason stays
					want = nil
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s %s: requests for %q, %v; want %q", c.table, c.record, got, err, want)
				}
			}
		})
	}
}

// TestRedactHidesAndIsRecorded checks that pages and the API no longer show the texts, and that the audit log has the act.
func TestRedactHidesAndIsRecorded(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.DatabaseURL = dbtest.URL(t, kind)
			db := dbtest.OpenAt(t, cfg.DatabaseURL)
			ada, said := storeRecords(t, db)
			for _, c := range []struct{ table, record, target, shown string }{
				{archive.News, "current", "news:current", "SELECT COUNT(*) FROM news_items WHERE id = 'current' AND NOT erased"},
				{archive.Predictions, said, "prediction:" + said, "SELECT COUNT(*) FROM predictions WHERE NOT hidden"},
				{archive.Agents, ada, "agent:ada", "SELECT COUNT(*) FROM agents WHERE handle = 'ada' AND visibility <> 'texts_hidden'"},
			} {
				for range 2 { // the second time finds them hidden
					if err := (&redactCommand{Config: cfg, Table: c.table, Record: c.record, Reason: "ordered by a court"}).Run(t.Context()); err != nil {
						t.Fatalf("%s: %v", c.table, err)
					}
				}
				n := 0
				if err := db.NewRaw(c.shown).Scan(t.Context(), &n); err != nil || n != 0 {
					t.Errorf("%s: %d are shown, %v", c.table, n, err)
				}
				log, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Target: c.target, Limit: 10})
				if err != nil || len(log) != 2 || log[1].Action != audit.TextErased || log[1].Actor != audit.Shell || log[1].Note != "ordered by a court" {
					t.Errorf("%s: the audit log has %+v, %v", c.table, log, err)
				}
			}
		})
	}
}

// storeRecords stores an agent with a prediction and three posts, and returns their ids.
func storeRecords(t *testing.T, db *database.DB) (ada, said string) {
	t.Helper()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		author, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Ada"}, At: at})
		if err != nil {
			return err
		}
		p := prediction.Prediction{
			ID: database.NewID(at), AgentID: author.ID, Title: "t", Thesis: "t", HorizonAt: at, Category: "general",
			Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: at,
		}
		ada, said = author.ID.String(), p.ID.String()
		if err := (prediction.Store{}).Insert(ctx, tx, &p); err != nil {
			return err
		}
		if err := (news.Store{}).Observe(ctx, tx, []news.Item{{ID: "current", Source: "reddit", PostedAt: at, ObservedAt: at}}); err != nil {
			return err
		}
		erased := archive.Request{Table: archive.News, Record: "erased", Reason: archive.Deleted}
		if err := archive.RequestRedaction(ctx, tx, at, true, erased); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO archive_posts (id, source, first_day, last_day, checked_at) VALUES (?, 'reddit', '', '', ?)", "archived", at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ada, said
}
