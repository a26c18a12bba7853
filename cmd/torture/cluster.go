package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// redis starts a Redis for this check and returns its REDIS_URL.
func (l *lab) redis() (server *run.Process, url string) {
	paths, err := run.Install(l.ctx, run.Tool{Program: "redis-server", Package: "redis-server"})
	l.must(err)
	socket := filepath.Join(l.TempDir(), "redis.sock")
	p, out, err := run.Start(l.ctx, l.dir, run.Command{
		Name: "redis", Program: paths[0], Args: []string{"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"},
	})
	l.must(err)
	l.Cleanup(func() { p.Signal(syscall.SIGCONT); p.Kill() })
	go io.Copy(io.Discard, out)
	listens := func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if _, ok := l.eventually(30*time.Second, listens); !ok {
		l.Fatal(p.Failure("doesn't listen"))
	}
	return p, "unix://" + socket
}

const haproxyConfig = `global
	maxconn 2000
defaults
	mode http
	timeout connect 2s
	timeout client 30s
	timeout server 30s
	option redispatch
	retries 3
frontend in
	bind %s
	default_backend nodes
backend nodes
	balance roundrobin
	option httpchk GET /readyz
	option forwardfor
	default-server inter 100ms fall 1 rise 1 check
%s`

// haproxy starts a haproxy that balances requests over nodes, and returns its address.
func (l *lab) haproxy(nodes []*node) (base string) {
	paths, err := run.Install(l.ctx, run.Tool{Program: "haproxy", Elsewhere: "/usr/sbin/haproxy", Package: "haproxy"})
	l.must(err)
	address, err := run.FreeAddress()
	l.must(err)
	var servers strings.Builder
	for i, n := range nodes {
		fmt.Fprintf(&servers, "\tserver node%d %s\n", i, strings.TrimPrefix(n.base, "http://"))
	}
	config := filepath.Join(l.TempDir(), "haproxy.cfg")
	l.must(os.WriteFile(config, fmt.Appendf(nil, haproxyConfig, address, servers.String()), 0o644))
	p, out, err := run.Start(l.ctx, l.dir, run.Command{Name: "haproxy", Program: paths[0], Args: []string{"-db", "-f", config}})
	l.must(err)
	l.Cleanup(func() { p.Kill() })
	p.Address = address
	l.must(p.UntilListening(l.ctx, out))
	return "http://" + address
}

// shortJobs run every two seconds, so another node must take their leases over within four.
var shortJobs = []string{"consensus", "leaderboard", "reveal", "updates"}

const shortInterval = 2 * time.Second

// rollNodes kills or stops one of three nodes behind haproxy after another, and starts it again.
func rollNodes(l *lab) {
	db, s := l.postgres(), l.sources()
	_, redisURL := l.redis()
	s.SetMarket("m", nil)
	env := append(l.environment(db.url, s, unlimited...), "REDIS_URL="+redisURL, "TRUSTED_PROXIES=127.0.0.1")
	var nodes []*node
	for range 3 {
		nodes = append(nodes, l.serve(env))
	}
	watched, err := pgx.Connect(l.ctx, db.url)
	l.must(err)
	l.Cleanup(func() { _ = watched.Close(context.Background()) })
	base := l.haproxy(nodes)
	var reads atomic.Int64
	c := &crowd{
		lab: l, authors: l.authors(base, authorsAtOnce), base: func() string { return base }, market: func() string { return "" },
		// haproxy answers 502 if a node dies during a request, and 503 if no node is up.
		expected: func(a answer) bool { return a.status == 502 || a.status == 503 },
		after: func(w *author, id string) {
			if readsOwn(l, base, w, id) {
				reads.Add(1)
			}
		},
	}
	c.start()
	for i := range l.Restarts {
		c.publishes(40)
		n := nodes[i%len(nodes)]
		before, err := leases(l.ctx, watched)
		l.must(err)
		if i%2 == 0 {
			n.Kill()
			l.count("nodes killed", 1)
		} else {
			n.Stop()
			l.count("nodes stopped by SIGTERM", 1)
		}
		took, ok := l.eventually(l.patience(2*shortInterval), func() bool { return l.faulty() || renewed(l.ctx, watched, before) })
		if !ok {
			l.fault("leases are not taken over %s after their node ended", took)
		}
		l.longest("longest time until every lease is renewed or taken over", took)
		if err := n.start(); err != nil {
			l.fault("a node doesn't start again: %v", err)
		}
		if c.compare(); l.faulty() {
			break
		}
	}
	c.end()
	c.compare()
	l.count("predictions acknowledged", c.acknowledged())
	l.count("own predictions read at once", int(reads.Load()))
}

// leases returns when the lease of each short job expires. It reads the table itself, to see what
// other nodes see.
func leases(ctx context.Context, db *pgx.Conn) (map[string]time.Time, error) {
	rows, err := db.Query(ctx, "SELECT name, expires_at FROM leases WHERE name = ANY($1)", shortJobs)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	held := map[string]time.Time{}
	for rows.Next() {
		var name string
		var until time.Time
		if err := rows.Scan(&name, &until); err != nil {
			return nil, err
		}
		held[name] = until
	}
	return held, rows.Err()
}

// renewed reports whether every lease expires later than before.
func renewed(ctx context.Context, db *pgx.Conn, before map[string]time.Time) bool {
	now, err := leases(ctx, db)
	for name, until := range before {
		if !now[name].After(until) {
			return false
		}
	}
	return err == nil && len(before) > 0
}

// readsOwn asks any node for an author's latest prediction and reports a fault unless it is the one
// just acknowledged. It returns whether a node answered.
func readsOwn(l *lab, base string, w *author, id string) bool {
	a := send(l.ctx, request{url: base + "/api/predictions?limit=1&agent=" + w.handle, key: w.key})
	var list struct{ Predictions []struct{ ID string } }
	if a.status != 200 || a.decode(&list) != nil {
		return false
	}
	if len(list.Predictions) == 0 || list.Predictions[0].ID != id {
		l.fault("%s doesn't see its own prediction %s at once: got %v", w.handle, id, list.Predictions)
	}
	return true
}
