package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/update"
)

// searches counts the queries that search predictions for words.
type searches struct{ n atomic.Int64 }

func (s *searches) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *searches) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "prediction_words") && strings.HasPrefix(e.Query, "SELECT") {
		s.n.Add(1)
	}
}

// chunks counts the chunks of older updates that were read.
type chunks struct{ n atomic.Int64 }

func (c *chunks) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (c *chunks) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "update_chunks") && strings.HasPrefix(e.Query, "SELECT") && e.Result != nil {
		if n, err := e.Result.RowsAffected(); err == nil {
			c.n.Add(n)
		}
	}
}

// limited sets the default limits, and trusts the client addresses that a test sends.
func limited(cfg *config.Config) {
	by := config.Default()
	cfg.RateLimitReads, cfg.RateLimitWrites, cfg.RateLimitSnapshot = by.RateLimitReads, by.RateLimitWrites, by.RateLimitSnapshot
	cfg.RateLimitReadsAddress, cfg.RateLimitFailures, cfg.TrustedProxies = by.RateLimitReadsAddress, by.RateLimitFailures, "127.0.0.1"
}

// from returns the header of a client's address.
func from(address string) map[string]string { return map[string]string{"X-Forwarded-For": address} }

// TestDearestRequests checks that an address that sends the most expensive requests, each for another word,
// is stopped once its units are spent. Its further requests don't reach the database, and other callers are
// served.
func TestDearestRequests(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			asked := &searches{}
			s := run(t, configure(t, b, limited), app.Options{Queries: asked, Now: func() time.Time { return now }})
			dear := func(n int) answer {
				return s.do(t, call{path: fmt.Sprintf("/api/predictions?limit=100&sort=edge&q=word%d", n), header: from("192.0.2.1")})
			}
			const affordable = 1200 / int(httpserver.Search)
			made, began := 0, time.Now()
			for made < 10*affordable && dear(made).status == http.StatusOK {
				made++
			}
			most := affordable
			if b.redis { // which has its own clock
				most += 1 + int(time.Since(began).Minutes()*float64(affordable))
			}
			if made < affordable || made > most {
				t.Errorf("%d searches were answered, want %d to %d", made, affordable, most)
			}
			before := asked.n.Load()
			if most := int64(4 * made); before > most || before == 0 {
				t.Errorf("%d queries for %d searches, want at most %d", before, made, most)
			}
			answered := 0 // with Redis, whose clock goes on
			for n := range 20 {
				if refused := dear(1000 + n); refused.status == http.StatusOK {
					answered++
				} else {
					refused.refused(http.StatusTooManyRequests, "rate_limited")
				}
			}
			if more := asked.n.Load() - before; more > int64(4*answered) || answered > 0 && !b.redis {
				t.Errorf("of 20 more searches, %d were answered, and they sent %d queries", answered, more)
			}
			ranked := s.do(t, call{path: "/api/predictions?limit=100&sort=edge&q=word", header: from("192.0.2.2")})
			ranked.fine()
			if ranked.json["newest"] != nil {
				t.Errorf("the list without matches says that it ranks the newest %v", ranked.json["newest"])
			}
			s.do(t, call{path: "/api/predictions?limit=100&sort=edge&q=word", header: from("192.0.2.3")}).fine()
		})
	}
}

// TestResumedStreams checks that an address that resumes streams at the beginning of a long log, with a filter that
// lets nothing through, reads no more of it than its units allow, and that others can resume meanwhile.
func TestResumedStreams(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			const streams, units, log, perChunk = 5, 60, 30, 400
			read := &chunks{}
			s := run(t, configure(t, b, limited, func(cfg *config.Config) {
				cfg.RateLimitReads = config.Rate{N: units, Per: time.Hour} // no unit returns during the test
			}), app.Options{Queries: read})
			for range log {
				list := make([]update.Update, perChunk)
				for i := range list {
					list[i] = update.Update{Type: update.MarketMoved, At: time.Now(), Ref: update.Ref{Market: &update.Market{ID: "m"}}}
				}
				if err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return update.Record(ctx, tx, list...) }); err != nil {
					t.Fatal(err)
				}
			}
			s.number(t)
			resume := func(query, address, after string) *http.Request {
				header := from(address)
				header["Last-Event-ID"] = after
				return s.request(t, call{path: "/api/events" + query, header: header})
			}
			for range streams {
				res, err := http.DefaultTransport.RoundTrip(resume("?types=stream.gap", "192.0.2.61", "0"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { res.Body.Close() })
			}
			const most = int64((units - streams) / int(httpserver.Listing)) // a portion is one chunk of this size
			for deadline := time.Now().Add(time.Minute); read.n.Load() < most; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatalf("%d chunks were read, want %d", read.n.Load(), most)
				}
			}
			req := resume("", "192.0.2.62", fmt.Sprint((log-1)*perChunk))
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			lines, events := bufio.NewScanner(res.Body), 0
			for lines.Scan() && !strings.Contains(lines.Text(), "heartbeat") {
				if strings.HasPrefix(lines.Text(), "data:") {
					events++
				}
			}
			if events != perChunk {
				t.Errorf("another reader got %d updates, want %d", events, perChunk)
			}
			if n := read.n.Load(); n > most+4 { // the other reader reads the last chunk up to four times
				t.Errorf("%d of %d chunks were read for %d streams, want at most %d", n, streams*log, streams, most+4)
			}
			s.do(t, call{path: "/api/predictions?limit=7", header: from("192.0.2.61")}).refused(http.StatusTooManyRequests, "rate_limited")
		})
	}
}

