package database

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
)

// InBriefTx is InTx with fewer round trips to Postgres. BEGIN goes along with the first statements, if fn begins with
// ScanReads. COMMIT goes along with the last one, if fn ends with ExecLast.
func (db *DB) InBriefTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	if db.Kind == Postgres && !isUnplanned(db) {
		ctx = context.WithValue(ctx, briefKey{}, true)
	}
	return db.InTx(ctx, fn)
}

type briefKey struct{}

func isBrief(ctx context.Context) bool { return ctx.Value(briefKey{}) != nil }

// message is what a connection sends to Postgres at once: statements, which Postgres runs one after the other until one
// fails.
type message struct {
	parts []*part
	sent  bool
}

// part is a statement of a message, and the rows that it found.
type part struct {
	*message
	text string
	args []any
	rows *keptRows
	err  error
}

func (m *message) add(text string, args []any) *part {
	p := &part{message: m, text: text, args: args}
	m.parts = append(m.parts, p)
	return p
}

// postponed marks the arguments of a statement that runs with COMMIT.
type postponed struct{}

// briefTx is a transaction of InBriefTx. It has begun once the connection is in a transaction.
type briefTx struct {
	ctx  context.Context
	conn *boundedConn
	last *message // goes along with COMMIT; nil if there is none
}

// Commit implements driver.Tx.
func (t *briefTx) Commit() error {
	c := t.conn
	defer func() { c.brief = nil }()
	if t.last == nil && c.idle() {
		return nil // nothing was sent
	}
	m := t.last
	if m == nil {
		m = &message{}
	}
	if err := c.run(t.ctx, m, true); err != nil {
		return errors.Join(err, t.end())
	}
	return nil
}

// Rollback implements driver.Tx.
func (t *briefTx) Rollback() error {
	defer func() { t.conn.brief = nil }()
	return t.end()
}

// end rolls back what was sent. If it can't, it closes the connection, and Postgres rolls back.
func (t *briefTx) end() error {
	conn := t.conn.Conn()
	if conn.IsClosed() || t.conn.idle() {
		return nil
	}
	if _, err := conn.Exec(t.ctx, "rollback"); err != nil {
		return errors.Join(err, conn.Close(t.ctx))
	}
	return nil
}

