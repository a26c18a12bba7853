package httpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestSlowReaderIsDropped checks that the queue of a reader is bounded and that sending never waits.
func TestSlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe() // a pipe buffers nothing, so a write waits for the reader
	defer theirs.Close()
	left := make(chan struct{})
	s := newStream(ours, "", func() { close(left) })
	text := make([]byte, 1<<10)
	for range maxUnsent / len(text) {
		s.Send(text)
		select {
		case <-s.Done():
			t.Fatal("dropped too early")
		default:
		}
	}
	s.Send(text)
	for _, c := range []<-chan struct{}{s.Done(), left} {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal("a slow reader isn't dropped")
		}
	}
	if s.Flush() {
		t.Error("a closed stream still accepts texts")
	}
	s.Send(text)
}

// TestStreamHoldsNoMore checks that a single large part doesn't exceed the bound of the queue.
func TestStreamHoldsNoMore(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	s := newStream(ours, "", func() {})
	s.Send(make([]byte, maxUnsent), []byte{0})
	<-s.Done()
	if n := len(s.unsent); n != 0 {
		t.Errorf("%d texts wait", n)
	}
}

// closing is a connection whose Close is observed.
type closing struct {
	net.Conn
	onClose func()
}

func (c closing) Close() error { c.onClose(); return c.Conn.Close() }

// TestPlaceIsFreeBeforeTheStreamEnds checks that a reader may connect again as soon as it sees the end.
func TestPlaceIsFreeBeforeTheStreamEnds(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	places, ended := NewPlaces(1, 1), false
	leave, err := places.enter(visitor(1))
	if err != nil {
		t.Fatal(err)
	}
	newStream(closing{ours, func() {
		ended = true
		if _, err := places.enter(visitor(1)); err != nil {
			t.Errorf("the place when the connection closes: %v", err)
		}
	}}, "", leave).Close()
	if !ended {
		t.Error("the connection stays open")
	}
}

// TestStreamIsAdmitted checks that a part of a stream counts units, waits for its turn and a place without holding
// the other, and gives back what a refusal has counted.
func TestStreamIsAdmitted(t *testing.T) {
	t.Parallel()
	s := New(Options{Config: &config.Config{RateLimitReads: config.Rate{N: 10, Per: time.Hour}, StreamsMax: 9, StreamsPerAddress: 9}})
	by, open := visitor(1), make(chan struct{})
	payers := []charge{{class: &s.Limits.reads, key: by}}
	left := func() int { return s.Limits.take(t.Context(), &s.Limits.reads, by, 0).remaining }
	leave, _ := s.admitStream(open, by, payers, Listing)
	if leave == nil || left() != 10-int(Listing) || s.reads.busy != 1 || len(s.streams.turns) != 1 {
		t.Fatalf("%d units are left, %d places busy, %d turns taken", left(), s.reads.busy, len(s.streams.turns))
	}
	if again, _ := s.admitStream(open, by, payers, Listing); again != nil || left() != 10-int(Listing) { // the only place is taken
		t.Errorf("admitted without a place; %d units are left", left())
	}
	leave()
	if s.reads.busy != 0 || len(s.streams.turns) != 0 {
		t.Errorf("%d places busy, %d turns taken", s.reads.busy, len(s.streams.turns))
	}
	if leave, retry := s.admitStream(open, by, payers, Drawing); leave != nil || retry <= 0 || len(s.streams.turns) != 0 {
		t.Errorf("admitted without units; retry after %s", retry)
	}
	for range streamTurns {
		s.streams.turns <- struct{}{}
	}
	gone := make(chan struct{})
	close(gone)
	if leave, _ := s.admitStream(gone, by, payers, Lookup); leave != nil || s.reads.busy != 0 || left() != 10-int(Listing) {
		t.Errorf("admitted without a turn, or paid for it; %d units are left", left())
	}
}

