package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"modernc.org/sqlite"
)

// keptStatements is how many prepared statements a connection to SQLite keeps.
const keptStatements = 64

// openPreparing returns a pool of connections to a SQLite file. As pgx does on Postgres, each connection keeps the
// statements that have arguments, and prepares them only once. settings is nil for a pool that doesn't write.
func openPreparing(name string, settings *writerSettings) *sql.DB {
	return sql.OpenDB(connector{name, settings})
}

type connector struct {
	name     string
	settings *writerSettings
}

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	name := c.name
	if c.settings != nil {
		name += "&_pragma=" + strings.Join(c.settings.pragmas(), "&_pragma=")
	}
	opened, err := c.Driver().Open(name)
	if err != nil {
		return nil, err
	}
	kept, err := simplelru.NewLRU(keptStatements, func(_ string, s *keptStatement) { s.evicted() })
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &preparingConn{opened.(sqliteConn), kept}, nil
}

// sqliteConn is a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
	NewBackup(uri string) (*sqlite.Backup, error)
}

// preparingConn keeps prepared statements by their texts. It drops the least recently used. A statement in use is
// not among them, because the rows of one query may still be read when the next one begins.
type preparingConn struct {
	sqliteConn
	kept *simplelru.LRU[string, *keptStatement]
}

type keptStatement struct {
	statement driver.Stmt
	inUse     bool
}

// evicted closes a statement that is no longer kept, unless it left to be used.
func (s *keptStatement) evicted() {
	if !s.inUse {
		_ = s.statement.Close() // reports the error of a query, which its caller has seen
	}
}

// take returns the statement with a text. The caller must give it back.
func (c *preparingConn) take(ctx context.Context, text string) (driver.Stmt, error) {
	if s, ok := c.kept.Peek(text); ok {
		s.inUse = true
		c.kept.Remove(text)
		return s.statement, nil
	}
	return c.PrepareContext(ctx, text)
}

// giveBack keeps a statement for its next use.
func (c *preparingConn) giveBack(text string, s driver.Stmt) {
	if c.kept.Contains(text) {
		_ = s.Close() // the text was prepared again while s was in use
		return
	}
	c.kept.Add(text, &keptStatement{statement: s})
}

// Close closes the kept statements and the connection.
func (c *preparingConn) Close() error {
	c.kept.Purge()
	return c.sqliteConn.Close()
}

// ExecContext runs a statement, a kept one if it has arguments.
func (c *preparingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	defer c.giveBack(text, s)
	return s.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext runs a query, a kept one if it has arguments.
func (c *preparingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		c.giveBack(text, s)
		return nil, err
	}
	return &preparedRows{rows, func() { c.giveBack(text, s) }}, nil
}

// preparedRows gives its statement back when it is closed, which database/sql does once.
type preparedRows struct {
	driver.Rows
	giveBack func()
}

func (r *preparedRows) Close() error {
	defer r.giveBack()
	return r.Rows.Close()
}

// boundValue converts a value to what Bun writes into the text of a query for it. ok is false for a type that
// it doesn't know.
func boundValue(v any) (bound any, ok bool) {
	switch v := v.(type) {
	case nil, string, []byte, bool, int64, float64:
		return v, true
	case time.Time:
		return v.UTC().Format(SQLiteTime), true
	case uuid.UUID:
		return v.String(), true
	case driver.Valuer:
		return nil, false
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return r.String(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int(), true
	}
	return nil, false
}
