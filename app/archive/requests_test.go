package archive_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestFirstReasonStays checks that an order to erase is not forgotten when an admin hides the same
// text and shows it again.
func TestFirstReasonStays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := day
		for i, c := range []struct {
			reasons []string
			again   bool
			want    string // after a request with the reason Hidden is withdrawn; "" for no request
		}{
			{[]string{archive.Ordered}, true, archive.Ordered},
			{[]string{archive.Hidden}, true, ""},
			{[]string{archive.Ordered, archive.Hidden}, true, archive.Ordered},
			{[]string{archive.Hidden, archive.Ordered}, true, archive.Ordered},
			{[]string{archive.Hidden, archive.Ordered, archive.Hidden}, true, archive.Ordered},
			{[]string{archive.Deleted, archive.Ordered}, true, archive.Deleted},
			{[]string{archive.Hidden, archive.Closed}, false, archive.Closed},
			{[]string{archive.Closed, archive.Hidden}, false, archive.Closed},
		} {
			id := fmt.Sprint("record-", i)
			for _, reason := range c.reasons {
				err := archive.RequestRedaction(t.Context(), db, now, c.again, archive.Request{Table: archive.Predictions, Record: id, Reason: reason})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := archive.WithdrawHidden(t.Context(), db, archive.Predictions, id); err != nil {
				t.Fatal(err)
			}
			var got []string
			err := db.NewRaw("SELECT reason FROM redaction_requests WHERE record = ?", id).Scan(t.Context(), &got)
			want := []string{c.want}
			if c.want == "" {
				want = nil
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: the reason is %v, %v; want %v", c.reasons, got, err, want)
			}
		}
	})
}

// TestRequestRows checks that sealing reads only the requests for the texts of the day, and not all
// requests ever made.
func TestRequestRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			texts := make([]archive.TextRow, 100)
			for i := range texts {
				texts[i] = archive.TextRow{Record: fmt.Sprint("p", i), Agent: fmt.Sprint("a", i%10)}
			}
			const small, large = 4_000, 20_000
			for _, size := range dbtest.Sizes(kind, small, large) {
				list := make([]archive.Request, size)
				for i := range list {
					list[i] = archive.Request{Table: archive.Predictions, Record: fmt.Sprint("p", i*50), Reason: archive.Ordered}
				}
				list[1] = archive.Request{Table: archive.Agents, Record: "a7", Reason: archive.Closed}
				if err := archive.RequestRedaction(t.Context(), db, day, true, list...); err != nil {
					t.Fatal(err)
				}
				if kind == database.Postgres {
					if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE redaction_requests"); err != nil {
						t.Fatal(err)
					}
				}
				for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
					n, err := archive.Requested(t.Context(), db.Reader, archive.Predictions, texts)
					if err != nil || n != 1+10 { // p0, and the ten of a7
						t.Errorf("%d texts are erased, %v; want 11", n, err)
					}
				}) {
					// Postgres reads a small table completely.
					if n := e.Tables["redaction_requests"]; size == large && n > 200 {
						t.Errorf("%d rows of %d requests: %s", n, size, e.Query)
					}
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
			}
		})
	}
}

// TestAgentRequests checks that a request for an agent covers the predictions of later days too,
// and that one for its profile leaves its predictions alone.
func TestAgentRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.sealer.Exporters = []archive.Exporter{texts{[]string{"gone", "muted", "other"}}}
	w.readPlain()
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	err := archive.RequestRedaction(t.Context(), w.db, w.now(), true,
		archive.Request{Table: archive.Agents, Record: "gone", Reason: archive.Ordered},
		archive.Request{Table: archive.Profiles, Record: "muted", Reason: archive.Hidden})
	if err != nil {
		t.Fatal(err)
	}
	w.mustTick()
	w.set(day.AddDate(0, 0, 2).Add(time.Hour))
	w.mustTick()
	if problems, _ := w.verify(); len(problems) > 0 {
		t.Errorf("problems %q", problems)
	}
	for _, d := range []string{"2026-11-21", "2026-11-22"} {
		said, names := textsOf(w, d, archive.Predictions), textsOf(w, d, archive.Agents)
		if len(said) != 2 || said["p-gone"] != "" || len(names) != 1 || names["other"] == "" {
			t.Errorf("%s: predictions %v, agents %v", d, said, names)
		}
		redactions := w.redactions(d)
		slices.Sort(redactions)
		if want := []string{"agents gone ordered", "agents muted hidden", "predictions p-gone ordered"}; !slices.Equal(redactions, want) {
			t.Errorf("%s: redactions %v, want %v", d, redactions, want)
		}
	}
}
