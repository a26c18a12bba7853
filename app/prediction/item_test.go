package prediction_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestMarketCompletesADraft checks that the market supplies a missing title and horizon, and that a market
// without a future close requires a horizon.
func TestMarketCompletesADraft(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		long, past, undated := yesNo("long", strings.Repeat("é ", 300)+"?"), yesNo("past", "Is it late?"), yesNo("undated", "Is it ever?")
		past.ClosesAt, undated.ClosesAt = start.Add(-time.Hour), time.Time{}
		if err := (market.Store{}).Observe(t.Context(), db, []market.Market{long, past, undated}); err != nil {
			t.Fatal(err)
		}
		bare := func(id string) prediction.Draft {
			return draft(func(dr *prediction.Draft) { dr.MarketID, dr.Title, dr.HorizonAt = id, "", nil })
		}
		got, _, err := d.publish(t, bare("1"))
		if err != nil || got.Record.Title != "Will it rain in Oslo?" || !got.Record.HorizonAt.Equal(start.AddDate(0, 1, 0)) {
			t.Fatalf("%+v, %v", got.Record.Prediction, err)
		}
		found, _, err := prediction.Store{}.List(t.Context(), db, prediction.Filter{Words: "oslo sun", Limit: 9})
		if err != nil || len(found) != 0 {
			t.Errorf("search for a word of another market: found %v, %v, want none", found, err)
		}
		found, _, err = prediction.Store{}.List(t.Context(), db, prediction.Filter{Words: "oslo always", Limit: 9})
		if err != nil || len(found) != 1 || found[0].ID != got.Record.ID {
			t.Errorf("search for a word of the market's question: found %v, %v, want the prediction", found, err)
		}
		if got, _, err := d.publish(t, bare("long")); err != nil || len([]rune(got.Record.Title)) > 300 || !strings.HasSuffix(got.Record.Title, "…") {
			t.Errorf("%q, %v", got.Record.Title, err)
		}
		for id, why := range map[string]string{"past": "was scheduled to close at 2026-11-21T11:00:00Z", "undated": "has no scheduled close"} {
			_, _, err := d.publish(t, bare(id))
			if p := problem.As(err); p.Code != "invalid_prediction" || p.Fields[0].Field != "horizonAt" || !strings.Contains(p.Detail, why) {
				t.Errorf("market %s: got %v", id, err)
			}
		}
		titled := bare("undated")
		titled.HorizonAt = draft(nil).HorizonAt
		if got, _, err := d.publish(t, titled); err != nil || got.Record.Title != "Is it ever?" {
			t.Errorf("got title %q, %v", got.Record.Title, err)
		}
	})
}

// batch returns a request with one draft for each market. "" stands for a draft that the edge refused.
func (d *author) batch(key string, markets ...string) prediction.BatchSubmission {
	s := prediction.BatchSubmission{Agent: d.agent, IdempotencyKey: key, Render: func(list []prediction.ItemOutcome) ([]byte, error) {
		var words []string
		for _, o := range list {
			words = append(words, fmt.Sprintf("%s %s %q", cmp.Or(codeOf(o.Err), "-"), o.Receipt.Record.MarketID, o.Receipt.Warnings))
		}
		return []byte(strings.Join(words, "\n")), nil
	}}
	for _, id := range markets {
		item := prediction.BatchItem{Draft: draft(func(dr *prediction.Draft) { dr.MarketID = id })}
		if id == "" {
			item.Refused = problem.InvalidPrediction(problem.Field{Field: "title", Message: "is required"})
		}
		s.Items = append(s.Items, item)
	}
	return s
}

// codeless reports whether a line of a batch's answer belongs to an item that wasn't refused.
func codeless(line string) bool { return line[0] == '-' }

