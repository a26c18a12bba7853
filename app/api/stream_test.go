package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/update"
)

// listener reads a stream like a client.
type listener struct {
	t      testing.TB
	res    *http.Response
	events chan sse.Event
	close  context.CancelFunc
	// position is the id that the stream sent without an event before its first heartbeat.
	position string
}

// listen opens a stream and waits until it receives updates.
func (s *service) listen(t testing.TB, c call) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	res, err := http.DefaultTransport.RoundTrip(s.request(t, c).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Request-Id") == "" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	l := &listener{t: t, res: res, events: make(chan sse.Event, 100), close: cancel}
	fed := make(chan struct{})
	go func() {
		defer res.Body.Close()
		defer close(l.events)
		body := &watched{Reader: bufio.NewReader(res.Body), fed: fed, position: &l.position}
		for e, err := range sse.Read(body, nil) {
			if err != nil {
				return
			}
			if e.Data != "" { // without data, it is no event
				l.events <- e
			}
		}
	}()
	select {
	case <-fed:
	case <-time.After(time.Minute):
		t.Fatal("the stream sent no heartbeat")
	}
	return l
}

// watched closes fed when it has read the first heartbeat, and the position that came with it.
type watched struct {
	*bufio.Reader
	fed      chan struct{}
	told     bool
	position *string
}

var positioned = regexp.MustCompile(`(?m)^: heartbeat\nid: (\d+)\n\n`)

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if !w.told && strings.Contains(string(p[:n]), "heartbeat") {
		w.told = true
		if found := positioned.FindSubmatch(p[:n]); found != nil {
			*w.position = string(found[1])
		}
		close(w.fed)
	}
	return n, err
}

// next returns the next event, which must have the given type.
func (l *listener) next(want update.Type) sse.Event {
	l.t.Helper()
	select {
	case e, open := <-l.events:
		if !open {
			l.t.Fatalf("the stream ended before %s", want)
		}
		var u struct{ ID, Type string }
		if err := json.Unmarshal([]byte(e.Data), &u); err != nil || u.ID != e.LastEventID || u.Type != e.Type || e.Type != string(want) {
			l.t.Fatalf("want %s, got %+v, %v", want, e, err)
		}
		return e
	case <-time.After(time.Minute):
		l.t.Fatalf("no %s came", want)
		return sse.Event{}
	}
}

// ends waits until the server closes the stream.
func (l *listener) ends() {
	l.t.Helper()
	select {
	case e, open := <-l.events:
		if open {
			l.t.Fatalf("got %+v", e)
		}
	case <-time.After(time.Minute):
		l.t.Fatal("the stream is still open")
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		ada, bob := s.register(t, "Ada"), s.register(t, "Bob")
		s.tick(t, priced("1", 0.4), priced("2", 0.4))
		s.number(t)
		all := s.listen(t, call{path: "/api/events"})
		mine := s.listen(t, call{path: "/api/events", bearer: ada})
		ofBob := s.listen(t, call{path: "/api/events?agent=bob&types=prediction.created,prediction.voided"})
		of2 := s.listen(t, call{path: "/api/events?market=2&category=Economics", bearer: ada})

		id := s.publishOn(t, ada, "1")
		s.publishOn(t, bob, "2")
		s.number(t)
		first := all.next(update.PredictionCreated)
		if !strings.Contains(first.Data, id) || !strings.Contains(first.Data, `"confidence":0.72`) {
			t.Errorf("got %s", first.Data)
		}
		for _, text := range []string{"Secret words", "sun rise", "It always did"} {
			if strings.Contains(first.Data, text) {
				t.Errorf("%q is in %s", text, first.Data)
			}
		}
		second := all.next(update.PredictionCreated)
		mine.next(update.PredictionCreated)
		mine.next(update.PredictionCreated)
		if e := ofBob.next(update.PredictionCreated); e != second {
			t.Errorf("Bob's: %+v, want %+v", e, second)
		}
		if e := of2.next(update.PredictionCreated); e != second {
			t.Errorf("of market 2: %+v, want %+v", e, second)
		}
		closed := priced("1", 0.9999)
		closed.Closed, closed.Active, closed.ClosedAt, closed.Resolution, closed.Prices = true, false, time.Now(), "resolved", []float64{1, 0}
		s.tick(t, closed)
		s.number(t)
		all.next(update.MarketClosed)
		mine.next(update.MarketClosed)
		mine.next(update.PredictionBaseline) // only Ada's
		mine.next(update.MarketSettled)
		all.next(update.MarketSettled)
		settled := mine.next(update.PredictionSettled)
		if e := all.next(update.PredictionSettled); e != settled {
			t.Errorf("%+v, want %+v", e, settled)
		}

		// A stream that continues after an event sends the events after it, from memory or from the
		// database.
		resumed := s.listen(t, call{path: "/api/events", bearer: bob, header: map[string]string{"Last-Event-ID": second.LastEventID}})
		resumed.next(update.MarketClosed)
		resumed.next(update.MarketSettled)
		resumed.next(update.PredictionSettled)
		for _, l := range []*listener{all, mine, ofBob, of2, resumed} {
			l.close()
		}
	})
}

