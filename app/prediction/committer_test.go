package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// submission is one of the desk's agent, answered with its id.
func (d *desk) submission(change func(*prediction.Submission)) prediction.Submission {
	s := prediction.Submission{Agent: d.agent, Draft: draft(nil), Render: func(r prediction.Receipt) ([]byte, error) {
		return []byte(r.Record.ID.String()), nil
	}}
	if change != nil {
		change(&s)
	}
	return s
}

// newAgent registers one more agent.
func (d *desk) newAgent(t *testing.T, name string) agent.Agent {
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

// occupy takes every connection that publishing could use, until the returned function is
// called.
func (d *desk) occupy(t *testing.T) (release func()) {
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

// until spins until a condition holds.
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

// statements records what a database is asked.
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

// TestBatchesMakeTheSameStatements: a batch of any size makes one statement of each kind.
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
		for _, size := range []int{8, 1, 8, 64} { // the first makes the tallies
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
					t.Fatalf("%d of %d: %v", i, size, o.Err)
				}
			}
			for _, query := range seen.list { // on Postgres the updates are part of the statement that stores predictions
				if strings.Contains(query, "update_outbox") && db.Kind == database.Postgres && !strings.Contains(query, "INSERT INTO predictions") {
					t.Errorf("updates have a statement of their own: %s", query)
				}
			}
			if len(seen.list) > 22 {
				t.Errorf("%d statements for %d submissions:\n%s", len(seen.list), size, strings.Join(seen.list, "\n"))
			}
			made[size] = len(seen.list)
		}
		// 64 submissions ask for one thing more than 1: the market that a title names.
		if made[8] != made[64] || made[1] > made[8] || made[1] < made[8]-1 {
			t.Errorf("statements by submissions: %v", made)
		}
	})
}

// TestBadRowFailsAlone: the database refuses one of a batch; all others are published.
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
					s.Draft.MarketID = "6" // refused: it is closed
				case 5:
					s.Draft.Thesis = "a NUL: \x00" // no edge lets this through
				}
			}))
		}
		for i, o := range d.PublishBatch(t.Context(), list) {
			if want := map[int]string{2: "market_closed", 5: "internal"}[i]; codeOf(o.Err) != want {
				t.Errorf("%d: %v, want %q", i, o.Err, want)
			}
		}
		if d.stored(t) != 7 {
			t.Errorf("%d stored", d.stored(t))
		}
		if n, err := db.NewSelect().Table("idempotency_keys").Count(t.Context()); err != nil || n != 7 {
			t.Errorf("%d keys, %v", n, err)
		}
	})
}

// TestRepeatsInOneBatch: they get the first answer, or are refused for another body; a first
// request that is refused leaves the key to the second.
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
			t.Errorf("%d stored", d.stored(t))
		}
	})
}

// TestRepeatsInOneBatchAreWeighed: predictions of one batch count as earlier ones, and each
// is later than the one before.
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
		for i, want := range []string{"", "2nd prediction on this event", "3rd prediction on this event"} {
			r := receipts[i]
			if !strings.Contains(strings.Join(r.Warnings, " "), want) || !r.Record.CreatedAt.Equal(start.Add(time.Duration(i)*time.Microsecond)) {
				t.Errorf("%d: at %s, %q", i, r.Record.CreatedAt, r.Warnings)
			}
		}
		tally, err := prediction.Store{}.Tally(t.Context(), db, d.agent.ID)
		if err != nil || tally.Total != 3 || tally.Open != 3 || tally.PublicationDays != 1 || !tally.LastPublishedAt.Equal(receipts[2].Record.CreatedAt) {
			t.Errorf("%+v, %v", tally, err)
		}
		var count, changed int
		err = db.NewRaw("SELECT predictions, CASE WHEN changed THEN 1 ELSE 0 END FROM market_consensus WHERE market_id = '1'").Scan(t.Context(), &count, &changed)
		if err != nil || count != 3 || changed != 1 {
			t.Errorf("%d predictions on the market, changed %d, %v", count, changed, err)
		}
	})
}

