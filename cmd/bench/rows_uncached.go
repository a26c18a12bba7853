package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

const (
	// loadedAgents is the number of agents in the large databases.
	loadedAgents = 10_000
	// readers is the number of agents that request their stats, each at most once.
	readers = 4500
	// readsAtMost is the largest number of different requests in one measurement. It is so small
	// that no request repeats within a round, so no cache answers.
	readsAtMost = 1500
	// concurrentReads is the number of requests at a time.
	concurrentReads = 4
)

// uncachedRead is a kind of request that no cache can answer, because n is different each time.
type uncachedRead struct {
	name     string
	path     func(n int) string
	key      func(n int) string
	contains string
	rows     int                // predictions that the answer lists at most; 0 if it isn't used
	body     func(n int) []byte // nil for a GET
}

// method returns the method of a request and its body.
func (r uncachedRead) method(n int) (method string, body []byte) {
	if r.body == nil {
		return http.MethodGet, nil
	}
	return http.MethodPost, r.body(n)
}

func uncachedReads(keys []string, at time.Time) []uncachedRead {
	none := func(int) string { return "" }
	words := func(n int) string {
		if n%2 == 0 {
			return load.Word(n * 7919 % load.Words)
		}
		return load.Word(n*7919%load.Words) + "+" + load.Word(n*n%load.Words)
	}
	deep := func(n int) string {
		id := database.FirstID(at.Add(-24*time.Hour - time.Duration(n%4500)*56*time.Minute - time.Duration(n)*time.Millisecond))
		return cursor.Encode(string(prediction.ByCreatedAt), "", id.String())
	}
	return []uncachedRead{
		{"`/api/stats`", func(int) string { return "/api/stats" }, func(n int) string { return keys[n%len(keys)] }, `"stats":{"agent"`, 0, nil},
		{"`/api/predictions?q=`", func(n int) string { return "/api/predictions?q=" + words(n) }, none, `"predictions":[`, signal.DefaultLimit, nil},
		{"`/api/predictions`, deep cursor", func(n int) string { return "/api/predictions?cursor=" + deep(n) }, none, `"predictions":[{"id"`, signal.DefaultLimit, nil},
		{"`/search`", func(n int) string { return "/search?q=" + words(n) }, none, "</html>", 6, nil},
	}
}

// uncached measures the processor time of reads that no cache answers, on large databases.
func (b *bench) uncached(ctx context.Context) (rows []row, err error) {
	at := time.Now()
	postgresURL, sqliteURL := b.postgres.url(databaseName("large")), "sqlite://"+filepath.Join(b.dir, "large.db")
	if err := b.postgres.clone(ctx, "template0", databaseName("large")); err != nil {
		return nil, err
	}
	run.Progress("  loading %d predictions", b.Predictions)
	keys, err := b.loadLarge(ctx, postgresURL, sqliteURL, at, min(loadedAgents, b.Predictions), b.Predictions)
	if err != nil {
		return nil, err
	}
	// A database that grew has been vacuumed. Without this, autovacuum would run beside the first reads.
	if err := b.postgres.exec(ctx, databaseName("large"), "VACUUM ANALYZE"); err != nil {
		return nil, err
	}
	if err := b.postgres.checkpoint(ctx); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		name, url string
		backends  bool
	}{{"Postgres", postgresURL, true}, {"SQLite", sqliteURL, false}} {
		name := fmt.Sprintf("%s with %s predictions", side.name, number(float64(b.Predictions)))
		found, all, err := b.uncachedOn(ctx, name, side.url, side.backends, uncachedReads(keys, at), atMost(2))
		if err != nil {
			return rows, fmt.Errorf("%s: %w", side.name, err)
		}
		rows = append(rows, found...)
		if side.backends {
			for _, read := range uncachedReads(keys, at) {
				b.floors = append(b.floors, all.usage(read.name+", uncached, "+name, read.name)...)
			}
		}
		if err := b.floorsOfLists(ctx, name, side.url, side.backends, uncachedReads(keys, at), all); err != nil {
			return rows, fmt.Errorf("%s: %w", side.name, err)
		}
	}
	return rows, nil
}

func (b *bench) uncachedOn(ctx context.Context, name, url string, backends bool, reads []uncachedRead, within target) ([]row, samples, error) {
	n, err := b.serve(ctx, url, "--no-worker")
	if err != nil {
		return nil, nil, err
	}
	defer n.Stop()
	var contenders []contender
	for _, read := range reads {
		next := new(atomic.Int64)
		contenders = append(contenders, contender{read.name, func(ctx context.Context) (sample, error) {
			return b.cost(ctx, n, backends, read, next)
		}})
	}
	all, err := b.compare(ctx, contenders)
	if err != nil {
		return nil, nil, err
	}
	var rows []row
	for _, read := range reads {
		what := fmt.Sprintf("%s, uncached, %s, processor time", read.name, name)
		rows = append(rows, row{what: what, ours: all.costs(read.name), target: within})
	}
	return rows, all, nil
}

// floorsOfLists measures in this process what the lists of predictions among reads cost without HTTP, JSON and HTML. all
// holds the costs of the same reads over HTTP.
func (b *bench) floorsOfLists(ctx context.Context, name, address string, backends bool, reads []uncachedRead, all samples) (err error) {
	db, err := database.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	reads = slices.DeleteFunc(reads, func(read uncachedRead) bool { return read.rows == 0 })
	var contenders []contender
	for _, read := range reads {
		next := 0
		contenders = append(contenders, contender{read.name, func(ctx context.Context) (sample, error) {
			return b.listCost(ctx, db, backends, read, &next)
		}})
	}
	alone, err := b.compare(ctx, contenders)
	if err != nil {
		return err
	}
	for _, read := range reads {
		b.floors = append(b.floors, row{
			what: fmt.Sprintf("%s, uncached, %s, processor time", read.name, name),
			ours: all.costs(read.name), reference: named("reading the list", alone.costs(read.name)),
		})
	}
	return nil
}

