package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	env := append(l.environment(db.url, s, unlimited...), "REDIS_URL="+redisURL, "TRUSTED_PROXIES=127.0.0.1", "DRAIN=1s")
	var nodes []*node
	for range 3 {
		nodes = append(nodes, l.serve(env))
	}
	watched, err := pgx.Connect(l.ctx, db.url)
	l.must(err)
	l.Cleanup(func() { _ = watched.Close(context.Background()) })
	base := l.haproxy(nodes)
	authors := l.authors(base, authorsAtOnce+1)
	var reads atomic.Int64
	var killed atomic.Bool // a node was killed, and its restart isn't complete
	c := &crowd{
		lab: l, authors: authors[1:], base: func() string { return base }, market: func() string { return "" },
		// haproxy answers 502 if a node dies during a request. A node that is stopped must lose none.
		expected: func(a answer) bool { return killed.Load() && (a.err != nil || a.status == 502 || a.status == 503) },
		after: func(w *author, id string) {
			if readsOwn(l, base, w, id, &killed) {
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
			killed.Store(true)
			n.Kill()
			l.count("nodes killed", 1)
		} else {
			l.stopUnderRequests(n, base, authors[0].key)
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
		killed.Store(false)
	}
	c.end()
	c.compare()
	l.count("predictions acknowledged", c.acknowledged())
	l.count("own predictions read at once", int(reads.Load()))
}

// stopUnderRequests stops a node by SIGTERM while it has received half of some requests. The second half of
// each is sent once the node takes no further requests. All must be answered 200.
func (l *lab) stopUnderRequests(n *node, base, key string) {
	begun := make(chan struct{}, halfRequests)
	rest := make(chan struct{})
	body, err := json.Marshal(publishBody(""))
	l.must(err)
	first, second := body[:len(body)/2], body[len(body)/2:]
	var all sync.WaitGroup
	for range halfRequests {
		all.Go(func() {
			g := &gate{begun: begun, open: rest, rest: bytes.NewReader(second)}
			a := send(l.ctx, request{
				method: http.MethodPost, url: base + "/api/predictions", key: key,
				stream: io.MultiReader(bytes.NewReader(first), g), size: len(body),
			})
			g.reach() // also if the request failed before
			if a.err != nil || a.status != 200 {
				l.fault("a request during which a node stopped: %s", a)
			}
			l.count("requests in flight at a SIGTERM", 1)
		})
	}
	for range halfRequests {
		<-begun
	}
	// haproxy has passed on what arrived before an answer to a later request.
	send(l.ctx, request{url: base + "/readyz"})
	n.Signal(syscall.SIGTERM)
	if _, ok := l.eventually(l.patience(5*time.Second), func() bool {
		return send(l.ctx, request{url: n.base + "/readyz"}).status != 200
	}); !ok {
		l.fault("a node that was stopped stays ready")
	}
	close(rest)
	all.Wait()
	if _, ok := l.eventually(l.patience(15*time.Second), func() bool {
		select {
		case <-n.Ended:
			return true
		default:
			return false
		}
	}); !ok {
		l.fault("a node doesn't end after SIGTERM")
		n.Kill()
	}
}

// halfRequests is the number of requests that are in flight when a node is stopped. haproxy spreads them over
// the nodes.
const halfRequests = 12

// gate is the second half of a body. It reports on begun that it is reached, and can be read once open is closed.
type gate struct {
	begun chan<- struct{}
	open  <-chan struct{}
	rest  io.Reader
	once  sync.Once
}

func (g *gate) reach() { g.once.Do(func() { g.begun <- struct{}{} }) }

func (g *gate) Read(p []byte) (int, error) {
	g.reach()
	<-g.open
	return g.rest.Read(p)
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
// just acknowledged. It returns whether a node answered, which every node must unless one was killed. A busy
// node may refuse a read, with Retry-After.
func readsOwn(l *lab, base string, w *author, id string, killed *atomic.Bool) bool {
	a := send(l.ctx, request{url: base + "/api/predictions?limit=1&agent=" + w.handle, key: w.key})
	var list struct{ Predictions []struct{ ID string } }
	if a.status != 200 || a.decode(&list) != nil {
		if !killed.Load() && a.header.Get("Retry-After") == "" && l.ctx.Err() == nil {
			l.fault("%s reads its own prediction %s: %s", w.handle, id, a)
		}
		return false
	}
	if len(list.Predictions) == 0 || list.Predictions[0].ID != id {
		l.fault("%s doesn't see its own prediction %s at once: got %v", w.handle, id, list.Predictions)
	}
	return true
}