// TestBatchIsPublishedInOrder checks that a bad item fails alone and the others are published in order. Each
// item counts as an earlier prediction for the next ones, also in a dry run.
func TestBatchIsPublishedInOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		dry := d.batch("", "1", "6", "2", "", "1")
		dry.DryRun = true
		for _, s := range []prediction.BatchSubmission{dry, d.batch("k", "1", "6", "2", "", "1")} {
			answer, _, err := d.PublishAll(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(answer), "\n")
			for i, want := range []string{"- 1", "market_closed", "your 2nd on this event", "invalid_prediction", "your 3rd on this event"} {
				if !strings.Contains(lines[i], want) || strings.Contains(lines[i], "Dry run") != (s.DryRun && codeless(lines[i])) {
					t.Errorf("item %d: got %q, want %q", i, lines[i], want)
				}
			}
		}
		list, _, err := prediction.Store{}.List(t.Context(), db, prediction.Filter{Limit: 10})
		if err != nil || len(list) != 3 || list[2].MarketID != "1" || list[1].MarketID != "2" || list[0].MarketID != "1" {
			t.Fatalf("%d predictions are stored (%v), want 3 in order", len(list), err)
		}
		for i, r := range list {
			if want := start.Add(time.Duration(2-i) * time.Microsecond); !r.CreatedAt.Equal(want) {
				t.Errorf("prediction %d: published at %s, want %s", i, r.CreatedAt, want)
			}
		}
		tally, err := prediction.Store{}.Tally(t.Context(), db, d.agent.ID)
		if err != nil || tally.Total != 3 || tally.PublicationDays != 1 {
			t.Errorf("got tally %+v, %v", tally, err)
		}
	})
}

// TestBatchKey checks that a key covers the whole request, and that a request which publishes nothing doesn't
// use it up.
func TestBatchKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		first := d.batch("k", "1", "6")
		publish := func(s prediction.BatchSubmission) string {
			answer, _, err := d.PublishAll(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return string(answer)
		}
		if answer, err := d.Answered(t.Context(), &first); answer != nil || err != nil {
			t.Errorf("before the request: got answer %q, %v", answer, err)
		}
		if one, two := publish(first), publish(first); one != two || d.stored(t) != 1 {
			t.Errorf("%s\n%s\n%d stored", one, two, d.stored(t))
		}
		if answer, err := d.Answered(t.Context(), &first); string(answer) != publish(first) || err != nil {
			t.Errorf("after the request: got answer %q, %v", answer, err)
		}
		other := d.batch("k", "2")
		other.BodyHash = [32]byte{1}
		if _, _, err := d.PublishAll(t.Context(), other); codeOf(err) != "idempotency_mismatch" {
			t.Error(err)
		}
		if _, err := d.Answered(t.Context(), &other); codeOf(err) != "idempotency_mismatch" {
			t.Error(err)
		}
		if _, _, err := d.publish(t, draft(nil), func(s *prediction.Submission) { s.IdempotencyKey, s.BodyHash = "k", [32]byte{2} }); codeOf(err) != "idempotency_mismatch" {
			t.Error(err)
		}
		if answer := publish(d.batch("unused", "6", "")); !strings.HasPrefix(answer, "market_closed") {
			t.Error(answer)
		}
		other.IdempotencyKey = "unused"
		if answer := publish(other); strings.HasPrefix(answer, "market_closed") || d.stored(t) != 2 {
			t.Errorf("got %s with %d stored", answer, d.stored(t))
		}
	})
}

// TestBatchRepeatWaits checks that a repeat waits for the answer of the first request while that is being
// stored, and that all but the first are reported as repeats.
func TestBatchRepeatWaits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		s := d.batch("k", "1", "2", "")
		answers := make([]string, 8)
		var repeats atomic.Int64
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				answer, repeat, err := d.PublishAll(t.Context(), s)
				if err != nil {
					t.Error(err)
				}
				if repeat {
					repeats.Add(1)
				}
				answers[i] = string(answer)
			})
		}
		wg.Wait()
		if repeats.Load() != 7 {
			t.Errorf("%d of 8 requests were repeats, want 7", repeats.Load())
		}
		for _, a := range answers {
			if a != answers[0] || a == "" {
				t.Errorf("got answers %q and %q, want the same", a, answers[0])
			}
		}
		if d.stored(t) != 2 {
			t.Errorf("%d predictions are stored", d.stored(t))
		}
	})
}

// TestClaim checks that one request of an agent at a time has a key, and that the others wait for it, but not forever.
func TestClaim(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.Open(t, database.SQLite))
	s, other := d.batch("k"), d.batch("other")
	release, err := d.Claim(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	free, err := d.Claim(t.Context(), &other)
	if err != nil {
		t.Fatal(err)
	}
	free()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Claim(ended, &s); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	d.HeldWait(time.Millisecond)
	if _, err := d.Claim(t.Context(), &s); codeOf(err) != "unavailable" || problem.As(err).RetryAfter <= 0 {
		t.Errorf("after the longest wait: %v", err)
	}
	d.HeldWait(time.Minute)
	var holders, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			release, err := d.Claim(t.Context(), &s)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), holders.Add(1)))
			runtime.Gosched()
			holders.Add(-1)
			release()
		})
	}
	release()
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d requests had the key at once", most.Load())
	}
}

