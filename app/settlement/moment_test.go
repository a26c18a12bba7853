package settlement

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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
					return AtOnce(ctx, hooked, func(context.Context, bun.IDB) error { return c.read() })
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