// handleReads counts the queries for the handles that MCP suggests.
type handleReads struct{ n atomic.Int64 }

func (h *handleReads) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (h *handleReads) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "a.handle >=") {
		h.n.Add(1)
	}
}

// rpc sends a message to MCP without a key, and returns the status and the answer.
func (s *service) rpc(t *testing.T, address, method string, params map[string]any) string {
	t.Helper()
	header := from(address)
	header["Accept"], header["User-Agent"] = "application/json, text/event-stream", "test"
	return sent(s.request(t, call{method: "POST", path: "/mcp/public", header: header, body: map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": method, "params": params,
	}}))
}

// complete asks MCP for handles that begin with the typed text, and returns its answer.
func (s *service) complete(t *testing.T, address, typed string) string {
	t.Helper()
	return s.rpc(t, address, "completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/prompt", "name": "reviewRoutine"},
		"argument": map[string]any{"name": "handle", "value": typed},
	})
}

// TestListsOfToolsPay checks that an address that lists the tools of MCP is stopped once its units are spent.
func TestListsOfToolsPay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		const attacker, other = "198.18.0.1", "198.19.0.1"
		listed := 0
		for range 10 {
			switch got := s.rpc(t, attacker, "tools/list", map[string]any{}); {
			case strings.Contains(got, `"inputSchema"`):
				listed++
			case !strings.Contains(got, `"error"`) || !strings.Contains(got, "units"):
				t.Errorf("%.300s", got)
			}
		}
		if listed != 3 {
			t.Errorf("%d lists for 3 times their units", listed)
		}
		if got := s.rpc(t, other, "tools/list", map[string]any{}); !strings.Contains(got, `"inputSchema"`) {
			t.Errorf("another address: %.300s", got)
		}
	}, limited, func(c *config.Config) { c.RateLimitReads = config.Rate{N: 3 * int(httpserver.Listing), Per: time.Hour} })
}

// lockedBuffer is a log that a test can read while the service writes it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestCompletionsPay checks that an address that asks MCP for handles is stopped once its units are spent, and
// that a completion doesn't wait for a locked table.
func TestCompletionsPay(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			const units = 10
			read, logged := &handleReads{}, &lockedBuffer{}
			s := run(t, configure(t, b, limited, func(cfg *config.Config) {
				cfg.RateLimitReads = config.Rate{N: units, Per: time.Hour} // no unit returns during the test
				cfg.RateLimitWrites = config.Rate{}                        // registrations of other tests count against the same address in Redis
				cfg.LogFormat = "json"
			}), app.Options{Log: logged, Queries: read})
			s.register(t, "Ada")
			if got := s.complete(t, "192.0.2.41", "a"); !strings.Contains(got, `"values":["ada"]`) {
				t.Fatal(got)
			}
			for range 2 * units {
				s.complete(t, "192.0.2.41", "a")
			}
			if n := read.n.Load(); n != units/int64(httpserver.Lookup) {
				t.Errorf("%d queries for %d units", n, units)
			}
			if got := s.complete(t, "192.0.2.41", "a"); !strings.Contains(got, "units") || !strings.Contains(got, `"error"`) {
				t.Errorf("beyond the limit: %s", got)
			}
			if got := s.complete(t, "192.0.2.42", "a"); !strings.Contains(got, `"values":["ada"]`) {
				t.Errorf("another address: %s", got)
			}
			if b.kind != database.Postgres {
				return
			}
			tx, err := s.DB.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.ExecContext(t.Context(), "LOCK TABLE agents IN ACCESS EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			if got := s.complete(t, "192.0.2.43", "a"); !strings.Contains(got, "can't be read at the moment") {
				t.Errorf("while the table is locked: %s", got)
			}
			if !regexp.MustCompile(`"mcp: a completion failed","request_id":"[^"]+","error":"[^"]+`).MatchString(logged.text()) {
				t.Error("the error of the completion isn't in the log with the id of its request")
			}
		})
	}
}