// TestCancelledSubmissionLeavesTheQueue: it isn't stored, and makes room at once.
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
		until(t, "the first begins a batch", func() bool { n, _ := d.Waiting(); return n == 0 && d.Running() })
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
			t.Errorf("%d wait, of %d bytes", n, bytes)
		}
		release()
		if err := <-first; err != nil || d.stored(t) != 1 {
			t.Errorf("%v, %d stored", err, d.stored(t))
		}
	})
}

// TestFullQueueRefusesAtOnce: by number and by bytes; those in it are published afterwards.
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
			publish := func() {
				_, err := d.Publish(t.Context(), d.submission(func(s *prediction.Submission) { s.Draft.Thesis = strings.Repeat("long ", 2000) }))
				errs <- err
			}
			go publish()
			until(t, "the first begins a batch", func() bool { n, _ := d.Waiting(); return n == 0 && d.Running() })
			for i := range c.fit {
				go publish()
				until(t, "one more waits", func() bool { n, _ := d.Waiting(); return n == i+1 })
			}
			for range 3 {
				go publish()
				if err := <-errs; codeOf(err) != "unavailable" || problem.As(err).RetryAfter <= 0 {
					t.Errorf("a full queue: %v", err)
				}
			}
			if _, bytes := d.Waiting(); bytes > c.bytes {
				t.Errorf("%d bytes wait", bytes)
			}
			release()
			for range 1 + c.fit {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if d.stored(t) != 1+c.fit {
				t.Errorf("%d stored", d.stored(t))
			}
		})
	}
}

// TestLostConnectionStoresNothing: the connection breaks in the middle of a batch. Every
// submission is refused as unavailable, nothing is stored, and the next batch works.
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
			t.Errorf("%q, %v", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d stored", d.stored(t))
	}
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestFailedCommitStoresNothing: the commit itself fails, as on a full disk.
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
			t.Errorf("%q, %v", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d stored", d.stored(t))
	}
	if _, err := db.ExecContext(t.Context(), "DROP TRIGGER full_disk ON results"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestFullDiskStoresNothing: SQLite finds no room for another page.
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
			t.Errorf("%q, %v", o.Answer, o.Err)
		}
	}
	if d.stored(t) != 0 {
		t.Errorf("%d stored", d.stored(t))
	}
	limit(1 << 20)
	if _, _, err := d.publish(t, draft(nil)); err != nil || d.stored(t) != 1 {
		t.Errorf("afterwards: %v, %d stored", err, d.stored(t))
	}
}

// TestLockedAgentDelaysNoOther: another transaction holds an agent's tally. Its submissions
// wait; those of others, and of agents that never published, don't.
func TestLockedAgentDelaysNoOther(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	d.HeldWait(time.Minute)
	other := d.newAgent(t, "Grace")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	d.holdTally(t, tx)
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
		t.Errorf("%v, %d stored", err, d.stored(t))
	}
}

// node returns a second publisher, which has separate connections.
func (d *desk) node(t *testing.T, url string, ahead time.Duration) *prediction.Publisher {
	t.Helper()
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return prediction.NewPublisher(db, func() time.Time { return d.now().Add(ahead) }, time.Hour, "https://pulse.example")
}

// TestNodesPublishAKeyOnce: requests with one key reach two nodes at once, one of them for
// an agent that never published. All get the same answer.
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
		t.Errorf("%d stored", d.stored(t))
	}
}

// TestIDsFollowCommits: an agent publishes on two nodes whose clocks differ by an hour.
// A prediction that is acknowledged before another is sent has the lower id.
func TestIDsFollowCommits(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := open(t, db)
	nodes := []*prediction.Publisher{d.Publisher, d.node(t, url, -time.Hour)}
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
					t.Errorf("%s is acknowledged after %s, %v", answer, before, err)
				}
				mu.Lock()
				last, n = max(last, string(answer)), n+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if d.stored(t) != n || n != 80 {
		t.Errorf("%d of %d stored", d.stored(t), n)
	}
}

// TestStopLosesNothing: Stop under load answers everything. What was acknowledged is stored,
// and nothing else.
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
			t.Errorf("other predictions are stored than acknowledged, %v", err)
		}
	})
}

// TestSearchesListInOrder: what is published together is found in the order of the list,
// whatever order it arrived in.
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
				t.Fatalf("%d: %v", i, o.Err)
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

// TestPanicConcernsItsSubmissionAlone: the node goes on publishing.
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
