package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
)

// keptStatements is how many prepared statements a pool keeps on each of its connections.
const keptStatements = 64

// preparing is the dialect of a pool of connections to SQLite that keeps the statements of Planned.
type preparing struct {
	*sqlitedialect.Dialect
	statements *statements
}

func withStatements(pool *sql.DB) *bun.DB {
	return bun.NewDB(pool, preparing{sqlitedialect.New(), newStatements(pool)})
}

// statements keeps the prepared statements of a pool, by their texts. It drops the least recently used.
type statements struct {
	pool *sql.DB
	mu   sync.Mutex
	kept *simplelru.LRU[string, *statement]
}

// statement is closed when it is dropped and has no users.
type statement struct {
	*sql.Stmt
	users   int
	dropped bool
}

func newStatements(pool *sql.DB) *statements {
	kept, err := simplelru.NewLRU[string, *statement](keptStatements, nil)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &statements{pool: pool, kept: kept}
}

// acquire returns the statement with a text, prepared. The caller must release it.
func (s *statements) acquire(ctx context.Context, text string) (*statement, error) {
	if found := s.find(text); found != nil {
		return found, nil
	}
	prepared, err := s.pool.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.keep(text, prepared), nil
}

func (s *statements) find(text string) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.kept.Get(text)
	if !ok {
		return nil
	}
	found.users++
	return found
}

// keep adds a statement. It replaces one that another caller has added meanwhile.
func (s *statements) keep(text string, prepared *sql.Stmt) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.kept.Peek(text); ok {
		s.kept.Remove(text)
		old.drop()
	} else if s.kept.Len() >= keptStatements {
		_, oldest, _ := s.kept.RemoveOldest()
		oldest.drop()
	}
	added := &statement{Stmt: prepared, users: 1}
	s.kept.Add(text, added)
	return added
}

func (s *statements) release(used *statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used.users--; used.dropped {
		used.drop()
	}
}

// drop closes s once it has no users. database/sql keeps it open until its last rows are read.
func (s *statement) drop() {
	if s.dropped = true; s.users == 0 {
		_ = s.Close() // reports the error of a query, which its caller has seen
	}
}

// preparedConn is a pool that runs its queries by prepared statements.
type preparedConn struct {
	*sql.DB
	statements *statements
}

func (c preparedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	used, err := c.statements.acquire(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.statements.release(used)
	return used.QueryContext(ctx, args...)
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