// failed returns the error of the first part that failed.
func (m *message) failed() error {
	for _, p := range m.parts {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// begins reports whether BEGIN must still be sent.
func (c *boundedConn) begins() bool { return c.brief != nil && c.idle() }

// catchUp sends what a brief transaction has not sent yet, before a statement that isn't part of a message.
func (c *boundedConn) catchUp(ctx context.Context) error {
	if err := c.runPostponed(ctx); err != nil || !c.begins() {
		return err
	}
	if _, err := c.Conn().Exec(ctx, "begin"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// runPostponed runs the statement that waits for COMMIT, if there is one, because it isn't the last one after all.
func (c *boundedConn) runPostponed(ctx context.Context) error {
	if c.brief == nil || c.brief.last == nil {
		return nil
	}
	m := c.brief.last
	c.brief.last = nil
	return c.run(ctx, m, false)
}

// run sends a message whose rows nobody reads. It returns the error of the first part that failed, too.
func (c *boundedConn) run(ctx context.Context, m *message, commit bool) error {
	if err := c.send(ctx, m, commit); err != nil {
		return err
	}
	return m.failed()
}

// send sends a message, after BEGIN if that was not sent, and before COMMIT if commit is set. Each part gets its rows or
// its error. The error of send is one that belongs to no part.
func (c *boundedConn) send(ctx context.Context, m *message, commit bool) error {
	m.sent = true
	conn := c.Conn()
	for _, p := range m.parts {
		if _, err := conn.Prepare(ctx, p.text, p.text); err != nil {
			return err
		}
	}
	batch, begin := &pgx.Batch{}, c.begins()
	if begin {
		batch.Queue("begin")
	}
	for _, p := range m.parts {
		batch.Queue(p.text, p.args...)
	}
	if commit {
		batch.Queue("commit")
	}
	results := conn.SendBatch(ctx, batch)
	err := m.receive(results, begin, commit)
	closed := results.Close()
	if m.failed() == nil {
		err = cmp.Or(err, closed) // otherwise closed is the error of the part
	}
	if err != nil || m.failed() != nil {
		c.forget(ctx, m)
	}
	return err
}

// receive reads the results of a message.
func (m *message) receive(results pgx.BatchResults, begin, commit bool) error {
	if begin {
		if _, err := results.Exec(); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	for _, p := range m.parts {
		rows, err := results.Query()
		if err == nil {
			p.rows, err = keep(rows)
		}
		if err != nil {
			p.err = err
			return nil // Postgres skips the rest
		}
	}
	if commit {
		tag, err := results.Exec()
		if err == nil && tag.String() == "ROLLBACK" {
			err = pgx.ErrTxCommitRollback
		}
		return err
	}
	return nil
}

// rowsOf returns the rows of a part. For the first part of a message, it sends the message.
func (c *boundedConn) rowsOf(ctx context.Context, p *part) (driver.Rows, error) {
	if !p.sent {
		if err := c.runPostponed(ctx); err != nil {
			return nil, err
		}
		if err := c.send(ctx, p.message, false); err != nil {
			return nil, err
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.rows, nil
}

// postpone keeps a statement for COMMIT. Outside a brief transaction, it runs the statement now.
func (c *boundedConn) postpone(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.brief == nil {
		args[0].Value = pgx.QueryExecModeCacheStatement
		return c.pgxConn.ExecContext(ctx, query, args)
	}
	if err := c.runPostponed(ctx); err != nil {
		return nil, err
	}
	values := make([]any, len(args)-1)
	for i := range values {
		values[i] = args[i+1].Value
	}
	c.brief.last = &message{}
	c.brief.last.add(query, values)
	return driver.ResultNoRows, nil
}

// forget drops the prepared statements of a message that failed, because a changed table may have made them useless.
func (c *boundedConn) forget(ctx context.Context, m *message) {
	for _, p := range m.parts {
		if c.Conn().IsClosed() {
			return
		}
		if err := c.Conn().Deallocate(ctx, p.text); err != nil {
			_ = c.Conn().Close(ctx) // database/sql opens another one
		}
	}
}

// keptRows are the rows that a part found.
type keptRows struct {
	columns []string
	values  [][]driver.Value
}

// Columns implements driver.Rows.
func (r *keptRows) Columns() []string { return r.columns }

// Close implements driver.Rows.
func (r *keptRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *keptRows) Next(dest []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(dest, r.values[0])
	r.values = r.values[1:]
	return nil
}

// keep reads rows to their end and closes them.
func keep(rows pgx.Rows) (*keptRows, error) {
	defer rows.Close()
	kept := &keptRows{}
	var places []any
	for _, f := range rows.FieldDescriptions() {
		kept.columns = append(kept.columns, f.Name)
		places = append(places, placeOf(f.DataTypeOID))
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		row := make([]driver.Value, len(places))
		for i, place := range places {
			switch place := place.(type) {
			case driver.Valuer:
				var err error
				if row[i], err = place.Value(); err != nil {
					return nil, err
				}
			case *[]byte:
				if *place != nil {
					row[i] = *place
				}
			}
		}
		kept.values = append(kept.values, row)
	}
	return kept, rows.Err()
}

// placeOf returns where to scan a column of a type of Postgres, so that its value is one of database/sql.
func placeOf(oid uint32) any {
	switch oid {
	case pgtype.BoolOID:
		return &pgtype.Bool{}
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return &pgtype.Int8{}
	case pgtype.Float4OID, pgtype.Float8OID:
		return &pgtype.Float8{}
	case pgtype.TimestamptzOID:
		return &pgtype.Timestamptz{}
	case pgtype.UUIDOID:
		return &pgtype.UUID{}
	case pgtype.ByteaOID, pgtype.JSONOID, pgtype.JSONBOID:
		return &[]byte{}
	}
	return &pgtype.Text{}
}
