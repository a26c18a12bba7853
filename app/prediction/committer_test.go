package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// submission returns a submission of the author. Its answer is the prediction's id.
func (d *author) submission(change func(*prediction.Submission)) prediction.Submission {
	s := prediction.Submission{Agent: d.agent, Draft: draft(nil), Render: func(r prediction.Receipt) ([]byte, error) {
		return []byte(r.Record.ID.String()), nil
	}}
	if change != nil {
		change(&s)
	}
	return s
}

// newAgent registers another agent.
func (d *author) newAgent(t *testing.T, name string) agent.Agent {
	t.Helper()
	var made *agent.Agent
	err := d.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
		made, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: name}, At: start})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made
}

// occupy takes every connection that publishing could use until release is called.
func (d *author) occupy(t *testing.T) (release func()) {
	t.Helper()
	d.db.SetMaxOpenConns(1)
	conn, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("never: ", what)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return problem.As(err).Code
}

// statements records the queries that a database runs.
type statements struct {
	mu   sync.Mutex
	list []string
}

func (s *statements) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, e.Query)
	return ctx
}

func (*statements) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestBatchesMakeTheSameStatements checks that the number of statements doesn't grow with the size of a batch.
func TestBatchesMakeTheSameStatements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		seen := &statements{}
		db.Watch(seen)
		d := open(t, db)
		agents := []agent.Agent{d.agent}
		for i := range 7 {
			agents = append(agents, d.newAgent(t, fmt.Sprint("Agent ", i)))
		}
		made := map[int]int{}
		for _, size := range []int{8, 1, 8, 64} { // the first batch inserts the tallies
			var list []prediction.Submission
			for i := range size {
				list = append(list, d.submission(func(s *prediction.Submission) {
					s.Agent, s.IdempotencyKey = agents[i%8], fmt.Sprintf("%d of %d, %d", i, size, len(made))
					s.Draft.MarketID = []string{"1", "2", ""}[i%3]
					s.Draft.Evidence = []prediction.Evidence{{Title: "news", URL: "https://example.org/study"}, {Title: "page", URL: "https://pulse.example/markets/2"}}
				}))
			}
			seen.mu.Lock()
			seen.list = nil
			seen.mu.Unlock()
			for i, o := range d.PublishBatch(t.Context(), list) {
				if o.Err != nil {
					t.Fatalf("submission %d of %d: %v", i, size, o.Err)
				}
			}
			for _, query := range seen.list { // on Postgres, the updates are part of the statement that stores predictions
				if strings.Contains(query, "update_outbox") && db.Kind == database.Postgres && !strings.Contains(query, "INSERT INTO predictions") {
					t.Errorf("updates have a separate statement: %s", query)
				}
			}
			if len(seen.list) > 22 {
				t.Errorf("%d statements for %d submissions, want at most 22:\n%s", len(seen.list), size, strings.Join(seen.list, "\n"))
			}
			made[size] = len(seen.list)
		}
		// One submission may need one statement less, because the first one names its market by id and not by
		// title.
		if made[8] != made[64] || made[1] > made[8] || made[1] < made[8]-1 {
			t.Errorf("statements by number of submissions: %v, want the same for 8 and 64", made)
		}
	})
}

