package update_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/update"
)

var (
	start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	store update.Store
	ada   = uuid.MustParse("01a1fc16-f338-7b64-ab79-9bf6523b6713")
	bob   = uuid.MustParse("01a1fc16-f338-7b64-ab79-9bf6523b6714")
)

func clock() time.Time { return start }

// settled returns an update of an agent's prediction.
func settled(agent uuid.UUID, at time.Time) update.Update {
	confidence := 0.7
	return update.Update{Type: update.PredictionSettled, At: at, Ref: update.Ref{
		Prediction: &update.Prediction{ID: database.NewID(at), AgentID: agent, Status: "resolved", Confidence: &confidence},
	}}
}

// moved returns an update of a market with the given id.
func moved(id string, at time.Time) update.Update {
	return update.Update{Type: update.MarketMoved, At: at, Ref: update.Ref{Market: &update.Market{ID: id}}}
}

func record(t *testing.T, db *database.DB, list ...update.Update) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return update.Record(ctx, tx, list...) })
	if err != nil {
		t.Fatal(err)
	}
}

func tick(t *testing.T, db *database.DB) {
	t.Helper()
	if err := update.NewSequencer(db, clock).Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// names lists the markets of all updates after a number, as streams read them.
func names(t *testing.T, db *database.DB, after int64) (ids []string, last int64) {
	t.Helper()
	list, _, err := store.Chunks(t.Context(), db.Reader, after, 1000)
	if err != nil {
		t.Fatal(err)
	}
	last = after
	for i := range list {
		if list[i].Seq <= last {
			t.Errorf("number %d after %d", list[i].Seq, last)
		}
		last = list[i].Seq
		ids = append(ids, list[i].Ref.Market.ID)
	}
	return ids, last
}

func TestLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := generation.NewWatcher(db.Reader, nil)
		before := w.Stamp()
		tick(t, db)
		record(t, db, settled(ada, start), moved("1", start), settled(bob, start))
		record(t, db, update.Update{Type: update.PredictionCreated, At: start.Add(time.Second), Ref: settled(ada, start).Ref})
		if head, err := store.Head(t.Context(), db.Reader); err != nil || head != (update.Head{}) {
			t.Errorf("%+v, %v: numbers were given before the sequencer ran", head, err)
		}
		tick(t, db)
		tick(t, db)
		head, err := store.Head(t.Context(), db.Reader)
		if err != nil || head != (update.Head{Last: 4}) {
			t.Fatalf("%+v, %v", head, err)
		}
		if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, []generation.Topic{generation.Updates}) {
			t.Errorf("%v: the topic did not move", err)
		}
		span := update.Span{UpTo: head.Last}
		own, err := store.Own(t.Context(), db.Reader, ada, span, 10)
		if err != nil || len(own) != 1 || own[0].Seq != 1 || *own[0].Ref.Prediction.Confidence != 0.7 || !own[0].At.Equal(start) {
			t.Errorf("%+v, %v", own, err)
		}
		shared, err := store.Shared(t.Context(), db.Reader, span, 10)
		if err != nil || len(shared) != 1 || shared[0].Seq != 2 || shared[0].Ref.Market.ID != "1" {
			t.Errorf("%+v, %v", shared, err)
		}
		all, oldest, err := store.Chunks(t.Context(), db.Reader, 1, 10)
		if err != nil || oldest != 1 || len(all) != 3 || all[0].Seq != 2 || all[2].Type != update.PredictionCreated {
			t.Errorf("%+v, %d, %v", all, oldest, err)
		}
	})
}

// TestLargeTransaction checks that more updates than fit in a row of the outbox stay in their order.
func TestLargeTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var list []update.Update
		var want []string
		for i := range 1000 {
			want = append(want, fmt.Sprint(i))
			list = append(list, moved(want[i], start.Add(time.Duration(i)*time.Millisecond)))
		}
		record(t, db, list...)
		tick(t, db)
		if got, last := names(t, db, 0); !slices.Equal(got, want) || last != 1000 {
			t.Errorf("%d of %d, up to %d", len(got), len(want), last)
		}
	})
}

// TestEarlierIDCommitsLater checks that a reader that has seen a later id gets the earlier id next, if that
// one commits later.
func TestEarlierIDCommitsLater(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	slow, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Rollback()
	if err := update.Record(t.Context(), slow, moved("earlier", start)); err != nil {
		t.Fatal(err)
	}
	record(t, db, moved("later", start.Add(time.Second)))
	tick(t, db)
	ids, seen := names(t, db, 0)
	if !slices.Equal(ids, []string{"later"}) {
		t.Fatalf("before the commit: %q", ids)
	}
	if err := slow.Commit(); err != nil {
		t.Fatal(err)
	}
	tick(t, db)
	if ids, _ := names(t, db, seen); !slices.Equal(ids, []string{"earlier"}) {
		t.Errorf("after the commit: %q", ids)
	}
}