// TestBearerEndsBeforeItsStream checks that a stream doesn't begin if its bearer ended while the request waited. It
// begins if the bearer was valid and can't be checked again.
func TestBearerEndsBeforeItsStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error // of the second check
		ends bool
	}{
		"valid":     {nil, false},
		"ended":     {problem.InvalidCredentials("Get another."), true},
		"unchecked": {problem.Unavailable("Keys cannot be checked right now.", time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var again atomic.Bool
			n := run(t, func(o *Options) {
				o.Config.StreamsMax, o.Config.StreamsPerAddress = 9, 9
				o.CredentialEpoch = func() uint64 { return 1 }
				o.Authenticate = func(ctx context.Context, bearer string, admit func() (func(error), error)) (Principal, error) {
					if again.Load() && c.err != nil {
						return nil, c.err
					}
					return authenticate(ctx, bearer, admit)
				}
			}, func(s *Server) {
				s.App.Get("/api/stream", s.OptionalAgent(), func(c *fiber.Ctx) error {
					again.Store(true)
					return s.Stream(c, "text/event-stream", func(*Stream) {})
				})
			})
			conn, err := net.Dial("tcp", n.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(conn, "GET /api/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nUser-Agent: test/1.0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			said, err := bufio.NewReader(conn).ReadString('\n')
			if begins := strings.Contains(said, "200 OK"); begins == c.ends || errors.Is(err, io.EOF) != c.ends {
				t.Errorf("the stream says %q, %v", said, err)
			}
		})
	}
}

// TestLostStreamGivesItsPlaceBack checks that a stream doesn't keep its place if the connection breaks before the
// stream begins. fasthttp first sends the answers to the requests before it, and drops the stream if that fails.
func TestLostStreamGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"HTTP": false, "HTTPS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow, broken, taken := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			n := run(t, func(o *Options) {
				o.Config.StreamsMax, o.Config.StreamsPerAddress = 1, 1
				if secure {
					dir := t.TempDir()
					o.Config.TLSCert, o.Config.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
					writeCertificate(t, o.Config.TLSCert, o.Config.TLSKey, 1)
				}
			}, func(s *Server) {
				s.App.Get("/api/slow", func(*fiber.Ctx) error {
					close(slow)
					<-broken
					return nil
				})
				stream := func(c *fiber.Ctx) error { return s.Stream(c, "text/event-stream", func(*Stream) {}) }
				s.App.Get("/api/stream", stream)
				s.App.Get("/api/lost", func(c *fiber.Ctx) error {
					err := stream(c)
					taken <- err
					return err
				})
			})
			dial := func() (conn net.Conn, below *net.TCPConn) {
				if secure {
					conn := handshake(t, n.addr)
					return conn, conn.NetConn().(*net.TCPConn)
				}
				conn, err := net.Dial("tcp", n.addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				return conn, conn.(*net.TCPConn)
			}
			ask := func(conn net.Conn, paths ...string) {
				var requests strings.Builder
				for _, path := range paths {
					fmt.Fprintf(&requests, "GET %s HTTP/1.1\r\nHost: x\r\nUser-Agent: test/1.0\r\n\r\n", path)
				}
				if _, err := io.WriteString(conn, requests.String()); err != nil {
					t.Fatal(err)
				}
			}
			conn, below := dial()
			ask(conn, "/api/slow", "/api/lost")
			<-slow
			if err := errors.Join(below.SetLinger(0), below.Close()); err != nil { // resets the connection
				t.Fatal(err)
			}
			close(broken)
			if err := <-taken; err != nil {
				t.Fatalf("the lost stream had no place: %v", err)
			}
			status := func(conn net.Conn, in *bufio.Reader) int {
				ask(conn, "/api/stream")
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != 200 {
					_, _ = io.Copy(io.Discard, resp.Body) // before the next answer
				}
				return resp.StatusCode
			}
			next, _ := dial()
			in, deadline := bufio.NewReader(next), time.Now().Add(10*time.Second)
			got := status(next, in)
			for got == 429 && time.Now().Before(deadline) {
				got = status(next, in)
			}
			if got != 200 {
				t.Fatalf("after a lost stream: %d", got)
			}
			other, _ := dial()
			if got := status(other, bufio.NewReader(other)); got != 429 { // the accepted stream is still open
				t.Errorf("a second stream: %d", got)
			}
		})
	}
}