// spoil makes a draft that the database refuses. Postgres refuses a NUL, as every edge does. SQLite accepts it, so
// there a trigger refuses the draft.
func spoil(t *testing.T, db *database.DB, d *prediction.Draft) {
	t.Helper()
	d.Thesis = "a NUL: \x00"
	if db.Kind == database.SQLite {
		d.Thesis = "refused"
		_, err := db.ExecContext(t.Context(), `CREATE TRIGGER IF NOT EXISTS refuse BEFORE INSERT ON predictions WHEN new.thesis = 'refused'
			BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBadRowFailsAlone checks that if the database refuses one row of a batch, all others are published.
func TestBadRowFailsAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		var list []prediction.Submission
		for i := range 9 {
			list = append(list, d.submission(func(s *prediction.Submission) {
				s.IdempotencyKey = fmt.Sprint(i)
				switch i {
				case 2:
					s.Draft.MarketID = "6" // refused because the market is closed
				case 5:
					spoil(t, db, &s.Draft)
				}
			}))
		}
		for i, o := range d.PublishBatch(t.Context(), list) {
			if want := map[int]string{2: "market_closed", 5: "internal"}[i]; codeOf(o.Err) != want {
				t.Errorf("submission %d: got %v, want %q", i, o.Err, want)
			}
		}
		if d.stored(t) != 7 {
			t.Errorf("%d predictions are stored, want 7", d.stored(t))
		}
		if n, err := db.NewSelect().Table("idempotency_keys").Count(t.Context()); err != nil || n != 7 {
			t.Errorf("%d keys are stored (%v), want 7", n, err)
		}
	})
}

// TestRepeatsInOneBatch checks that repeats in a batch get the first answer, or are refused if their body
// differs. If the first request with a key is refused, the next one can use the key.
func TestRepeatsInOneBatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		with := func(key string, body byte, market string) prediction.Submission {
			return d.submission(func(s *prediction.Submission) {
				s.IdempotencyKey, s.BodyHash, s.Draft.MarketID = key, [32]byte{body}, market
			})
		}
		got := d.PublishBatch(t.Context(), []prediction.Submission{
			with("a", 1, "1"), with("a", 1, "1"), with("a", 2, "1"), with("b", 1, "6"), with("b", 2, "1"),
		})
		if got[0].Err != nil || got[1] != got[0] || codeOf(got[2].Err) != "idempotency_mismatch" ||
			codeOf(got[3].Err) != "market_closed" || got[4].Err != nil || got[4].Answer == got[0].Answer {
			t.Errorf("got %v", got)
		}
		if d.stored(t) != 2 {
			t.Errorf("%d predictions are stored", d.stored(t))
		}
	})
}

// TestRepeatsInOneBatchAreWeighed checks that predictions of one batch count as repeats of earlier ones in it,
// and that each one has a later time.
func TestRepeatsInOneBatchAreWeighed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		var receipts []prediction.Receipt
		one := d.submission(func(s *prediction.Submission) {
			s.Draft.MarketID = "1"
			s.Render = func(r prediction.Receipt) ([]byte, error) {
				receipts = append(receipts, r)
				return nil, nil
			}
		})
		d.PublishBatch(t.Context(), []prediction.Submission{one, one, one})
		for i, want := range []string{"", "your 2nd on this event", "your 3rd on this event"} {
			r := receipts[i]
			said := strings.Join(r.Warnings, " ")
			if !strings.Contains(said, want) || (want == "") == strings.Contains(said, "on this event") || !r.Record.CreatedAt.Equal(start.Add(time.Duration(i)*time.Microsecond)) {
				t.Errorf("prediction %d at %s with warnings %q, want one microsecond between them and %q", i, r.Record.CreatedAt, r.Warnings, want)
			}
		}
		tally, err := prediction.Store{}.Tally(t.Context(), db, d.agent.ID)
		if err != nil || tally.Total != 3 || tally.Open != 3 || tally.PublicationDays != 1 || !tally.LastPublishedAt.Equal(receipts[2].Record.CreatedAt) {
			t.Errorf("got tally %+v, %v", tally, err)
		}
		var count, changed int
		err = db.NewRaw("SELECT predictions, CASE WHEN changed THEN 1 ELSE 0 END FROM market_consensus WHERE market_id = '1'").Scan(t.Context(), &count, &changed)
		if err != nil || count != 3 || changed != 1 {
			t.Errorf("%d predictions on the market, changed %d (%v), want 3 and 1", count, changed, err)
		}
	})
}

// TestCancelledSubmissionLeavesTheQueue checks that a cancelled submission isn't stored and frees its place at
// once.
func TestCancelledSubmissionLeavesTheQueue(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		release := d.occupy(t)
		first := make(chan error, 1)
		go func() {
			_, err := d.Publish(t.Context(), d.submission(nil))
			first <- err
		}()
		until(t, "the first begins a batch", func() bool { n, _ := d.Waiting(); return n == 0 && d.Running() == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := d.Publish(ctx, d.submission(nil))
			second <- err
		}()
		until(t, "the second waits", func() bool { n, _ := d.Waiting(); return n == 1 })
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n, bytes := d.Waiting(); n != 0 || bytes != 0 {
			t.Errorf("%d submissions wait with %d bytes, want none", n, bytes)
		}
		release()
		if err := <-first; err != nil || d.stored(t) != 1 {
			t.Errorf("got %v with %d stored, want 1 stored", err, d.stored(t))
		}
	})
}

// TestTwoBatchesAtOnce checks that Postgres stores a second batch beside the first one, but never two batches
// with one agent. SQLite stores one.
func TestTwoBatchesAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		other := d.newAgent(t, "Grace")
		stored, unblock := make(chan struct{}), make(chan struct{})
		errs := make(chan error, 3)
		publish := func(change func(*prediction.Submission)) {
			_, err := d.Publish(t.Context(), d.submission(change))
			errs <- err
		}
		go publish(func(s *prediction.Submission) {
			s.Render = func(prediction.Receipt) ([]byte, error) {
				close(stored)
				<-unblock
				return nil, nil
			}
		})
		<-stored
		go publish(nil)
		until(t, "the second request of the agent waits", func() bool { n, _ := d.Waiting(); return n == 1 && d.Running() == 1 })
		beside := make(chan error, 1)
		go func() {
			_, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) { s.Agent = other }))
			beside <- err
		}()
		if db.Kind == database.Postgres {
			if err := <-beside; err != nil {
				t.Error(err)
			}
			until(t, "the second batch ends", func() bool { return d.Running() == 1 })
		}
		waiting := map[database.Kind]int{database.Postgres: 1, database.SQLite: 2}[db.Kind]
		until(t, "the others wait", func() bool { n, _ := d.Waiting(); return n == waiting })
		if d.Running() != 1 {
			t.Errorf("%d batches run, want 1", d.Running())
		}
		close(unblock)
		if db.Kind == database.SQLite {
			if err := <-beside; err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if d.stored(t) != 2 {
			t.Errorf("%d predictions are stored for the agent, want 2", d.stored(t))
		}
	})
}

// TestSmallBatchWaits checks that a second batch waits for the first one until as many predictions wait as the
// first one stores.
func TestSmallBatchWaits(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.Open(t, database.Postgres))
	stored, unblock := make(chan struct{}), make(chan struct{})
	first := d.batch("", "1", "2")
	first.Render = func([]prediction.ItemOutcome) ([]byte, error) {
		close(stored)
		<-unblock
		return nil, nil
	}
	big, small := make(chan error, 1), make(chan error, 2)
	go func() {
		_, _, err := d.PublishAll(t.Context(), first)
		big <- err
	}()
	<-stored
	publish := func(name string) {
		other := d.newAgent(t, name)
		go func() {
			_, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) { s.Agent = other }))
			small <- err
		}()
	}
	publish("Grace")
	until(t, "one prediction waits", func() bool { n, _ := d.Waiting(); return n == 1 && d.Running() == 1 })
	publish("Joan")
	for range 2 {
		if err := <-small; err != nil {
			t.Error(err)
		}
	}
	close(unblock)
	if err := <-big; err != nil || d.stored(t) != 2 {
		t.Errorf("got %v with %d stored for the first agent, want 2", err, d.stored(t))
	}
}

// TestFullQueueRefusesAtOnce checks both bounds of the queue, number and bytes. Submissions in the queue are
// published later. So the refusal of a submission with a key doesn't say that nothing was stored.
func TestFullQueueRefusesAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ most, bytes, fit int }{
		"number": {most: 5, bytes: 1 << 20, fit: 5}, "bytes": {most: 1000, bytes: 50_000, fit: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, dbtest.Open(t, database.SQLite))
			d.QueueBounds(c.most, c.bytes)
			release := d.occupy(t)
			errs := make(chan error)
			publish := func(key string) {
				_, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) {
					s.Draft.Thesis, s.IdempotencyKey = strings.Repeat("long ", 2000), key
				}))
				errs <- err
			}
			go publish("")
			until(t, "the first begins a batch", func() bool { n, _ := d.Waiting(); return n == 0 && d.Running() == 1 })
			for i := range c.fit {
				go publish("")
				until(t, "one more waits", func() bool { n, _ := d.Waiting(); return n == i+1 })
			}
			for _, key := range []string{"", "k", ""} {
				go publish(key)
				err := <-errs
				if codeOf(err) != "unavailable" || problem.As(err).RetryAfter <= 0 {
					t.Errorf("with a full queue: got %v, want a refusal", err)
				}
				if says := strings.Contains(fmt.Sprint(err), "Nothing was stored"); says != (key == "") {
					t.Errorf("with a full queue and the key %q: %v", key, err)
				}
			}
			if _, bytes := d.Waiting(); bytes > c.bytes {
				t.Errorf("%d bytes wait in the queue", bytes)
			}
			release()
			for range 1 + c.fit {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if d.stored(t) != 1+c.fit {
				t.Errorf("%d predictions are stored", d.stored(t))
			}
		})
	}
}

// TestLostConnectionStoresNothing checks that if the connection breaks during a batch, every submission is
// refused as unavailable and none is stored. The next batch works.
func TestLostConnectionStoresNothing(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	list := []prediction.Submission{d.submission(nil), d.submission(nil), d.submission(nil)}
	list[1].Render = func(prediction.Receipt) ([]byte, error) {
		_, err := db.ExecContext(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
		return []byte("?"), err
	}
	for _, o := range d.PublishBatch(t.Context(), list) {
		if codeOf(o.Err) != "unavailable" || problem.As(o.Err).RetryAfter <= 0 {
			t.Errorf("got %q, %v, want a refusal", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d predictions are stored", d.stored(t))
	}
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestFailedCommitStoresNothing checks a failure of the commit itself, as on a full disk.
func TestFailedCommitStoresNothing(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	for _, statement := range []string{
		"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END$$",
		"CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON results DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION full_disk()",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range d.PublishBatch(t.Context(), []prediction.Submission{d.submission(nil), d.submission(nil)}) {
		if codeOf(o.Err) != "unavailable" {
			t.Errorf("got %q, %v, want a refusal", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d predictions are stored", d.stored(t))
	}
	if _, err := db.ExecContext(t.Context(), "DROP TRIGGER full_disk ON results"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestBatchOfAJobDoesNotWaitForLocks checks that a batch gives up on a locked table although a job began it, because
// requests may be in it or wait behind it.
func TestBatchOfAJobDoesNotWaitForLocks(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	if _, err := lock.ExecContext(t.Context(), "LOCK TABLE predictions"); err != nil {
		t.Fatal(err)
	}
	_, err = d.Publish(database.Patient(t.Context()), d.submission(nil))
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "55P03" { // lock_not_available
		t.Errorf("got %v, want that the lock isn't available", err)
	}
}

// TestFullDiskStoresNothing checks a SQLite database that can't grow by another page.
func TestFullDiskStoresNothing(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.Open(t, database.SQLite))
	var pages int
	if err := d.db.NewRaw("PRAGMA page_count").Scan(t.Context(), &pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		if _, err := d.db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages)
	long := func(s *prediction.Submission) { s.Draft.Thesis = strings.Repeat("long ", 2000) }
	for _, o := range d.PublishBatch(t.Context(), []prediction.Submission{d.submission(long), d.submission(long), d.submission(long)}) {
		if codeOf(o.Err) != "unavailable" {
			t.Errorf("got %q, %v, want a refusal", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d predictions are stored", d.stored(t))
	}
	limit(1 << 20)
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestLockedAgentDelaysNoOther checks that if another transaction holds an agent's tally, only that agent's
// submissions wait. Those of other agents, even agents that never published, don't.
func TestLockedAgentDelaysNoOther(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(d *author, t *testing.T, tx bun.Tx){
		"an agent that has published": (*author).holdTally,
		"a new agent": func(d *author, t *testing.T, tx bun.Tx) {
			if err := prediction.LockTallies(t.Context(), tx, []uuid.UUID{d.agent.ID}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lockedAgentDelaysNoOther(t, hold)
		})
	}
}

func lockedAgentDelaysNoOther(t *testing.T, hold func(d *author, t *testing.T, tx bun.Tx)) {
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	d.HeldWait(time.Minute)
	other := d.newAgent(t, "Grace")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	hold(d, t, tx)
	held := make(chan error, 1)
	go func() {
		_, _, err := d.publish(t, draft(nil))
		held <- err
	}()
	d.untilHeld(t, 1)
	for range 3 {
		if _, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) { s.Agent = other })); err != nil {
			t.Error(err)
		}
	}
	if d.stored(t) != 0 {
		t.Error("published for a locked agent")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-held; err != nil || d.stored(t) != 1 {
		t.Errorf("got %v with %d stored", err, d.stored(t))
	}
}

// node returns a second publisher with separate connections.
func (d *author) node(t *testing.T, url string, ahead time.Duration) *prediction.Publisher {
	t.Helper()
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return prediction.NewPublisher(db, func() time.Time { return d.now().Add(ahead) }, time.Hour, "https://pulse.example")
}

// TestNodesPublishAKeyOnce checks that when two nodes receive requests with one key at once, all get the same
// answer. One of the agents has never published.
func TestNodesPublishAKeyOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := open(t, db)
	nodes := []*prediction.Publisher{d.Publisher, d.node(t, url, 0)}
	const rounds = 20
	for round := range rounds {
		var answers [6]string
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				answer, err := nodes[i%2].Publish(t.Context(), d.submission(func(s *prediction.Submission) { s.IdempotencyKey = fmt.Sprint(round) }))
				if err != nil {
					t.Error(err)
				}
				answers[i] = string(answer)
			})
		}
		wg.Wait()
		for _, answer := range answers {
			if answer != answers[0] || answer == "" {
				t.Fatalf("answers %q", answers)
			}
		}
	}
	if d.stored(t) != rounds {
		t.Errorf("%d predictions are stored", d.stored(t))
	}
}

// TestIDsFollowCommits checks the ids when an agent publishes on two nodes whose clocks differ by half an hour. If a
// prediction is acknowledged before another is sent, its id is lower.
func TestIDsFollowCommits(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := open(t, db)
	nodes := []*prediction.Publisher{d.Publisher, d.node(t, url, -30*time.Minute)}
	var mu sync.Mutex
	last, n := "", 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				mu.Lock()
				before := last
				mu.Unlock()
				answer, err := nodes[i%2].Publish(t.Context(), d.submission(nil))
				if err != nil || string(answer) <= before {
					t.Errorf("id %s was acknowledged after %s, %v", answer, before, err)
				}
				mu.Lock()
				last, n = max(last, string(answer)), n+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if d.stored(t) != n || n != 80 {
		t.Errorf("%d of %d predictions are stored", d.stored(t), n)
	}
}

// TestStopLosesNothing checks that Stop answers everything under load, and that exactly the acknowledged
// predictions are stored.
func TestStopLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		var mu sync.Mutex
		acknowledged := map[string]bool{}
		var count atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					answer, err := d.Publish(t.Context(), d.submission(nil))
					if err != nil {
						if codeOf(err) != "unavailable" {
							t.Error(err)
						}
						return
					}
					count.Add(1)
					mu.Lock()
					acknowledged[string(answer)] = true
					mu.Unlock()
				}
			})
		}
		until(t, "some are published", func() bool { return count.Load() > 50 })
		if err := d.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		stored := d.stored(t)
		wg.Wait()
		if err := d.Stop(t.Context()); err != nil || stored != len(acknowledged) || d.stored(t) != stored {
			t.Errorf("%d stored at Stop, %d now, %d acknowledged, %v", stored, d.stored(t), len(acknowledged), err)
		}
		var ids []string
		if err := db.NewSelect().Table("predictions").Column("id").Order("id").Scan(t.Context(), &ids); err != nil || !slices.Equal(ids, slices.Sorted(maps.Keys(acknowledged))) {
			t.Errorf("the stored predictions aren't those that were acknowledged (%v)", err)
		}
	})
}

// TestSearchesListInOrder checks that a search lists predictions of one batch in list order, whatever the order
// of submission.
func TestSearchesListInOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		var list []prediction.Submission
		for i := range 24 {
			other := d.newAgent(t, fmt.Sprint("Agent ", i))
			list = append(list, d.submission(func(s *prediction.Submission) { s.Agent = other }))
		}
		for i, o := range d.PublishBatch(t.Context(), list) {
			if o.Err != nil {
				t.Fatalf("submission %d: got %v", i, o.Err)
			}
		}
		listed := func(f prediction.Filter) (ids []string) {
			f.Limit = len(list)
			records, _, err := prediction.Store{}.List(t.Context(), db.Reader, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				ids = append(ids, r.ID.String())
			}
			return ids
		}
		all, found := listed(prediction.Filter{}), listed(prediction.Filter{Words: list[0].Draft.Title})
		if len(all) != len(list) || !slices.Equal(all, found) {
			t.Errorf("listed %v\nfound %v", all, found)
		}
	})
}

// TestPanicConcernsItsSubmissionAlone checks that the node continues to publish after a panic.
func TestPanicConcernsItsSubmissionAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		_, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) {
			s.Render = func(prediction.Receipt) ([]byte, error) { panic("broken") }
		}))
		if err == nil || codeOf(err) != "internal" {
			t.Errorf("%v", err)
		}
		if _, err := d.Publish(t.Context(), d.submission(nil)); err != nil {
			t.Error(err)
		}
		if n, err := db.NewSelect().Table("predictions").Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d predictions, %v", n, err)
		}
	})
}
