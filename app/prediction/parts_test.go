package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

func eachAuthor(t *testing.T, test func(t *testing.T, d *author)) {
	t.Helper()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, open(t, dbtest.Open(t, kind)))
		})
	}
}

// add sends a part of a prediction on a market and returns the result. part is a confidence such as "0.6", or a
// thesis.
func (d *author) add(t *testing.T, marketID, part string) string {
	t.Helper()
	p := prediction.Part{Agent: d.agent, MarketID: marketID, Thesis: part}
	var confidence float64
	if n, _ := fmt.Sscanf(part, "%g", &confidence); n == 1 {
		p.Confidence, p.Thesis = &confidence, ""
	}
	published, err := false, d.CheckPart(t.Context(), p)
	if err == nil {
		_, published, err = d.AddPart(t.Context(), p)
	}
	refusal, _ := errors.AsType[*problem.Error](err)
	switch {
	case refusal != nil:
		return refusal.Code
	case err != nil:
		t.Fatal(err)
	case published:
		return "published"
	}
	return "kept"
}

// own lists the agent's predictions as "market confidence thesis", oldest first.
func (d *author) own(t *testing.T) (list []string) {
	t.Helper()
	records, _, err := prediction.Store{}.For(agent.Viewer{AgentID: d.agent.ID}).
		List(t.Context(), d.db, prediction.Filter{AgentID: d.agent.ID, Limit: 100, Sort: prediction.ByCreatedAt})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range slices.Backward(records) {
		list = append(list, fmt.Sprintf("%s %g %s", r.MarketID, r.Confidence, r.Thesis))
	}
	return list
}

func (d *author) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := d.own(t); !slices.Equal(got, want) {
		t.Errorf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPartsBecomeOne(t *testing.T) {
	t.Parallel()
	type step struct {
		after      time.Duration
		part, want string
	}
	for _, c := range []struct {
		name   string
		steps  []step
		stored []string
	}{
		{"confidence first", []step{{0, "0.6", "kept"}, {4 * time.Second, "Why.", "published"}}, []string{"1 0.6 Why."}},
		{"thesis first", []step{{0, "Why.", "kept"}, {4 * time.Second, "0.6", "published"}}, []string{"1 0.6 Why."}},
		{"repeats", []step{
			{0, "0.6", "kept"}, {0, "0.6", "kept"}, {0, "Why.", "published"}, {0, "Why.", "published"}, {time.Minute, "0.6", "published"},
		}, []string{"1 0.6 Why."}},
		{"replaced while waiting", []step{{0, "0.6", "kept"}, {time.Minute, "0.7", "kept"}, {0, "Why.", "published"}}, []string{"1 0.7 Why."}},
		{"another prediction", []step{
			{0, "0.6", "kept"}, {0, "Why.", "published"}, {time.Minute, "0.7", "kept"}, {0, "Changed.", "published"},
		}, []string{"1 0.6 Why.", "1 0.7 Changed."}},
		{"the same parts an hour later", []step{
			{0, "0.6", "kept"}, {0, "Why.", "published"}, {time.Hour, "0.6", "kept"}, {0, "Why.", "published"},
		}, []string{"1 0.6 Why.", "1 0.6 Why."}},
		{"newer thesis waits for longer", []step{
			{0, "Why.", "kept"}, {9*time.Minute + 55*time.Second, "Changed.", "kept"}, {10 * time.Second, "0.6", "published"},
		}, []string{"1 0.6 Changed."}},
		{"the same parts after a clock was ahead", []step{
			{24 * time.Hour, "0.6", "kept"}, {0, "Why.", "published"}, {-24 * time.Hour, "0.6", "kept"}, {0, "Why.", "published"},
		}, []string{"1 0.6 Why.", "1 0.6 Why."}},
		{"thesis from a clock that was ahead", []step{
			{24 * time.Hour, "Why.", "kept"}, {-24 * time.Hour, "0.6", "kept"}, {0, "Now.", "published"},
		}, []string{"1 0.6 Now."}},
		{"thesis that waited too long", []step{{0, "Why.", "kept"}, {time.Hour, "0.6", "kept"}, {0, "Now.", "published"}}, []string{"1 0.6 Now."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachAuthor(t, func(t *testing.T, d *author) {
				for i, s := range c.steps {
					d.wait(s.after)
					if got := d.add(t, "1", s.part); got != s.want {
						t.Errorf("step %d, %s: got %s, want %s", i, s.part, got, s.want)
					}
				}
				d.expect(t, c.stored...)
			})
		})
	}
}

func TestPartsRefused(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		for _, c := range []struct{ market, part, want string }{
			{"6", "0.6", "market_closed"}, {"6", "Why.", "market_closed"}, {"none", "0.6", "invalid_prediction"},
			{"3", "0.6", "invalid_prediction"}, {"1", "1.5", "invalid_prediction"}, {"1", "a \x00 b", "invalid_prediction"},
		} {
			if got := d.add(t, c.market, c.part); got != c.want {
				t.Errorf("%s on %s: got %s, want %s", c.part, c.market, got, c.want)
			}
		}
		if n, err := d.db.NewSelect().Table("prediction_parts").Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d rows were kept (%v), want none", n, err)
		}
	})
}

