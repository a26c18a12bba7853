package settlement

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// atMoment calls then after the query that takes the snapshot of AtOnce.
type atMoment struct{ then func() }

func (h atMoment) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h atMoment) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "FROM market_outcomes LIMIT 1") {
		h.then()
	}
}

// TestAtOnceEndsItsSnapshot checks that no transaction stays open if the settlements can't be released, if read
// fails and if it panics. An open one would keep the database from removing old rows.
func TestAtOnceEndsItsSnapshot(t *testing.T) {
	t.Parallel()
	failed := errors.New("can't read")
	for name, c := range map[string]struct {
		cancels bool // before the transaction that holds off the settlements commits
		read    func() error
		want    error
	}{
		"read":      {read: func() error { return nil }},
		"no commit": {cancels: true, read: func() error { return nil }, want: context.Canceled},
		"error":     {read: func() error { return failed }, want: failed},
		"panic":     {read: func() error { panic(failed) }, want: failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				moments := 0
				hooked := &database.DB{DB: db.DB, Reader: db.Reader.WithQueryHook(atMoment{func() {
					moments++
					if c.cancels {
						cancel()
					}
				}}), Kind: db.Kind, Breaker: db.Breaker}
				err := func() (err error) {
					defer func() {
						if p := recover(); p != nil {
							err = p.(error)
						}
					}()
					return AtOnce(ctx, hooked, time.Now, func(context.Context, bun.IDB, time.Time) error { return c.read() })
				}()
				if !errors.Is(err, c.want) || moments != 1 {
					t.Fatalf("%v after %d snapshots, want %v after 1", err, moments, c.want)
				}
				// The pool ends a cancelled transaction in the background.
				for deadline := time.Now().Add(10 * time.Second); db.Reader.Stats().InUse > 0; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("the transaction of the snapshot is still open")
					}
				}
			})
		})
	}
}

// TestAtOnceNamesItsMoment checks that the snapshot of AtOnce holds exactly the ledger entries created up to its moment,
// although one settlement ends while AtOnce waits for the ledger, and another one while the snapshot is read.
func TestAtOnceNamesItsMoment(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		before, after := w.closing("1", "", 1, 4), w.closing("2", "", 5, 8)
		var passed atomic.Int64 // in milliseconds; each look at the clock takes one
		begin := w.clock
		now := func() time.Time { return begin.Add(time.Duration(passed.Add(1)) * time.Millisecond) }
		s := New(Options{DB: db, Interval: time.Minute, MinLiquidity: 1000, Now: now})
		observed := w.observe(after)
		if changed, err := s.decide(t.Context(), before, before.Verdict(), nil); err != nil || !changed {
			t.Fatal("not decided:", err)
		}

		begun, goOn := make(chan struct{}), make(chan struct{})
		settling := background(func() error {
			return s.inLedger(context.Background(), func(ctx context.Context, tx bun.Tx) error {
				close(begun)
				<-goOn
				return (&applyRun{service: s, market: before.ID}).step(ctx, tx)
			})
		})
		<-begun
		var at time.Time
		var seen []Entry
		reading := background(func() error {
			return AtOnce(context.Background(), db, now, func(ctx context.Context, tx bun.IDB, moment time.Time) error {
				at = moment
				if err := s.AfterMarkets(ctx, observed); err != nil {
					return err
				}
				return tx.NewSelect().Model(&seen).Scan(ctx)
			})
		})
		if database.IsPostgres(db) {
			w.waiting(1)
		}
		close(goOn)
		w.must(settling())
		w.must(reading())

		var all []Entry
		w.must(db.NewSelect().Model(&all).Scan(t.Context()))
		if len(seen) != 4 || len(all) != 8 {
			t.Fatalf("the snapshot holds %d entries of %d, want 4 of 8", len(seen), len(all))
		}
		inside := map[uuid.UUID]bool{}
		for _, e := range seen {
			inside[e.ID] = true
		}
		for _, e := range all {
			if inside[e.ID] == e.CreatedAt.After(at) {
				t.Errorf("an entry of %s is in the snapshot of %s: %t", e.CreatedAt, at, inside[e.ID])
			}
		}
	})
}