// TestRefusedPricesReadNothing checks that a request for prices that is refused has read nothing.
func TestRefusedPricesReadNothing(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			read := &counter{}
			s := run(t, configure(t, b, limited, func(cfg *config.Config) {
				cfg.RateLimitReads = config.Rate{N: 2*int(httpserver.Listing) + 1, Per: time.Hour} // no unit returns during the test
			}), app.Options{Queries: read})
			s.tick(t, priced("1", 0.4))
			prices := func(day int) answer {
				return s.do(t, call{path: fmt.Sprintf("/api/intelligence/markets/1/prices?from=2026-11-%02dT00:00:00Z&to=2026-11-20T00:00:00Z", day), header: from("192.0.2.51")})
			}
			prices(1).fine()
			prices(2).fine()
			before := read.n.Load()
			if detail := prices(3).refused(http.StatusTooManyRequests, "rate_limited"); !strings.Contains(detail, "This read costs") {
				t.Error(detail)
			}
			if more := read.n.Load() - before; more != 0 || before == 0 {
				t.Errorf("%d queries, then %d for a refused request", before, more)
			}
		})
	}
}

// TestDearFilters checks that an address that filters the signals of a snapshot by another word each time
// is stopped once it has compressed a few lists. Answers that are kept, and answers without compression, are
// still sent. No answer costs units of reads.
func TestDearFilters(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := run(t, configure(t, backends[0], limited), app.Options{Now: func() time.Time { return now }})
	var markets []market.Market
	for n := range 300 {
		markets = append(markets, market.Market{
			ID: fmt.Sprint("m", n), Question: fmt.Sprintf("Will w%d happen?", n), Outcomes: []string{"Yes", "No"}, Active: true, Volume: new(float64),
		})
	}
	s.Markets.Replicator.Feed().Publish(signal.Reading[market.Market]{Records: markets, AsOf: now, Source: "test", Interval: time.Minute})
	get := func(query, coding string) answer {
		header := from("192.0.2.1")
		if coding != "gzip" { // the client asks for gzip by default, and decodes it
			header["Accept-Encoding"] = coding
		}
		got := s.do(t, call{path: "/api/intelligence/markets?" + query, header: header})
		now = now.Add(20 * time.Millisecond) // stays below the limit for snapshots
		return got
	}
	const affordable = 100 / int(httpserver.Filtered)
	const first = 100 // no longer word contains another one
	made, last := 0, get(fmt.Sprintf("q=w%d", first), "gzip")
	for made < 190 && last.status == http.StatusOK {
		if got := last.header.Get("RateLimit"); got != "" {
			t.Fatalf("a public answer tells its caller's limit: %s", got)
		}
		made++
		last = get(fmt.Sprintf("q=w%d", first+made), "gzip")
	}
	if made < affordable || made > affordable+5 { // the limit is by the second, so some return meanwhile
		t.Errorf("%d filtered lists were compressed, want %d", made, affordable)
	}
	if detail := last.refused(http.StatusTooManyRequests, "rate_limited"); !strings.Contains(detail, "counts as 10") {
		t.Error(detail)
	}
	get("q=w295", "identity").fine()
	get("limit=7", "gzip").fine()
	get(fmt.Sprintf("q=w%d", first+made-1), "gzip").fine()
	get(fmt.Sprintf("limit=5&q=W%d!", first+made-1), "gzip").fine()
	if got := s.do(t, call{path: "/api/predictions", header: from("192.0.2.1")}).fine().header.Get("RateLimit"); !strings.HasPrefix(got, `"reads";r=1199;`) {
		t.Errorf("the reads that are left: %s", got)
	}
}

// TestEveryAddressIsLimited checks that answers which need no database count against the limit of answers from
// memory, whether or not there is something at the address.
func TestEveryAddressIsLimited(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0], limited, func(c *config.Config) { c.RateLimitSnapshot = config.Rate{N: 3, Per: time.Hour} })
	style := regexp.MustCompile(`/static/[^"]+\.css[^"]*`).Find(s.do(t, call{path: "/"}).raw)
	for i, c := range []struct {
		path   string
		status int
	}{
		{string(style), 200},
		{"/static/none.css", 404}, {"/clients/none", 404}, {"/none", 404}, {"/api/none", 404},
		{"/robots.txt", 200}, {"/llms.txt", 200}, {"/api/health", 200}, {"/api/openapi.json", 200}, {"/api/intelligence/markets", 200},
	} {
		address := from(fmt.Sprintf("192.0.2.%d", i+1))
		for n := range 5 {
			want := c.status
			if n >= 3 {
				want = http.StatusTooManyRequests
			}
			if got := s.do(t, call{path: c.path, header: address}); got.status != want {
				t.Errorf("%s, request %d: %d, want %d", c.path, n+1, got.status, want)
			}
		}
	}
}