// listCost reads the lists of predictions that requests ask for, and divides the processor time of this process and of
// the backends by their number.
func (b *bench) listCost(ctx context.Context, db *database.DB, backends bool, read uncachedRead, next *int) (sample, error) {
	before, err := b.ownTime(backends)
	if err != nil {
		return sample{}, err
	}
	began, count := time.Now(), 0
	for ; count < readsAtMost && time.Since(began) < b.length(); count++ {
		*next++
		asked, err := url.Parse(read.path(*next))
		if err != nil {
			return sample{}, err
		}
		f := prediction.Filter{Words: asked.Query().Get("q"), Cursor: asked.Query().Get("cursor"), Limit: read.rows}
		if _, _, err := (prediction.Store{}).List(ctx, db.Reader, f); err != nil {
			return sample{}, err
		}
	}
	after, err := b.ownTime(backends)
	return sample{rate: float64(count) / time.Since(began).Seconds(), cpu: (after - before) / time.Duration(count)}, err
}

// ownTime returns the processor time that this process has used so far, and the backends of Postgres if they count.
func (b *bench) ownTime(backends bool) (time.Duration, error) {
	used, err := run.ProcessorTime(os.Getpid())
	if err != nil || !backends {
		return used, err
	}
	theirs, err := run.BackendsTime(b.postgres.pid)
	return used + theirs, err
}

// cost sends different requests over concurrentReads connections. It divides the processor time of the node,
// and of the Postgres backends if backends is set, by the number of requests.
func (b *bench) cost(ctx context.Context, n *node, backends bool, read uncachedRead, next *atomic.Int64) (sample, error) {
	before, err := b.used(n, backends)
	if err != nil {
		return sample{}, err
	}
	began, end := time.Now(), next.Load()+readsAtMost
	var answered atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range concurrentReads {
		group.Go(func() {
			for time.Since(began) < b.length() {
				number := next.Add(1)
				if number > end {
					return
				}
				if err := n.ask(ctx, read, int(number)); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = err
					return
				}
				answered.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if failed != nil {
		return sample{}, failed
	}
	after, err := b.used(n, backends)
	if err != nil {
		return sample{}, err
	}
	count := float64(answered.Load())
	each := after.per(before, count)
	return sample{rate: count / took.Seconds(), cpu: each.sum(), shares: each}, nil
}

// used returns the processor time that the node and the backends have used so far.
func (b *bench) used(n *node, backends bool) (s shares, err error) {
	if s, err = b.shares(n, backends); err == nil {
		s.generator = 0
	}
	return s, err
}

// readClient keeps a connection for each of the concurrent requests. http.DefaultClient keeps two, so
// half of the requests would also cost the node a new connection.
var readClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrentReads}}

// ask sends one request, as most clients do with gzip allowed, and checks its answer.
func (n *node) ask(ctx context.Context, read uncachedRead, number int) error {
	path := read.path(number)
	method, sent := read.method(number)
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.Address+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", userAgent)
	setBodyHeaders(request, sent)
	request.Header.Set("Accept-Encoding", "gzip")
	if key := read.key(number); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := readClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := unpacked(response)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(read.contains)) {
		return fmt.Errorf("%s %s: status %d, without %q: %.300s", method, path, response.StatusCode, read.contains, body)
	}
	return nil
}

// setBodyHeaders describes a body. MCP requires a client to accept both types.
func setBodyHeaders(request *http.Request, body []byte) {
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
	}
}

// unpacked reads a body, which may be compressed with gzip.
func unpacked(response *http.Response) ([]byte, error) {
	switch coding := response.Header.Get("Content-Encoding"); coding {
	case "":
		return io.ReadAll(response.Body)
	case "gzip":
		r, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	default:
		return nil, fmt.Errorf("unexpected Content-Encoding %q", coding)
	}
}

// loadLarge fills both databases with the same predictions and boards. It returns the keys of some
// agents.
func (b *bench) loadLarge(ctx context.Context, postgresURL, sqliteURL string, at time.Time, agents, predictions int) (keys []string, err error) {
	large, err := database.Open(ctx, postgresURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, large.Close()) }()
	small, err := database.Open(ctx, sqliteURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.Close()) }()
	began := time.Now()
	step := func(name string, do func() error) {
		if err == nil {
			err = do()
			run.Progress("  %s after %s", name, time.Since(began).Round(time.Second))
		}
	}
	step("migrated", func() error { return errors.Join(second(large.Migrate(ctx)), second(small.Migrate(ctx))) })
	step("loaded", func() error { return load.Run(ctx, large, agents, predictions, at) })
	step("issued keys", func() (err error) {
		keys, err = issueKeys(ctx, large, at)
		return err
	})
	step("built boards", func() error {
		rules := leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}
		return leaderboard.NewBuilder(large, rules, time.Now).Rebuild(ctx)
	})
	step("copied to SQLite", func() error { return load.Copy(ctx, large, small) })
	step("indexed words on Postgres", func() error { return load.IndexWords(ctx, large) })
	step("indexed words on SQLite", func() error { return load.IndexWords(ctx, small) })
	return keys, err
}

func second(_ []string, err error) error { return err }

func issueKeys(ctx context.Context, db *database.DB, at time.Time) (keys []string, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		ids, err := agent.Store{}.IDs(ctx, tx, load.AgentID(0), readers)
		if err != nil {
			return err
		}
		for _, id := range ids {
			key, _, err := agent.Store{}.IssueKey(ctx, tx, id, "bench", at)
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}
