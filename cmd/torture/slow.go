package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// slowKinds are the kinds of slow clients. Each function uses a connection until the server closes
// it or ctx ends.
var slowKinds = []struct {
	name string
	use  func(ctx context.Context, conn net.Conn)
	long bool // left out of the short form, because the server waits too long before it closes them
}{
	{"headers byte by byte", drip("GET /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: "+strings.Repeat("a", 4096), 0), false},
	{"bodies byte by byte", drip("POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4096\r\n\r\n"+strings.Repeat(" ", 4096), 100), false},
	{"connections without a request", func(ctx context.Context, conn net.Conn) { untilClosed(ctx, conn) }, false},
	{"clients that never read", neverRead, true},
}

// drip sends the first bytes of a text at once, and then one byte every half second.
func drip(text string, first int) func(context.Context, net.Conn) {
	return func(ctx context.Context, conn net.Conn) {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			untilClosed(ctx, conn)
		}()
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for rest := text; ; rest = rest[1:] {
			n := max(1, first)
			if _, err := conn.Write([]byte(rest[:n])); err != nil {
				return
			}
			rest, first = rest[n-1:], 0
			select {
			case <-tick.C:
			case <-closed:
				return
			}
		}
	}
}

// untilClosed waits until the connection is closed.
func untilClosed(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	r := bufio.NewReader(conn)
	for {
		if _, err := r.ReadByte(); err != nil {
			return
		}
	}
}

// neverRead requests more than the buffers of both sides hold, and reads nothing until the server
// gives up.
func neverRead(ctx context.Context, conn net.Conn) {
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	ask := []byte(strings.Repeat("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n", 20))
	for ctx.Err() == nil {
		if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			return
		}
		if _, err := conn.Write(ask); err != nil {
			if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// The server waits 15 s for a client to send and 30 s for a client to read. These limits leave some
// slack.
const (
	readPatience  = 25 * time.Second
	writePatience = 45 * time.Second
)

// fewClients reports whether clients that never read are left out.
func (s *scale) fewClients() bool { return s.Clients < 100 }

// slowClientLimit is the longest time until the server has closed the connections of slow clients.
func (s *scale) slowClientLimit() time.Duration {
	if s.fewClients() {
		return readPatience
	}
	return writePatience
}

// crawl connects slow clients while other clients send requests.
func crawl(l *lab) {
	db := l.sqlite()
	n := l.serve(l.environment(db.url, nil, unlimited...))
	key := l.authors(n.base, 1)[0].key
	others(l, n, key)
	time.Sleep(6 * time.Second) // idle connections of this process close
	before, err := run.Descriptors(n.PID())
	l.must(err)
	ctx, cancel := context.WithTimeout(l.ctx, l.patience(l.slowClientLimit()))
	defer cancel()
	began := time.Now()
	var slow sync.WaitGroup
	for _, kind := range slowKinds {
		if kind.long && l.fewClients() {
			l.note("The short form leaves out %s: the server waits half a minute for them.", kind.name)
			continue
		}
		for range l.Clients {
			conn, err := net.Dial("tcp", strings.TrimPrefix(n.base, "http://"))
			l.must(err)
			slow.Go(func() {
				defer conn.Close()
				kind.use(ctx, conn)
			})
			l.count(kind.name, 1)
		}
	}
	most, err := run.Descriptors(n.PID())
	l.must(err)
	l.count("open descriptors with slow clients", most)
	gone := make(chan struct{})
	go func() { slow.Wait(); close(gone) }()
	for waiting := true; waiting; {
		select {
		case <-gone:
			waiting = false
		default:
			others(l, n, key)
			time.Sleep(100 * time.Millisecond)
		}
	}
	if ctx.Err() != nil {
		l.fault("after %s the server still holds slow clients", time.Since(began).Round(time.Second))
		return
	}
	l.longest("longest time until the server has closed them all", time.Since(began))
	client.CloseIdleConnections()
	after := 0
	if _, ok := l.eventually(l.patience(20*time.Second), func() bool {
		after, err = run.Descriptors(n.PID())
		return err == nil && after <= before+descriptorsKept
	}); !ok {
		l.fault("%d descriptors are open, but only %d before the slow clients", after, before)
	}
}

// descriptorsKept is how many more descriptors a node may keep open: the files of its database.
const descriptorsKept = 12

// slowest is the longest time that an answer to another client may take.
const slowest = 5 * time.Second

// others sends requests as ordinary clients do. Every answer must be 200 and arrive within the time
// limit.
func others(l *lab, n *node, key string) {
	for _, r := range []request{
		{url: n.base + "/api/health"}, {url: n.base + "/api/predictions"}, {url: n.base + "/leaderboard"},
		{url: n.base + "/api/predictions", method: http.MethodPost, key: key, body: publishBody("")},
	} {
		a := send(l.ctx, r)
		if a.err != nil || a.status != 200 || a.took > l.patience(slowest) {
			l.fault("%s %s during slow clients: %s", r.method, r.url, a)
		}
		l.count("requests of other clients", 1)
		l.longest("longest answer to other clients", a.took)
	}
}