// TestFullOfDearReads checks that while expensive reads wait for a locked table, further ones are refused at
// once or get the last good copy, and all other requests are answered.
func TestFullOfDearReads(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // added to the real clock
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := run(t, configure(t, backends[1], limited), app.Options{Now: now})
	key := s.register(t, "Ada")
	s.do(t, call{path: "/api/predictions", header: from("198.51.100.1")}).fine()
	kept := []string{"/api/agents?q=ada", "/agents/ada"}
	for _, path := range kept {
		s.do(t, call{path: path, header: from("198.51.100.1")}).fine()
	}
	tx, err := s.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE agent_labels IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	unlock := sync.OnceFunc(func() { _ = tx.Rollback() })
	t.Cleanup(unlock)
	stop := s.flood(t)
	defer stop()
	for n, path := range kept {
		var got answer
		for range 20 { // a place may become free just when the page is requested
			ahead.Add(int64(time.Minute)) // so that no copy is fresh
			got = s.do(t, call{path: path, header: from(fmt.Sprintf("203.0.113.%d", n+1))}).fine()
			if got.header.Get("Cache-Status") != "" {
				break
			}
		}
		if got.header.Get("Cache-Status") == "" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is never the last good copy: %v", path, got.header)
		}
	}
	for n, c := range []call{
		{path: "/api/predictions"}, {path: "/api/health"}, {path: "/api/intelligence/markets"},
		{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}},
		{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil)},
	} {
		c.header = from(fmt.Sprintf("198.51.100.%d", n+1))
		s.do(t, c).fine()
	}
	unlock()
	stop()
	s.do(t, call{path: "/api/agents?q=word", header: from("198.51.100.9")}).fine()
}

// flood sends searches from many addresses, each search for another word, until stop is called. It returns once
// one of them was refused because the queue is full. stop checks that each answer was 200 or 503.
func (s *service) flood(t *testing.T) (stop func()) {
	t.Helper()
	const senders = 60 // for each place, so that its queue is always full
	full, stopped, all := make(chan struct{}), atomic.Bool{}, sync.WaitGroup{}
	refused := sync.OnceFunc(func() { close(full) })
	for sender := range senders * max(runtime.GOMAXPROCS(0)/2, 1) {
		all.Go(func() {
			for n := 0; !stopped.Load(); n++ {
				caller := sender<<14 + n
				got := sent(s.request(t, call{path: fmt.Sprintf("/api/agents?q=word%d", caller), header: from(fmt.Sprintf("10.%d.%d.%d", caller>>16, caller>>8&0xff, caller&0xff))}))
				switch {
				case strings.HasPrefix(got, "503 ") && strings.Contains(got, "Too many slow answers"):
					refused()
				case !strings.HasPrefix(got, "200 ") && !strings.HasPrefix(got, "503 "):
					t.Error(got)
					return
				}
			}
		})
	}
	select {
	case <-full:
	case <-time.After(time.Minute):
		t.Error("no search was refused")
	}
	return sync.OnceFunc(func() {
		stopped.Store(true)
		all.Wait()
	})
}

// sent sends a request and returns the status and the body.
func sent(req *http.Request) string {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(body), err)
}

// TestManyKeysOfOneAddress checks that five keys of one address can read only as much as three, however often
// they try, and that a key at another address and readers without a key are served.
func TestManyKeysOfOneAddress(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, b, limited, func(c *config.Config) { // by the hour, so that no unit returns during the test
				c.RateLimitReads, c.RateLimitReadsAddress = config.Rate{N: 100, Per: time.Hour}, config.Rate{N: 300, Per: time.Hour}
			})
			const attacker = "198.18.0.1"
			search := func(key, address string, n int) answer {
				return s.do(t, call{path: fmt.Sprintf("/api/predictions?limit=100&sort=edge&q=word%d", n), bearer: key, header: from(address)})
			}
			made := 0
			for k := range 5 {
				key := s.register(t, fmt.Sprint("Ada ", k))
				for n := range 10 {
					switch got := search(key, attacker, 10*k+n); got.status {
					case http.StatusOK:
						made++
					default:
						got.refused(http.StatusTooManyRequests, "rate_limited")
					}
				}
			}
			if most := 300 / int(httpserver.Search); made > most || made < most-3 { // each refusal costs a unit
				t.Errorf("%d searches were answered, want %d at most", made, most)
			}
			search(s.register(t, "Bob"), "198.19.0.1", 100).fine()
			search("", attacker, 101).fine()
		})
	}
}