// TestRevokedStreamsClose checks that a slow check of one bearer doesn't delay the end of another's streams.
func TestRevokedStreamsClose(t *testing.T) {
	t.Parallel()
	const slow = 5 * time.Second // of each check
	for _, tt := range []struct {
		name             string
		bearers, streams int           // streams of each bearer
		after            time.Duration // the change comes this long after the start
		checks           int           // one after another, until the last stream closes
	}{
		{"one bearer", 1, 100, time.Second, 1},
		{"many bearers", streamChecks, 10, time.Second, 1},
		{"more bearers than checks at a time", 3 * streamChecks, 1, time.Second, 3},
		{"during a recheck", streamChecks, 1, streamRecheckEvery + time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var epoch atomic.Uint64
				opts := testOptions(io.Discard)
				opts.CredentialEpoch = epoch.Load
				opts.Authenticate = func(ctx context.Context, bearer string, admit func() (func(error), error)) (Principal, error) {
					if bearer == "good" {
						return authenticate(ctx, bearer, admit)
					}
					changed := epoch.Load() > 0
					time.Sleep(slow)
					if changed {
						return nil, problem.InvalidCredentials("Get another.")
					}
					return principal{agentID}, nil
				}
				s := New(opts)
				var left sync.WaitGroup
				add := func(bearer string, release func()) {
					ours, theirs := net.Pipe()
					t.Cleanup(func() { theirs.Close() })
					s.streams.add(newStream(ours, bearer, release))
				}
				const kept = 2
				add("", func() {})
				add("good", func() {})
				for i := range tt.bearers * tt.streams {
					left.Add(1)
					add(strconv.Itoa(i%tt.bearers), left.Done)
				}
				go s.watchStreams(t.Context())
				time.Sleep(tt.after)
				if open, want := len(s.streams.all()), kept+tt.bearers*tt.streams; open != want {
					t.Fatalf("%d streams are open before the change, want %d", open, want)
				}
				epoch.Add(1)
				changed := time.Now()
				left.Wait()
				if took, most := time.Since(changed), streamCheckEvery+time.Duration(tt.checks)*slow; took > most {
					t.Errorf("the last stream closed after %s, want at most %s", took, most)
				}
				synctest.Wait() // for the check of the valid bearer
				if open := s.streams.all(); len(open) != kept {
					t.Errorf("%d streams are still open, want the anonymous one and the one with a valid bearer", len(open))
				}
			})
		})
	}
}

// TestChangesCheckStreamsOfTheirAgents checks that a change checks the bearers of the agents that changed and those of
// unknown agents, and no others.
func TestChangesCheckStreamsOfTheirAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var epoch atomic.Uint64
		var mu sync.Mutex
		checked := map[string]int{}
		changed := uuid.UUID{1}
		opts := testOptions(io.Discard)
		opts.CredentialEpoch = epoch.Load
		opts.CredentialHolds = func(agentID uuid.UUID, since uint64) bool { return agentID != changed || since >= epoch.Load() }
		opts.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
			mu.Lock()
			defer mu.Unlock()
			checked[bearer]++
			return principal{agentID}, nil
		}
		s := New(opts)
		for bearer, id := range map[string]uuid.UUID{"changed": changed, "other": {2}, "unknown": {}} {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { theirs.Close() })
			stream := newStream(ours, bearer, func() {})
			stream.agentID = id
			s.streams.add(stream)
		}
		go s.watchStreams(t.Context())
		for range 3 {
			epoch.Add(1)
			time.Sleep(2 * streamCheckEvery)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := map[string]int{"changed": 3, "unknown": 3}; !maps.Equal(checked, want) {
			t.Errorf("checked %v, want %v", checked, want)
		}
	})
}

