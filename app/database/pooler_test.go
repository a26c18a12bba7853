package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestPooler checks everything that a node does with a connection through PgBouncer in transaction
// mode: migrations by many nodes at once, statements with rows, planned queries and locks.
func TestPooler(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, database.Postgres)
	address := dbtest.StartPooler(t, direct, "transaction")
	db := dbtest.OpenAt(t, address)
	if !db.Pooled() || dbtest.OpenAt(t, direct).Pooled() {
		t.Fatal("Pooled is wrong")
	}
	if _, err := db.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			node, err := database.Open(context.Background(), address)
			if err != nil {
				t.Error(err)
				return
			}
			defer node.Close()
			if _, err := node.Migrate(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	_ = within(t, "migrating", func(context.Context) error { nodes.Wait(); return nil })
	// No advisory lock must be left on a connection of the pooler.
	var locks int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&locks); err != nil || locks != 0 {
		t.Errorf("%d locks are left, want 0: %v", locks, err)
	}
	type row struct {
		Name string `bun:",type:text"`
		N    int64  `bun:",type:bigint"`
	}
	var work sync.WaitGroup
	for i := range 16 { // more than the pooler has connections
		work.Go(func() {
			for n := range 20 {
				name := fmt.Sprintf("%d/%d", i, n)
				var stored []row
				if err := database.ScanRows(t.Context(), db, "INSERT INTO settings (name, value) SELECT name, n::text FROM v RETURNING name, value::bigint AS n", []row{{name, int64(n)}}, &stored); err != nil {
					t.Error(err)
				}
				var got []row
				if err := database.ScanRows(t.Context(), db, "SELECT v.name, s.value::bigint AS n FROM v JOIN settings AS s ON s.name = v.name", []row{{name, 0}}, &got); err != nil || len(got) != 1 || got[0].N != int64(n) {
					t.Errorf("%s: %v, %v", name, got, err)
				}
				p := database.NewPlanned(db)
				var value string
				q := db.NewSelect().Table("settings").Column("value").Where("name = ?", p.Value(name))
				if err := p.Scan(t.Context(), q, &value); err != nil || value != fmt.Sprint(n) {
					t.Errorf("%s: %q, %v", name, value, err)
				}
			}
		})
	}
	_ = within(t, "working", func(context.Context) error { work.Wait(); return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SELECT pg_sleep(60)"); !database.Unavailable(err) {
		t.Errorf("cancelling a query: %v", err)
	}
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return database.CommitLater(ctx, tx) })
	if err != nil {
		t.Error(err)
	}
	// It is refused as a replica, because statements are planned if the primary isn't pooled.
	primary := dbtest.OpenAt(t, direct)
	if err := primary.AddReplica(address); err != nil {
		t.Fatal(err)
	}
	if err := primary.Replica.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "DATABASE_REPLICA_URL leads through a connection pooler") {
		t.Errorf("a replica behind a pooler: %v", err)
	}
}

// TestStatementPooler checks that a pooler without transactions is refused at the start, with the
// reason.
func TestStatementPooler(t *testing.T) {
	t.Parallel()
	address := dbtest.StartPooler(t, dbtest.URL(t, database.Postgres), "statement")
	_, err := database.Open(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), "pool_mode=transaction") {
		t.Errorf("opened: %v", err)
	}
}

// TestReplicaBehindPooler checks that a replica is refused for its pooler only if it has one. A connection that fails
// doesn't tell.
func TestReplicaBehindPooler(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, database.Postgres)
	for _, c := range []struct {
		name, address string
		closed        bool
		fails, pooled bool
	}{
		{name: "direct", address: direct},
		{name: "pooled", address: dbtest.StartPooler(t, direct, "transaction"), fails: true, pooled: true},
		{name: "closed", address: direct, closed: true, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), c.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
			if c.closed {
				if err := conn.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			err = database.RefusePooler(t.Context(), conn)
			if (err != nil) != c.fails || errors.Is(err, database.ErrPooledReplica) != c.pooled {
				t.Errorf("fails %t, for a pooler %t; got %v", c.fails, c.pooled, err)
			}
		})
	}
}
