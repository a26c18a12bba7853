package dbtest

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Connections passes on connections to a Postgres with a unix socket, and counts what passes.
type Connections struct {
	// Address is where to connect to.
	Address string

	server string // path of the server's socket

	mu      sync.Mutex
	open    int
	cancels int
	trips   int
}

// WatchConnections begins to pass on connections to a database at an address of URL or StartPooler.
func WatchConnections(t testing.TB, address string) *Connections {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	socket := ".s.PGSQL." + cmp.Or(query.Get("port"), "5432")
	dir, err := os.MkdirTemp("", "watch") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &Connections{server: filepath.Join(query.Get("host"), socket)}
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	c.Address = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			c.count(1, 0, 0)
			go func() {
				defer c.count(-1, 0, 0)
				c.pass(client)
			}()
		}
	}()
	return c
}

func (c *Connections) count(open, cancels, trips int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.cancels, c.trips = c.open+open, c.cancels+cancels, c.trips+trips
}

// Trips returns how many times the server has been ready for the next message. That is the number of round trips, and one
// for each new connection.
func (c *Connections) Trips() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trips
}

// UntilClosed waits until no connection is open, and returns the number of requests to cancel a query.
func (c *Connections) UntilClosed(t testing.TB) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		open, cancels := c.open, c.cancels
		c.mu.Unlock()
		if open == 0 {
			return cancels
		}
	}
	t.Fatal("connections are open after 20 s")
	return 0
}

// cancelRequest is the code of a request to cancel a query, in the fifth to eighth byte of its connection; see
// "Message Formats" in the manual of Postgres.
const cancelRequest = 80877102

func (c *Connections) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	begin := make([]byte, 4096) // PgBouncer wants the first message in one piece
	n, err := client.Read(begin)
	if err != nil || n < 8 {
		return
	}
	if binary.BigEndian.Uint32(begin[4:]) == cancelRequest {
		c.count(0, 1, 0)
	}
	if _, err := server.Write(begin[:n]); err != nil {
		return
	}
	go func() {
		c.answer(client, server)
		client.Close()
	}()
	_, _ = io.Copy(server, client)
}

// readyForQuery is the first byte of the message with which the server ends its answer. The length of a message follows in
// four bytes, themselves included.
const readyForQuery = 'Z'

// answer passes on the messages of the server.
func (c *Connections) answer(client io.Writer, server io.Reader) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		if head[0] == readyForQuery {
			c.count(0, 0, 1) // before the client can know
		}
		if _, err := client.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(client, server, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return
		}
	}
}