// TestStreamResumesFromTheDatabase checks that a stream continues on another node, which has not seen the
// earlier updates.
func TestStreamResumesFromTheDatabase(t *testing.T) {
	t.Parallel()
	cfg := configure(t, backend{"postgres and redis", database.Postgres, true})
	options := app.Options{}
	one, two := run(t, cfg, options), run(t, cfg, options)
	ada := one.register(t, "Ada")
	one.tick(t, priced("1", 0.4))
	var published []string
	for range 60 { // more chunks than one query reads
		published = append(published, one.publishOn(t, ada, "1"))
		one.number(t)
	}
	l := two.listen(t, call{path: "/api/events", header: map[string]string{"Last-Event-ID": "0"}})
	for _, id := range published {
		if e := l.next(update.PredictionCreated); !strings.Contains(e.Data, id) {
			t.Fatalf("want %s, got %s", id, e.Data)
		}
	}
	live := one.publishOn(t, ada, "1")
	two.number(t)
	if e := l.next(update.PredictionCreated); !strings.Contains(e.Data, live) {
		t.Errorf("want %s, got %s", live, e.Data)
	}

	if _, err := one.DB.ExecContext(t.Context(), "DELETE FROM update_chunks WHERE last < 30"); err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"3", "99999"} {
		one.listen(t, call{path: "/api/events", header: map[string]string{"Last-Event-ID": last}}).next(update.StreamGap)
	}
}

// TestStreamIsResumedBeforeItsFirstEvent checks that a reader that lost its connection before an event came misses
// nothing, whatever it listens to.
func TestStreamIsResumedBeforeItsFirstEvent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		s.tick(t, priced("1", 0.4))
		for _, query := range []string{"", "?types=prediction.created", "?market=1"} {
			s.publishOn(t, key, "1")
			s.number(t)
			lost := s.listen(t, call{path: "/api/events" + query})
			lost.close()
			missed := s.publishOn(t, key, "1")
			s.number(t)
			again := s.listen(t, call{path: "/api/events" + query, header: map[string]string{"Last-Event-ID": lost.position}})
			if e := again.next(update.PredictionCreated); !strings.Contains(e.Data, missed) {
				t.Errorf("%q: want %s, got %s", query, missed, e.Data)
			}
			again.close()
		}
	})
}

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		refuse := func(query string, status int, code string, header ...string) {
			t.Helper()
			c := call{path: "/api/events" + query}
			if header != nil {
				c.header = map[string]string{header[0]: header[1]}
			}
			s.do(t, c).refused(status, code)
		}
		refuse("?types=prediction.made", http.StatusBadRequest, "invalid_parameter")
		refuse("?type=market.moved", http.StatusBadRequest, "invalid_parameter")
		refuse("?category=nope", http.StatusBadRequest, "invalid_parameter")
		refuse("?agent=nobody", http.StatusNotFound, "not_found")
		refuse("?market=nothing", http.StatusNotFound, "not_found")
		refuse("", http.StatusBadRequest, "invalid_parameter", "Last-Event-ID", "x")
		refuse("", http.StatusUnauthorized, "invalid_credentials", "Authorization", "Bearer x")
		head := s.do(t, call{method: "HEAD", path: "/api/events"})
		if head.status != http.StatusOK || head.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("HEAD: %d %v", head.status, head.header)
		}
		first, second := s.listen(t, call{path: "/api/events"}), s.listen(t, call{path: "/api/events"})
		refuse("", http.StatusTooManyRequests, "rate_limited")
		first.close()
		for { // the place is free as soon as the server notices
			res, err := http.DefaultTransport.RoundTrip(s.request(t, call{path: "/api/events"}))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
			runtime.Gosched()
		}
		second.close()
	}, func(c *config.Config) { c.StreamsMax, c.StreamsPerAddress = 9, 2 })
}