// TestAwaitAnswer checks that AwaitAnswer waits for a request that this node or another is storing, and that without
// such a request it finds no answer and stores nothing.
func TestAwaitAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			db, err := database.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			d := open(t, db)
			nodes := []*prediction.Publisher{d.Publisher}
			if kind == database.Postgres {
				nodes = append(nodes, d.node(t, url, 0))
			}
			s := d.batch("k", "1", "2")
			for _, node := range nodes {
				node.HeldWait(time.Minute)
				if answer, err := node.AwaitAnswer(t.Context(), &s); answer != nil || err != nil || d.stored(t) != 0 {
					t.Errorf("before the request: got answer %q, %v with %d stored", answer, err, d.stored(t))
				}
			}
			storing, unblock := make(chan struct{}), make(chan struct{})
			first := s
			first.Render = func(list []prediction.ItemOutcome) ([]byte, error) {
				close(storing)
				<-unblock
				return s.Render(list)
			}
			var answers [3]string
			var wg sync.WaitGroup
			wg.Go(func() {
				answer, _, err := d.PublishAll(t.Context(), first)
				if err != nil {
					t.Error(err)
				}
				answers[0] = string(answer)
			})
			<-storing
			for i, node := range nodes {
				wg.Go(func() {
					answer, err := node.AwaitAnswer(t.Context(), &s)
					if err != nil {
						t.Error(err)
					}
					answers[1+i] = string(answer)
				})
				until(t, "it waits", func() bool { n, _ := node.Waiting(); return n == 1 })
			}
			close(unblock)
			wg.Wait()
			for _, answer := range answers[:1+len(nodes)] {
				if answer != answers[0] || answer == "" {
					t.Errorf("got answers %q, want the same", answers)
				}
			}
			if d.stored(t) != 2 {
				t.Errorf("%d predictions are stored", d.stored(t))
			}
		})
	}
}

// TestBatchItemThatTheDatabaseRefuses checks that the item fails alone. If the database is gone, nothing is
// stored.
func TestBatchItemThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		s := d.batch("k", "1", "2", "3", "1")
		spoil(t, db, &s.Items[1].Draft)
		answer, _, err := d.PublishAll(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(answer), "\n")
		for i, want := range []string{"-", "internal", "invalid_prediction", "-"} {
			if got, _, _ := strings.Cut(lines[i], " "); got != want {
				t.Errorf("item %d: got %q", i, lines[i])
			}
		}
		if d.stored(t) != 2 {
			t.Errorf("%d predictions are stored", d.stored(t))
		}
	})
}

// TestBatchIsStoredWholeOrNotAtAll checks a connection that breaks during the batch, and a full disk.
func TestBatchIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	broken := map[database.Kind]func(t *testing.T, d *author, s *prediction.BatchSubmission) (repair func()){
		database.Postgres: func(_ *testing.T, d *author, s *prediction.BatchSubmission) func() {
			render := s.Render
			s.Render = func(list []prediction.ItemOutcome) ([]byte, error) {
				_, err := d.db.ExecContext(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
				return []byte("?"), err
			}
			return func() { s.Render = render }
		},
		database.SQLite: func(t *testing.T, d *author, _ *prediction.BatchSubmission) func() {
			var pages int
			if err := d.db.NewRaw("PRAGMA page_count").Scan(t.Context(), &pages); err != nil {
				t.Fatal(err)
			}
			limit := func(pages int) {
				if _, err := d.db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
					t.Fatal(err)
				}
			}
			limit(pages)
			return func() { limit(1 << 20) }
		},
	}
	for kind, breakIt := range broken {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, kind)
			d := open(t, db)
			s := d.batch("k", "1", "2", "6", "1")
			for i := range s.Items {
				s.Items[i].Draft.Thesis = strings.Repeat("long ", 2000)
			}
			repair := breakIt(t, d, &s)
			if _, _, err := d.PublishAll(t.Context(), s); codeOf(err) != "unavailable" || problem.As(err).RetryAfter <= 0 {
				t.Errorf("%v", err)
			}
			repair()
			n, err := db.NewSelect().Table("idempotency_keys").Count(t.Context())
			if err != nil || n != 0 || d.stored(t) != 0 {
				t.Errorf("after the failure: %d keys and %d predictions are stored, %v", n, d.stored(t), err)
			}
			if _, _, err := d.PublishAll(t.Context(), s); err != nil || d.stored(t) != 3 {
				t.Errorf("next batch: %d predictions are stored, %v", d.stored(t), err)
			}
		})
	}
}
