package database_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestCancel checks that a query which is given up ends on Postgres, and that a pooler isn't asked to cancel it:
// PgBouncer 1.18 can end then.
func TestCancel(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, database.Postgres)
	observer := dbtest.OpenAt(t, direct)
	for name, c := range map[string]struct {
		address string
		query   string
		cancels bool
	}{
		"Postgres": {direct, "SELECT pg_sleep(60)", true},
		"a pooler": {dbtest.StartPooler(t, direct, "transaction"), "SELECT pg_sleep(61)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watchConnections(t, c.address)
			db, err := database.Open(t.Context(), w.address)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			ctx, giveUp := context.WithTimeout(t.Context(), 10*time.Second)
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				_, err := db.ExecContext(ctx, c.query)
				ended <- err
			}()
			untilRunning(t, observer, c.query, true)
			giveUp()
			if err := <-ended; err == nil {
				t.Error("the query has ended although it was given up")
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			// A connection is closed after the request to cancel its query.
			if cancels := w.untilClosed(t); (cancels > 0) != c.cancels {
				t.Errorf("%d requests to cancel a query", cancels)
			}
			untilRunning(t, observer, c.query, false)
		})
	}
}

// untilRunning waits until a query runs on Postgres, or until it doesn't.
func untilRunning(t *testing.T, observer *database.DB, query string, want bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var running bool
		err := observer.NewRaw("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE ? AND pid <> pg_backend_pid())",
			"%"+query).Scan(t.Context(), &running)
		switch {
		case err != nil:
			t.Fatal(err)
		case running == want:
			return
		case time.Now().After(deadline):
			t.Fatalf("%s runs: %v", query, running)
		}
	}
}

// connections passes on connections to a server with a unix socket.
type connections struct {
	address string // where to connect to
	server  string // path of the server's socket

	mu      sync.Mutex
	open    int
	cancels int // requests to cancel a query
}

func watchConnections(t *testing.T, address string) *connections {
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
	w := &connections{server: filepath.Join(query.Get("host"), socket)}
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	w.address = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			w.count(1, 0)
			go func() {
				defer w.count(-1, 0)
				w.pass(client)
			}()
		}
	}()
	return w
}

func (w *connections) count(open, cancels int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.cancels = w.open+open, w.cancels+cancels
}

// untilClosed waits until no connection is open, and returns the number of requests to cancel a query.
func (w *connections) untilClosed(t *testing.T) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		open, cancels := w.open, w.cancels
		w.mu.Unlock()
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

func (w *connections) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", w.server)
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
		w.count(0, 1)
	}
	if _, err := server.Write(begin[:n]); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	_, _ = io.Copy(server, client)
}
