package demo

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

var firstLook = time.Date(2026, 11, 21, 2, 20, 0, 0, time.UTC)

// TestSeed checks one seeded database of each kind.
func TestSeed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if marked, err := Marked(t.Context(), db); marked || err != nil {
			t.Fatalf("new database: got marked %v, %v", marked, err)
		}
		db = dbtest.OpenAt(t, seededURL(t, db.Kind))
		checkMarks(t, db)
		checkNumbers(t, db)
		checkSamples(t, db)
		checkBoard(t, db)
		checkEdges(t, db)
		checkLedger(t, db)
		before := digest(t, db)
		if err := Seed(t.Context(), db, firstLook.Add(3*day)); err != nil {
			t.Fatalf("second Seed: got %v", err)
		}
		if digest(t, db) != before {
			t.Error("the second Seed changed the database")
		}
	})
}

// TestSeedAfterAStop stops a Seed between a step and the work that follows it. The next Seed, days later, must
// give the same world as one that was never stopped. This also shows that the world depends only on its start.
func TestSeedAfterAStop(t *testing.T) {
	t.Parallel()
	whole, stopped := dbtest.OpenAt(t, seededURL(t, database.SQLite)), dbtest.Open(t, database.SQLite)
	if _, err := firstStart(t.Context(), stopped, firstLook); err != nil {
		t.Fatal(err)
	}
	r := newSeeding(stopped, firstLook)
	for step := range 50 {
		from := r.begin(step)
		if err := r.store(t.Context(), step, from); err != nil {
			t.Fatal(err)
		}
		if step < 49 {
			if err := r.follow(t.Context(), step, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if done, err := progress(t.Context(), stopped, settingSteps); done >= stepCount || err != nil {
		t.Fatalf("after the stop: got %d steps, %v", done, err)
	}
	if err := Seed(t.Context(), stopped, firstLook.Add(2*day)); err != nil {
		t.Fatal(err)
	}
	if a, b := digest(t, whole), digest(t, stopped); a != b {
		t.Errorf("the world differs after a stop: got digests %s and %s", a, b)
	}
}

func TestSeedFromTwoNodesAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	var nodes sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		db, err := database.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		nodes.Go(func() { errs[i] = Seed(t.Context(), db, firstLook.Add(time.Duration(i)*time.Second)) })
	}
	nodes.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := count(t, db, "FROM agents WHERE kind = 'agent'"); n != len(personas) {
		t.Errorf("got %d agents, want %d", n, len(personas))
	}
	if n := count(t, db, "FROM (SELECT DISTINCT thesis FROM prediction_records) AS t"); n != count(t, db, "FROM prediction_records") {
		t.Error("some predictions are stored twice")
	}
	checkMarks(t, db)
	checkLedger(t, db)
}

func TestSeedRefusesOtherData(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(t *testing.T, db *database.DB) error{
		"an agent": func(t *testing.T, db *database.DB) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Somebody"}, At: firstLook})
				return err
			})
		},
		"a market": func(t *testing.T, db *database.DB) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				return market.Store{}.Observe(ctx, tx, []market.Market{{ID: "1", Source: "polymarket", Question: "Q?", Title: "Q?", ObservedAt: firstLook}})
			})
		},
		"a start without the demo": func(t *testing.T, db *database.DB) error { return MarkLive(t.Context(), db, firstLook) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				if err := fill(t, db); err != nil {
					t.Fatal(err)
				}
				before := digest(t, db)
				if err := Seed(t.Context(), db, firstLook); !errors.Is(err, ErrNotEmpty) {
					t.Fatalf("Seed: got %v", err)
				}
				if marked, err := Marked(t.Context(), db); marked || err != nil || digest(t, db) != before {
					t.Errorf("after the refused Seed: got marked %v, %v", marked, err)
				}
			})
		})
	}
}

func BenchmarkSeed(b *testing.B) {
	for _, kind := range dbtest.Kinds {
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				db := dbtest.Open(b, kind)
				b.StartTimer()
				if err := Seed(b.Context(), db, firstLook); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
