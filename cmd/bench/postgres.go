package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// postgres is the private server that holds all databases of the bench.
type postgres struct {
	socket string // directory of the socket
	pid    int    // of the postmaster
}

// openPostgres parses an address of the form postgres:///postgres?host=DIR&user=postgres, as
// .ci/services writes it.
func openPostgres(address string) (*postgres, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("TEST_POSTGRES_URL: %w", err)
	}
	p := &postgres{socket: u.Query().Get("host")}
	text, err := os.ReadFile(filepath.Join(p.socket, "data", "postmaster.pid"))
	if err != nil {
		return nil, fmt.Errorf("TEST_POSTGRES_URL: not the private server that .ci/services starts: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	p.pid, err = strconv.Atoi(strings.TrimSpace(first))
	return p, err
}

func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&user=postgres", database, p.socket)
}

// exec runs statements in a database.
func (p *postgres) exec(ctx context.Context, database string, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, p.url(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%.200s: %w", s, err)
		}
	}
	return nil
}

// clone creates a database with the content of another one, which must have no connections.
func (p *postgres) clone(ctx context.Context, from, to string) error {
	return p.exec(ctx, "postgres", fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", to),
		fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", to, from))
}

// checkpoint makes all earlier writes durable, so that the next measurement doesn't pay for them.
func (p *postgres) checkpoint(ctx context.Context) error {
	return p.exec(ctx, "postgres", "CHECKPOINT")
}

// setting reads one setting of the server.
func (p *postgres) setting(ctx context.Context, name string) (value string, err error) {
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}
