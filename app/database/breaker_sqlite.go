package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// commandPatience is how long a transaction of a command waits for another process that writes.
	// servicePatience is the same for the service, which waits less because its callers wait too.
	commandPatience = 5 * time.Second
	servicePatience = 700 * time.Millisecond
)

// inWriteTx runs fn in a transaction on the one connection that writes. If another process keeps
// the write lock, the first transaction that times out opens the breaker. All transactions that
// wait for the connection then fail at once instead of timing out one after the other.
func (db *DB) inWriteTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	bounded, cancel, err := db.Breaker.bound(ctx)
	if err != nil {
		return err
	}
	conn, err := db.DB.Conn(bounded)
	cancel()
	if err != nil && ctx.Err() == nil {
		return errors.Join(ErrUnanswered, err)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	begun := false
	err = conn.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		begun = true
		return fn(ctx, tx)
	})
	if !begun && isBusy(err) {
		db.Breaker.open(fmt.Errorf("another process keeps the write lock: %w", err))
		db.Breaker.probeUntilBack()
	}
	return err
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// probeUntilBack probes until the breaker is closed.
func (b *Breaker) probeUntilBack() {
	b.running.Go(func() {
		pause := time.NewTicker(probePause)
		defer pause.Stop()
		for {
			select {
			case <-b.Back():
				return
			case <-b.done:
				return
			case <-pause.C:
			}
			if _, err := b.probe.probe(context.Background()); !isBusy(err) {
				b.close()
			}
		}
	})
}

// sqliteProbe takes the write lock and releases it.
type sqliteProbe struct{ name string }

func (p *sqliteProbe) probe(ctx context.Context) (at time.Time, err error) {
	db, err := sql.Open("sqlite", p.name)
	if err != nil {
		return at, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return at, err
	}
	return at, tx.Rollback()
}

func (p *sqliteProbe) drop() {}
