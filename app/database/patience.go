package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// lockPatience is how long a statement of the service waits for a lock on Postgres, such as one
// that an ALTER TABLE holds. It is half a second, because a publication may first wait for the
// previous batch and must be answered within about a second. It is long enough for the locks of the
// service itself: settlement holds the locks of one chunk for a few hundred milliseconds.
const lockPatience = 500 * time.Millisecond

type patientKey struct{}

// Patient returns a context whose statements wait for locks until the context ends. It is for jobs,
// because no caller waits for them. Until DB.Start, as in commands and migrations, every context is
// patient.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

// Impatient undoes Patient. It is for work that a job shares with requests.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, false)
}

// boundedConn is a connection to Postgres that bounds how long the statements of requests wait for
// locks. The bound can't be a startup parameter, because PgBouncer refuses those it doesn't know.
//
// On a direct connection the bound is a setting of the connection. Setting it costs a round trip
// when the connection passes from a job to a request or back. Behind a pooler, each transaction may
// run on another connection to Postgres, so each sets the bound. BEGIN carries the setting in the
// same round trip, and so does a statement outside a transaction that returns no rows. A query
// outside a transaction becomes a transaction, which costs two round trips. These transactions also
// bound their statements, because a pooler isn't asked to cancel one; see guard.
type boundedConn struct {
	*pgxConn
	breaker *Breaker
	bound   state    // of a direct connection
	brief   *briefTx // nil outside a transaction of InBriefTx
}

// pgxConn is an alias, because an embedded stdlib.Conn would be a field Conn that hides its method
// Conn.
type pgxConn = stdlib.Conn

// state says whether a connection has the bound.
type state int

const (
	unset   state = iota // the connection has the setting of the server or of DATABASE_URL
	set                  // the connection has lockPatience
	unknown              // the statement that changes the setting got no answer
)

var setLockTimeout = fmt.Sprintf("SET lock_timeout = %d", lockPatience.Milliseconds())

const resetLockTimeout = "RESET lock_timeout"

// abandonedFor is how long after the end of its context a statement behind a pooler may still run.
const abandonedFor = time.Second

// setLocal returns the statements that bound a transaction behind a pooler.
func setLocal(ctx context.Context) string {
	bounds := fmt.Sprintf("SET LOCAL lock_timeout = %d", lockPatience.Milliseconds())
	if ends, ok := ctx.Deadline(); ok {
		bounds += fmt.Sprintf("; SET LOCAL statement_timeout = %d", (max(time.Until(ends), 0) + abandonedFor).Milliseconds())
	}
	return bounds
}

// Pgx returns the Postgres connection below conn, which is the argument of a function that
// sql.Conn.Raw calls.
func Pgx(conn any) *pgx.Conn { return conn.(*boundedConn).Conn() }

// impatient reports whether the statements of a context wait for a lock at most for lockPatience.
func (c *boundedConn) impatient(ctx context.Context) bool {
	patient, _ := ctx.Value(patientKey{}).(bool)
	return c.breaker.serving.Load() && !patient
}

// pooledAlone reports whether a statement behind a pooler needs the bound and is in no transaction
// that has set it.
func (c *boundedConn) pooledAlone(ctx context.Context) bool {
	return c.breaker.pooled.Load() && c.idle() && c.impatient(ctx)
}

// idle reports whether the connection is in no transaction.
func (c *boundedConn) idle() bool { return c.Conn().PgConn().TxStatus() == 'I' }

// prepare sets or resets the bound of a direct connection, if the context needs the other state.
func (c *boundedConn) prepare(ctx context.Context) error {
	want, statement := unset, resetLockTimeout
	if c.impatient(ctx) {
		want, statement = set, setLockTimeout
	}
	if c.bound == want || c.breaker.pooled.Load() || !c.idle() {
		return nil
	}
	c.bound = unknown
	if _, err := c.Conn().Exec(ctx, statement); err != nil {
		return retriable(fmt.Errorf("set how long to wait for locks: %w", err))
	}
	c.bound = want
	return nil
}

// retriable lets database/sql try another connection if nothing was sent on this one.
func retriable(err error) error {
	if pgconn.SafeToRetry(err) {
		return driver.ErrBadConn
	}
	return err
}

// BeginTx implements driver.ConnBeginTx.
func (c *boundedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if isBrief(ctx) && options == (driver.TxOptions{}) && !c.Conn().IsClosed() {
		c.brief = &briefTx{ctx: ctx, conn: c}
		return c.brief, nil
	}
	if !c.pooledAlone(ctx) {
		return c.pgxConn.BeginTx(ctx, options)
	}
	if options == (driver.TxOptions{}) {
		return c.begin(ctx)
	}
	tx, err := c.pgxConn.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	if _, err := c.Conn().Exec(ctx, setLocal(ctx), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// begin begins a transaction and sets its bound, in one round trip.
func (c *boundedConn) begin(ctx context.Context) (*boundedTx, error) {
	if c.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	tx, err := c.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN; " + setLocal(ctx)})
	if err != nil {
		return nil, retriable(err)
	}
	return &boundedTx{ctx, tx}, nil
}

// boundedTx is a transaction behind a pooler.
type boundedTx struct {
	ctx context.Context
	tx  pgx.Tx
}

// Commit implements driver.Tx.
func (t *boundedTx) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback implements driver.Tx.
func (t *boundedTx) Rollback() error { return t.tx.Rollback(t.ctx) }

// ExecContext implements driver.ExecerContext.
func (c *boundedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if len(args) > 0 && args[0].Value == any(postponed{}) {
		return c.postpone(ctx, query, args)
	}
	if err := c.catchUp(ctx); err != nil {
		return nil, err
	}
	if !c.pooledAlone(ctx) {
		return c.pgxConn.ExecContext(ctx, query, args)
	}
	if len(args) == 0 { // Postgres runs all statements as one transaction and returns the count of the last
		return c.pgxConn.ExecContext(ctx, setLocal(ctx)+"; "+query, nil)
	}
	tx, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	res, err := c.pgxConn.ExecContext(ctx, query, args)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return res, tx.Commit()
}

// QueryContext implements driver.QueryerContext.
func (c *boundedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if len(args) == 1 {
		if p, ok := args[0].Value.(*part); ok {
			return c.rowsOf(ctx, p)
		}
	}
	if err := c.catchUp(ctx); err != nil {
		return nil, err
	}
	if !c.pooledAlone(ctx) {
		return c.pgxConn.QueryContext(ctx, query, args)
	}
	tx, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.pgxConn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return &boundedRows{rows.(*stdlib.Rows), tx}, nil
}

// boundedRows are the rows of a query behind a pooler that runs in a separate transaction.
type boundedRows struct {
	*stdlib.Rows
	tx *boundedTx
}

// Next implements driver.Rows. It commits after the last row, so that a failed commit is an error of
// the rows. Many callers ignore the error of Close.
func (r *boundedRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if errors.Is(err, io.EOF) {
		if failed := r.commit(); failed != nil {
			return failed
		}
	}
	return err
}

// Close implements driver.Rows.
func (r *boundedRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		return errors.Join(err, r.tx.Rollback())
	}
	return r.commit()
}

// commit commits the transaction, unless it has ended already.
func (r *boundedRows) commit() error {
	if err := r.tx.Commit(); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}