// TestPartsPublishedAlone checks that a confidence without a thesis is published after PartPatience, and that a
// thesis which arrives later is refused. Other markets and theses don't change.
func TestPartsPublishedAlone(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "1", "0.6")
		d.add(t, "2", "Why.")
		publish := func() {
			t.Helper()
			if more, err := d.PublishParts(t.Context(), d.now().Add(-prediction.PartPatience)); more || err != nil {
				t.Fatal(more, err)
			}
		}
		publish()
		d.expect(t)
		d.wait(prediction.PartPatience)
		publish()
		publish()
		d.expect(t, "1 0.6 "+prediction.WithoutThesis)
		if got := d.add(t, "1", "Too late."); got != "invalid_request" {
			t.Errorf("a late thesis: got %s", got)
		}
		if got := d.add(t, "2", "0.3"); got != "published" {
			t.Errorf("the other market: %s", got)
		}
		// If a market closes meanwhile, its waiting parts are deleted.
		d.add(t, "4", "0.8")
		if _, err := d.db.ExecContext(t.Context(), "UPDATE markets SET closed = TRUE WHERE id = '4'"); err != nil {
			t.Fatal(err)
		}
		d.wait(prediction.PartPatience)
		publish()
		d.expect(t, "1 0.6 "+prediction.WithoutThesis, "2 0.3 Why.")
		if n, err := d.db.NewSelect().Table("prediction_parts").Where("published_at IS NULL").Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d rows still wait (%v), want none", n, err)
		}
	})
}

// TestNewerConfidenceWaitsNoLonger checks that a confidence is published PartPatience after the first one that it
// replaced, and that the refusal of a later thesis counts from the first one.
func TestNewerConfidenceWaitsNoLonger(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "1", "0.6")
		d.wait(prediction.PartPatience - 2*time.Second)
		d.add(t, "1", "0.62")
		d.wait(2 * time.Second)
		if _, err := d.PublishParts(t.Context(), d.now().Add(-prediction.PartPatience)); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "1 0.62 "+prediction.WithoutThesis)
		_, _, err := d.AddPart(t.Context(), prediction.Part{Agent: d.agent, MarketID: "1", Thesis: "Too late."})
		if err == nil || !strings.Contains(err.Error(), "within 2 minutes of your first probability") {
			t.Errorf("a late thesis: got %v", err)
		}
	})
}

// TestPartsWithoutAScheduledClose checks that parts don't need a scheduled close in the future, as they have no
// horizon, and that a confidence isn't lost if the scheduled close passes while it waits.
func TestPartsWithoutAScheduledClose(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		for id, closes := range map[string]any{"1": nil, "2": database.Stored(start.Add(-time.Hour)), "4": database.Stored(start.Add(time.Minute))} {
			if _, err := d.db.ExecContext(t.Context(), "UPDATE markets SET closes_at = ? WHERE id = ?", closes, id); err != nil {
				t.Fatal(err)
			}
			if got := d.add(t, id, "0.6"); got != "kept" {
				t.Errorf("market %s: got %s, want kept", id, got)
			}
		}
		d.wait(prediction.PartPatience)
		if _, err := d.PublishParts(t.Context(), d.now()); err != nil {
			t.Fatal(err)
		}
		records, _, err := prediction.Store{}.List(t.Context(), d.db, prediction.Filter{AgentID: d.agent.ID, Limit: 100, Sort: prediction.ByCreatedAt})
		if err != nil || len(records) != 3 {
			t.Fatalf("published %d predictions (error %v), want 3", len(records), err)
		}
		for _, r := range records {
			if want := r.CreatedAt.AddDate(0, 0, 30); !r.HorizonAt.Equal(want) {
				t.Errorf("market %s: got horizon %s, want %s", r.MarketID, r.HorizonAt, want)
			}
		}
	})
}

// TestRefusedPartsThatStay checks that PublishParts returns an error if it can't delete the parts of a refused
// publication.
func TestRefusedPartsThatStay(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "4", "0.8")
		for _, query := range []string{
			"UPDATE markets SET closed = TRUE WHERE id = '4'",
			// A foreign key makes the deletion fail.
			"CREATE TABLE holds (agent_id UUID, market_id TEXT, FOREIGN KEY (agent_id, market_id) REFERENCES prediction_parts (agent_id, market_id))",
			"INSERT INTO holds SELECT agent_id, market_id FROM prediction_parts",
		} {
			if _, err := d.db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.PublishParts(t.Context(), d.now()); err == nil || !strings.Contains(err.Error(), "end the parts of a prediction") {
			t.Errorf("got %v, want the error of the deletion", err)
		}
	})
}