// TestStreamsOutliveAnOutage checks that streams go on while their bearers can't be checked, that this costs little,
// and that a bearer that was revoked meanwhile loses its streams as soon as it can be checked again.
func TestStreamsOutliveAnOutage(t *testing.T) {
	t.Parallel()
	const bearers = 200
	for name, c := range map[string]struct {
		outage, refusal error
	}{
		"an outage, then 401": {problem.Unavailable("Keys cannot be checked right now.", time.Second), problem.InvalidCredentials("Get another.")},
		"a failure, then 403": {errors.New("no connection"), problem.New(problem.CodeAgentDisabled, "Ask an admin.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var epoch atomic.Uint64
				var checks atomic.Int64
				var down, unreadable atomic.Bool
				opts := testOptions(io.Discard)
				opts.CredentialEpoch = epoch.Load
				opts.Authenticate = func(_ context.Context, bearer string, _ func() (func(error), error)) (Principal, error) {
					checks.Add(1)
					switch {
					case down.Load() || bearer == "unreadable" && unreadable.Load():
						return nil, c.outage
					case bearer == "revoked" && epoch.Load() > 0:
						return nil, c.refusal
					}
					return principal{agentID}, nil
				}
				s := New(opts)
				add := func(bearer string) *Stream {
					ours, theirs := net.Pipe()
					t.Cleanup(func() { theirs.Close() })
					stream := newStream(ours, bearer, func() {})
					s.streams.add(stream)
					return stream
				}
				add("")
				revoked := []*Stream{add("revoked"), add("revoked")}
				add("unreadable")
				for i := range bearers - 2 {
					add(strconv.Itoa(i))
				}
				count := func() int { return len(s.streams.all()) }
				all := count()
				go s.watchStreams(t.Context())

				down.Store(true)
				unreadable.Store(true)
				const outage = 25
				for range outage { // the epoch moves while it can't be read, and the bearer is revoked
					epoch.Add(1)
					time.Sleep(time.Second)
				}
				if open := count(); open != all {
					t.Errorf("%d of %d streams outlived the outage", open, all)
				}
				if n, most := int(checks.Load()), bearers+2*streamChecks*2*outage; n > most {
					t.Errorf("%d checks for %d bearers in the outage, want at most %d", n, bearers, most)
				}
				down.Store(false)
				ended := time.Now()
				for _, stream := range revoked {
					<-stream.Done()
				}
				if took := time.Since(ended); took > streamRetryEvery {
					t.Errorf("the streams of a revoked bearer closed %s after the outage", took)
				}
				synctest.Wait() // for the other checks of that try
				checks.Store(0)
				time.Sleep(2 * streamRetryEvery)
				if open, n := count(), int(checks.Load()); open != all-len(revoked) || n > 2 {
					t.Errorf("%d streams are open, want %d; %d checks though only one bearer can't be checked", open, all-len(revoked), n)
				}
				unreadable.Store(false)
				time.Sleep(2 * streamRetryEvery)
				checks.Store(0)
				time.Sleep(2 * streamRetryEvery)
				if n := checks.Load(); n > 0 {
					t.Errorf("%d checks after each bearer was checked", n)
				}
			})
		})
	}
}

// TestStreamKeepsOrder checks that texts sent during a write follow it in order.
func TestStreamKeepsOrder(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	s := newStream(ours, "", func() {})
	const n = 100
	for i := range n {
		s.Send([]byte{byte(i)}, []byte{byte(i)})
	}
	got := make([]byte, 2)
	for i := range n {
		for read := 0; read < 2; {
			k, err := theirs.Read(got[read:])
			if err != nil {
				t.Fatal(err)
			}
			read += k
		}
		if got[0] != byte(i) || got[1] != byte(i) {
			t.Fatalf("%d: got %v", i, got)
		}
	}
	if !s.Flush() {
		t.Error("the stream is closed")
	}
	go s.wait()
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	<-s.Done()
}