// TestStreamsOfANode checks that a full node refuses a stream, and that the metrics tell this from an error of the
// service.
func TestStreamsOfANode(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	cfg := configure(t, backends[0], func(c *config.Config) { c.StreamsMax, c.MetricsAddr, c.LogFormat = 1, "127.0.0.1:0", "text" })
	s := run(t, cfg, app.Options{Log: log})
	s.listen(t, call{path: "/api/events"})
	got := s.do(t, call{path: "/api/events"})
	got.refused(http.StatusServiceUnavailable, "unavailable")
	if got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	metrics := regexp.MustCompile(`msg="serving metrics" address=(\S+)`).FindStringSubmatch(log.text()) // logged before it serves
	if metrics == nil {
		t.Fatal(log.text())
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+metrics[1]+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := sent(req); !strings.Contains(text, "\npulsecast_http_shed_total 1\n") {
		t.Errorf("the metrics don't count it: %.60s", text)
	}
}

// TestStreamEndsWithItsBearer checks that a revoked key ends its streams, and no others.
func TestStreamEndsWithItsBearer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		token := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}).fine().text("session", "token")
		bySession, byKey := s.listen(t, call{path: "/api/events", bearer: token}), s.listen(t, call{path: "/api/events", bearer: key})
		s.do(t, call{method: "DELETE", path: "/api/session", bearer: token}).fine()
		bySession.ends()
		s.tick(t, priced("1", 0.4))
		s.publishOn(t, key, "1")
		s.number(t)
		byKey.next(update.PredictionCreated)
	})
}

func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	cfg := configure(t, backends[0])
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = ln.Addr().String()
	a, err := app.New(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	s := &service{App: a, t: t, base: "http://" + cfg.Addr}
	l := s.listen(t, call{path: "/api/events"})
	cancel()
	l.ends()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestIdleStreamsAreSmall checks that an idle stream holds no buffer of the server. It is not parallel,
// because it measures the process.
func TestIdleStreamsAreSmall(t *testing.T) {
	const count, most = 200, 32 << 10
	s := start(t, backends[0], func(c *config.Config) { c.StreamsMax, c.StreamsPerAddress = count, count })
	used := func() int64 {
		runtime.GC()
		runtime.GC() // the first run leaves the contents of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := used()
	conns := make([]net.Conn, count)
	for i := range conns {
		conns[i] = s.openStream(t)
	}
	each := (used() - before) / count
	t.Logf("%d bytes for each of %d streams, including the test's side", each, count)
	if each > most {
		t.Errorf("%d bytes for a stream, want at most %d", each, most)
	}
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// openStream opens a stream, reads its beginning and keeps only the connection.
func (s *service) openStream(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /api/events HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for buffer := make([]byte, 2048); !strings.Contains(string(text), "heartbeat"); {
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text = append(text, buffer[:n]...)
	}
	if !slices.Contains(strings.Split(string(text), "\r\n"), "HTTP/1.1 200 OK") {
		t.Fatalf("got %q", text)
	}
	return conn
}