// TestPartsAfterACrash checks a node that stops after it stored the second part and before it recorded the
// publication. The job or the next part publishes the prediction, exactly once.
func TestPartsAfterACrash(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		crash := func() {
			t.Helper()
			if _, err := d.db.ExecContext(t.Context(), "UPDATE prediction_parts SET published_at = NULL"); err != nil {
				t.Fatal(err)
			}
		}
		d.add(t, "1", "0.6")
		d.add(t, "1", "Why.")
		crash()
		if got := d.add(t, "1", "0.7"); got != "kept" {
			t.Errorf("the next confidence: got %s", got)
		}
		d.expect(t, "1 0.6 Why.")
		d.add(t, "1", "Changed.")
		crash()
		d.wait(prediction.PartPatience)
		if _, err := d.PublishParts(t.Context(), d.now()); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "1 0.6 Why.", "1 0.7 Changed.")
		// A confidence was published alone, but its row doesn't say so yet.
		d.add(t, "2", "0.3")
		d.wait(prediction.PartPatience)
		if _, err := d.PublishParts(t.Context(), d.now()); err != nil {
			t.Fatal(err)
		}
		crash()
		if got := d.add(t, "2", "Too late."); got != "invalid_request" {
			t.Errorf("a late thesis: got %s", got)
		}
		d.expect(t, "1 0.6 Why.", "1 0.7 Changed.", "2 0.3 "+prediction.WithoutThesis)
	})
}

// TestPartsWithoutAWorker checks that after two days without a worker, each accepted confidence is published exactly
// once, although the expired rows and answers may be deleted first.
func TestPartsWithoutAWorker(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "1", "0.6")
		d.add(t, "2", "0.3")
		d.add(t, "2", "Why.")
		if _, err := d.db.ExecContext(t.Context(), "UPDATE prediction_parts SET published_at = NULL"); err != nil { // a crash
			t.Fatal(err)
		}
		d.wait(48 * time.Hour)
		for range 2 {
			if _, err := d.ForgetParts(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := d.ForgetAnswers(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := d.PublishParts(t.Context(), d.now()); err != nil {
				t.Fatal(err)
			}
		}
		d.expect(t, "2 0.3 Why.", "1 0.6 "+prediction.WithoutThesis)
		if n, err := d.db.NewSelect().Table("prediction_parts").Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d expired rows are left, error %v", n, err)
		}
	})
}

// TestPartsAtOnce checks that both parts, sent several times at once, make one prediction.
func TestPartsAtOnce(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { d.add(t, "1", []string{"0.6", "Why."}[i%2]) })
		}
		wg.Wait()
		d.expect(t, "1 0.6 Why.")
	})
}

// afterInsert runs a function once, after an INSERT into prediction_parts.
type afterInsert struct{ run func() }

func (h *afterInsert) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *afterInsert) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if run := h.run; run != nil && strings.HasPrefix(e.Query, `INSERT INTO "prediction_parts"`) {
		h.run = nil
		run()
	}
}

// TestPartWhileOldPartsAreForgotten checks that a part is kept if retention removes the expired row of its market at
// the same moment. SQLite has one writer, so there this can't happen.
func TestPartWhileOldPartsAreForgotten(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	hook := &afterInsert{}
	db.Watch(hook)
	d := open(t, db)
	d.add(t, "1", "Old.")
	d.wait(prediction.PartsKept + time.Minute)
	forgotten := false
	hook.run = func() {
		_, err := d.ForgetParts(t.Context())
		if forgotten = true; err != nil {
			t.Error(err)
		}
	}
	d.add(t, "1", "New.")
	if !forgotten {
		t.Fatal("no row was inserted")
	}
	d.add(t, "1", "0.6")
	d.expect(t, "1 0.6 New.")
}

// TestPartsOfAClosedAccount checks that an agent's unfinished parts are deleted when its account is closed, and that
// a part that arrives at the same moment isn't kept.
func TestPartsOfAClosedAccount(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "1", "Why.")
		err := d.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, _, err := agent.Store{}.Close(ctx, tx, d.agent.ID, d.now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.add(t, "2", "Why."); got != "account_closed" {
			t.Errorf("after the close: got %s, want a refusal", got)
		}
		if _, err := prediction.ForgetAnswersOf(t.Context(), d.db, d.agent.ID); err != nil {
			t.Fatal(err)
		}
		if n, err := d.db.NewSelect().Table("prediction_parts").Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d parts are left (%v), want none", n, err)
		}
	})
}

func TestPartsOfADisabledAgent(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		d.add(t, "1", "0.6")
		if _, err := d.db.ExecContext(t.Context(), "UPDATE agents SET status = 'disabled', disabled_at = ?", database.Stored(start)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.PublishParts(t.Context(), d.now()); err != nil {
			t.Fatal(err)
		}
		d.expect(t)
	})
}