// TestReaderMissesNothing checks that a reader misses nothing while writers overlap and two sequencers run.
// The reader always continues after the last number it saw.
func TestReaderMissesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const writers, each = 6, 40
		var running, sequencers sync.WaitGroup
		for w := range writers {
			running.Go(func() {
				for i := range each {
					err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						if err := update.Record(ctx, tx, moved(fmt.Sprint(w, "/", i), time.Now())); err != nil || i%3 > 0 {
							return err
						}
						_, err := tx.ExecContext(ctx, map[bool]string{true: "SELECT pg_sleep(0.005)", false: "SELECT 1"}[db.Kind == database.Postgres])
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		ctx, stop := context.WithCancel(t.Context())
		for range 2 {
			sequencers.Go(func() {
				for ctx.Err() == nil {
					if err := update.NewSequencer(db, time.Now).Tick(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen, last := map[string]int{}, int64(0)
		read := func() {
			var ids []string
			ids, last = names(t, db, last)
			for _, id := range ids {
				seen[id]++
			}
		}
		done := make(chan struct{})
		go func() { running.Wait(); close(done) }()
		for over := false; !over; {
			select {
			case <-done:
				over = true
			default:
				read()
			}
		}
		stop()
		sequencers.Wait()
		tick(t, db)
		read()
		if len(seen) != writers*each || last != writers*each {
			t.Errorf("%d updates up to %d, want %d", len(seen), last, writers*each)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was read %d times", id, n)
			}
		}
	})
}

// TestSequencerCrashes checks that the work of an interrupted sequencer transaction is done again.
func TestSequencerCrashes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		record(t, db, moved("1", start), settled(ada, start))
		crash := errors.New("crash")
		s := update.NewSequencer(db, clock)
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return errors.Join(s.Number(ctx, tx), crash) })
		if err.Error() != crash.Error() {
			t.Fatal(err)
		}
		if list, _, err := store.Chunks(t.Context(), db.Reader, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v: read before the commit", list, err)
		}
		tick(t, db)
		list, _, err := store.Chunks(t.Context(), db.Reader, 0, 10)
		if err != nil || len(list) != 2 || list[0].Seq != 1 || list[1].Seq != 2 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestFailover checks that the numbers which a lost primary gave are not given again by the replica that was promoted
// without them. A reader that has seen them would miss the other updates with the same numbers.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := dbtest.StartPostgres(t)
	db := dbtest.OpenAt(t, primary.URL("postgres"))
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	record(t, db, moved("kept", start))
	tick(t, db)
	replica := primary.StartReplica(t)
	replica.Stop(dbtest.Fast)
	record(t, db, moved("lost", start))
	tick(t, db)
	if ids, last := names(t, db, 0); !slices.Equal(ids, []string{"kept", "lost"}) || last != 2 {
		t.Fatalf("the primary has %q up to %d", ids, last)
	}
	primary.Stop(dbtest.Crash)
	replica.Start()
	db = dbtest.OpenAt(t, replica.URL("postgres"))
	if _, err := db.ExecContext(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"new", "newer"} {
		record(t, db, moved(name, start))
		tick(t, db)
		head, err := store.Head(t.Context(), db.Reader)
		if first := start.UnixMicro() + 1; err != nil || head.Last != first+int64(i) || head.Deleted != first-1 {
			t.Errorf("after %q: %+v, %v; want the last number %d", name, head, err, first+int64(i))
		}
	}
	if ids, _ := names(t, db, 0); !slices.Equal(ids, []string{"new", "newer"}) {
		t.Errorf("streams read %q", ids)
	}
}

// TestRolledBackUpdateIsNone checks that an update is rolled back with its change.
func TestRolledBackUpdateIsNone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		refused := errors.New("refused")
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return errors.Join(update.Record(ctx, tx, moved("1", start)), refused)
		})
		if err.Error() != refused.Error() {
			t.Fatal(err)
		}
		tick(t, db)
		if ids, _ := names(t, db, 0); len(ids) != 0 {
			t.Errorf("%q", ids)
		}
	})
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		old := start.Add(-update.KeptForAgents - time.Minute)
		record(t, db, settled(ada, old), moved("old", old), settled(ada, start), moved("new", start))
		tick(t, db)
		prune := func(now time.Time) {
			t.Helper()
			if more, err := store.Prune(t.Context(), db, now); err != nil || more {
				t.Fatalf("%t, %v", more, err)
			}
		}
		prune(start)
		head, err := store.Head(t.Context(), db.Reader)
		if err != nil || head != (update.Head{Last: 4, Deleted: 2}) {
			t.Errorf("%+v, %v", head, err)
		}
		span := update.Span{UpTo: 4}
		own, err := store.Own(t.Context(), db.Reader, ada, span, 10)
		if err != nil || len(own) != 1 || own[0].Seq != 3 {
			t.Errorf("%+v, %v", own, err)
		}
		shared, err := store.Shared(t.Context(), db.Reader, span, 10)
		if err != nil || len(shared) != 1 || shared[0].Seq != 4 {
			t.Errorf("%+v, %v", shared, err)
		}
		if list, _, err := store.Chunks(t.Context(), db.Reader, 0, 10); err != nil || len(list) != 4 {
			t.Errorf("streams: %d, %v; want 4", len(list), err)
		}
		prune(start.Add(update.KeptForStreams + time.Second))
		if list, _, err := store.Chunks(t.Context(), db.Reader, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("streams after a day: %d, %v", len(list), err)
		}
		if head, err := store.Head(t.Context(), db.Reader); err != nil || head.Deleted != 2 {
			t.Errorf("%+v, %v", head, err)
		}
	})
}
