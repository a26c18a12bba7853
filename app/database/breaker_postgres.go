package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

// guarded connects to Postgres while the breaker is closed.
type guarded struct {
	driver.Connector
	breaker *Breaker
}

// guard returns a connector whose connections end when the breaker opens. Connections from before
// an outage are never used again.
func guard(cfg *pgx.ConnConfig, connected func(context.Context, *pgx.Conn) error) (*guarded, *Breaker) {
	probe := &postgresProbe{cfg: cfg.Copy()}
	probe.cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	b := newBreaker(probe)
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := b.Err(); err != nil { // also refuses pgx's requests to cancel a query
			return nil, err
		}
		if b.pooled.Load() && ctx.Value(connectKey{}) == nil {
			// pgx asks to cancel the query of a connection that it closes, which can end PgBouncer 1.18; see avoidSessions.
			return nil, errCancel
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			b.suspect()
			return nil, err
		}
		return b.hold(conn)
	}
	const opened = "breaker.opened"
	return &guarded{stdlib.GetConnector(*cfg,
		stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
			conn.PgConn().CustomData()[opened] = b.Opened()
			if connected == nil {
				return nil
			}
			return connected(ctx, conn)
		}),
		stdlib.OptionResetSession(func(_ context.Context, conn *pgx.Conn) error {
			if conn.PgConn().CustomData()[opened] != b.Opened() {
				return driver.ErrBadConn
			}
			return nil
		}),
	), b}, b
}

// connectKey marks the contexts of Connect. pgx dials with other contexts only to cancel queries.
type connectKey struct{}

var errCancel = errors.New("a pooler isn't asked to cancel queries")

// Connect implements driver.Connector. It ends when the breaker opens.
func (g *guarded) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, cancel, err := g.breaker.bound(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	conn, err := g.Connector.Connect(context.WithValue(bounded, connectKey{}, true))
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return nil, errors.Join(ErrUnanswered, err)
	}
	if err != nil {
		return nil, err
	}
	return &boundedConn{pgxConn: conn.(*stdlib.Conn), breaker: g.breaker}, nil
}

// postgresProbe asks Postgres for the time, on a connection that it keeps.
type postgresProbe struct {
	cfg *pgx.ConnConfig

	conn *pgx.Conn // nil if there is none

	mu     sync.Mutex
	socket net.Conn // the socket of conn; nil if there is none
}

// probe asks for the time. If the connection that it kept is broken, it tries once more with a new
// one.
func (p *postgresProbe) probe(ctx context.Context) (time.Time, error) {
	kept := p.conn != nil
	at, err := p.ask(ctx)
	if err != nil && kept && ctx.Err() == nil {
		at, err = p.ask(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == tooManyConnections {
		// The database answers, and existing connections can go on.
		return time.Time{}, nil
	}
	return at, err
}

func (p *postgresProbe) ask(ctx context.Context) (at time.Time, err error) {
	if p.conn == nil {
		if err := p.connect(ctx); err != nil {
			return at, fmt.Errorf("connect to probe the database: %w", err)
		}
	}
	if err := p.conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
		p.drop()
		p.conn = nil
		return at, fmt.Errorf("probe the database: %w", err)
	}
	return at, nil
}

func (p *postgresProbe) connect(ctx context.Context) error {
	cfg := p.cfg.Copy()
	dial := cfg.DialFunc
	var connected atomic.Bool
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			// pgx opens this connection to cancel the query of a connection that has ended.
			return nil, errSilent
		}
		conn, err := dial(ctx, network, address)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.socket = conn
		return conn, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	connected.Store(true)
	if err != nil {
		p.drop()
		return err
	}
	p.conn = conn
	return nil
}

func (p *postgresProbe) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket != nil {
		_ = p.socket.Close() // ends a query that waits on it
		p.socket = nil
	}
}
