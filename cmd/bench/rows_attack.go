package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// attackers lists the numbers of attacking addresses to measure with.
var attackers = []int{0, 1, 20}

// siegeLength is the least length of a measurement: 500 requests of each bystander. The p99 of a shorter one is
// the latency of one or two requests.
const siegeLength = 10 * time.Second

// attackerClients is the number of connections that each attacking address keeps busy without a key. attackerKeys
// is the number of its keys, each of which keeps one more busy.
const attackerClients, attackerKeys = 4, 5

// expensiveReads are the most expensive requests: searches, rankings, sums and pictures. Each asks for
// something else every time, so that no cache answers.
func expensiveReads() []uncachedRead {
	none := func(int) string { return "" }
	word := func(n int) string { return load.Word(n * 7919 % load.Words) }
	handle := func(n int) string { return "load-" + strconv.Itoa(1+n*31%1000) }
	market := func(n int) string { return "load-" + strconv.Itoa(n%load.PricedMarkets) }
	category := func(n int) string { return "category-" + strconv.Itoa(n%8) }
	read := func(name, contains string, path func(n int) string) uncachedRead {
		return uncachedRead{name: name, path: path, key: none, contains: contains}
	}
	const api, page = `"ok":true`, "</html>"
	return []uncachedRead{
		read("search, ranked", api, func(n int) string { return "/api/predictions?limit=100&sort=edge&q=" + word(n) }),
		read("search of an agent", api, func(n int) string {
			return "/api/predictions?limit=100&agent=" + handle(n) + "&q=" + word(n)
		}),
		read("ranking of a category", api, func(n int) string {
			return "/api/predictions?sort=edge&status=resolved&category=" + category(n) + "&limit=" + strconv.Itoa(1+n%100)
		}),
		read("empty list", api, func(n int) string {
			return "/api/predictions?status=void&category=" + category(n) + "&limit=" + strconv.Itoa(1+n%100)
		}),
		read("long list", api, func(n int) string { return "/api/predictions?limit=100&agent=" + handle(n) }),
		read("record of an agent", api, func(n int) string { return "/api/agents/" + handle(n) }),
		read("review", api, func(n int) string { return "/api/agents/" + handle(n) + "/review" }),
		read("comparison", api, func(n int) string { return "/api/compare?a=" + handle(n) + "&b=" + handle(n+1) }),
		read("agents by name", api, func(n int) string { return "/api/agents?limit=100&q=" + strconv.Itoa(n%1000) }),
		read("markets by word", api, func(n int) string {
			return "/api/intelligence/markets?status=closed&limit=100&q=" + strconv.Itoa(n%1000)
		}),
		read("signals by word", api, func(n int) string { return "/api/intelligence/markets?limit=100&q=" + strconv.Itoa(n%1000) }),
		read("page of a search", page, func(n int) string { return "/search?q=" + word(n) }),
		read("page of an agent", page, func(n int) string { return "/agents/" + handle(n) }),
		read("page of an agent's events", page, func(n int) string { return "/agents/" + handle(n) + "?events=all" }),
		read("page of a market", page, func(n int) string { return "/markets/" + market(n) }),
		read("page of an event", page, func(n int) string {
			before := cursor.Encode("sibling", "false", "-1", "-1", strconv.Itoa(n)) // before all markets, which are closed
			return "/events/load-" + strconv.Itoa(n%(load.PricedMarkets/10)) + "?cursor=" + before
		}),
		read("page of a comparison", page, func(n int) string { return "/compare?a=" + handle(n) + "&b=" + handle(n+1) }),
		read("record of a market", api, func(n int) string { return "/api/intelligence/markets/" + market(n) }),
		read("page of closed markets", page, func(n int) string { return "/markets?state=closed&q=" + strconv.Itoa(n%1000) }),
		read("page with an unknown parameter", page, func(n int) string { return "/?x=" + strconv.Itoa(n) }),
		read("sitemap with a parameter", "<urlset", func(n int) string { return "/sitemap.xml?x=" + strconv.Itoa(n) }),
		read("picture of an agent", "PNG", func(n int) string { return "/agents/" + handle(n) + "/card.png" }),
		{
			name: "search by MCP", path: func(int) string { return "/mcp/public" }, key: none, contains: `"structuredContent":{"ok":true`,
			body: func(n int) []byte {
				return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listPredictions","arguments":{"q":%q,"sort":"edge","limit":100}}}`, word(n))
			},
		},
	}
}

// attack measures the latency of other clients while attackers send the most expensive requests as
// fast as their limits allow, on databases of each size.
func (b *bench) attack(ctx context.Context) (rows []row, err error) {
	for _, size := range b.Attack {
		found, err := b.attackAt(ctx, size)
		rows = append(rows, found...)
		if err != nil {
			return rows, fmt.Errorf("%d predictions: %w", size, err)
		}
	}
	return rows, nil
}

func (b *bench) attackAt(ctx context.Context, size int) (rows []row, err error) {
	name := fmt.Sprintf("attack%d", size)
	postgresURL, sqliteURL := b.postgres.url(databaseName(name)), "sqlite://"+filepath.Join(b.dir, name+".db")
	if err := b.postgres.clone(ctx, "template0", databaseName(name)); err != nil {
		return nil, err
	}
	run.Progress("  loading %d predictions", size)
	keys, err := b.loadLarge(ctx, postgresURL, sqliteURL, time.Now(), min(1000, size), size)
	if err != nil {
		return nil, err
	}
	if err := b.postgres.checkpoint(ctx); err != nil {
		return nil, err
	}
	for _, side := range []struct {
		name, url string
		backends  bool
	}{{"Postgres", postgresURL, true}, {"SQLite", sqliteURL, false}} {
		at := fmt.Sprintf("%s with %s predictions", side.name, number(float64(size)))
		found, _, err := b.uncachedOn(ctx, at, side.url, side.backends, expensiveReads(), atMost(30))
		rows = append(rows, found...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", side.name, err)
		}
		found, err = b.attackOn(ctx, at, side.url, keys)
		rows = append(rows, found...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", side.name, err)
		}
	}
	return rows, nil
}

func (b *bench) attackOn(ctx context.Context, at, url string, keys []string) ([]row, error) {
	n, err := b.serveLimited(ctx, url)
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	s := &siege{node: n, keys: keys, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 200}, Timeout: 20 * time.Second,
	}}
	all := samples{}
	for round := range b.Rounds {
		for i := range attackers {
			count := attackers[(i+round)%len(attackers)]
			found, sent, err := s.measure(ctx, count, max(b.length(), siegeLength))
			if err != nil {
				return nil, err
			}
			run.Progress("  round %d  %d attackers: %s", round+1, count, sent)
			for kind, latencies := range found {
				name := siegeName(kind, count)
				all[name] = append(all[name], sample{p99: percentile(latencies, .99)})
				run.Progress("    %-8s median %.2f ms, p99 %.2f ms of %d", kind, milliseconds(percentile(latencies, .5)),
					milliseconds(percentile(latencies, .99)), len(latencies))
			}
		}
	}
	var rows []row
	for _, kind := range bystanders {
		for _, count := range attackers[1:] {
			rows = append(rows, row{
				what: fmt.Sprintf("%s while %d addresses send the most expensive requests, p99, %s", kind.what, count, at),
				ours: all.latencies(siegeName(kind.name, count)), reference: named("without attackers", all.latencies(siegeName(kind.name, 0))), target: atMost(3),
			})
		}
	}
	return rows, nil
}

func siegeName(kind string, attackers int) string {
	return fmt.Sprintf("%s beside %d", kind, attackers)
}

// bystander is a request that other clients send at a fixed rate during an attack.
type bystander struct {
	name, what, path string
	rate             int // per second
}

var bystanders = []bystander{
	{"publish", "publishing", "/api/predictions", 50},
	{"list", "`/api/predictions`", "/api/predictions", 50},
	{"board", "`/leaderboard`", "/leaderboard", 50},
	{"health", "`/api/health`", "/api/health", 50},
}

// siege sends the requests of attackers and bystanders to a node.
type siege struct {
	node    *node
	keys    []string
	client  *http.Client
	serial  atomic.Int64
	address atomic.Int64 // number of the last attacking address; each attacker gets a new one, with its full limit
}

// measure runs the bystanders beside this many attackers. It returns their latencies by name.
func (s *siege) measure(ctx context.Context, attackers int, length time.Duration) (map[string][]time.Duration, *toll, error) {
	ctx, stop := context.WithTimeout(ctx, length)
	defer stop()
	var group sync.WaitGroup
	sent := &toll{}
	for range attackers {
		number := int(s.address.Add(1))
		from := fmt.Sprintf("203.0.%d.%d", number/250, number%250+1)
		for range attackerClients {
			group.Go(func() { s.assault(ctx, from, "", sent) })
		}
		for i := range attackerKeys {
			group.Go(func() { s.assault(ctx, from, s.keys[(number*attackerKeys+i)%len(s.keys)], sent) })
		}
	}
	found := map[string][]time.Duration{}
	var mu sync.Mutex
	var failed error
	for _, kind := range bystanders {
		group.Go(func() {
			latencies, err := s.stand(ctx, kind)
			mu.Lock()
			defer mu.Unlock()
			found[kind.name] = latencies
			if err != nil {
				failed = err
			}
		})
	}
	group.Wait()
	return found, sent, failed
}

// toll counts the answers of the attackers by status.
type toll struct{ made, limited, unavailable, other atomic.Int64 }

func (t *toll) String() string {
	return fmt.Sprintf("%d answered, %d limited, %d unavailable, %d other", t.made.Load(), t.limited.Load(), t.unavailable.Load(), t.other.Load())
}

// assault sends expensive requests from one address, with a key or without, until ctx ends. It waits a tenth of a
// second after each refusal.
func (s *siege) assault(ctx context.Context, from, key string, sent *toll) {
	reads := expensiveReads()
	for ctx.Err() == nil {
		read := reads[rand.IntN(len(reads))]
		n := rand.IntN(1_000_000)
		method, body := read.method(n)
		status, err := s.send(ctx, method, read.path(n), from, key, body)
		switch {
		case err != nil:
			continue
		case status == http.StatusOK:
			sent.made.Add(1)
			continue
		case status == http.StatusTooManyRequests:
			sent.limited.Add(1)
		case status == http.StatusServiceUnavailable:
			sent.unavailable.Add(1)
		default:
			sent.other.Add(1)
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

// stand sends the requests of a bystander at its rate, however long answers take. It returns the
// latencies, counted from when each request was due.
func (s *siege) stand(ctx context.Context, kind bystander) (latencies []time.Duration, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	tick := time.NewTicker(time.Second / time.Duration(kind.rate))
	defer tick.Stop()
	defer group.Wait()
	for {
		select {
		case <-ctx.Done():
			group.Wait()
			return latencies, err
		case due := <-tick.C:
			group.Go(func() {
				failed := s.one(context.WithoutCancel(ctx), kind)
				took := time.Since(due)
				mu.Lock()
				defer mu.Unlock()
				latencies = append(latencies, took)
				if failed != nil {
					err = failed
				}
			})
		}
	}
}

func (s *siege) one(ctx context.Context, kind bystander) error {
	n := s.serial.Add(1)
	from, method, key := fmt.Sprintf("198.51.%d.%d", n/250%250, n%250+1), http.MethodGet, ""
	var body []byte
	if kind.name == "publish" {
		method, key = http.MethodPost, s.keys[int(n)%len(s.keys)]
		var err error
		if body, err = json.Marshal(map[string]any{
			"title": fmt.Sprintf("Will it be %d?", n), "thesis": "Because " + load.Word(int(n)%load.Words), "confidence": .5,
			"horizonAt": time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339),
		}); err != nil {
			return err
		}
	}
	status, err := s.send(ctx, method, kind.path, from, key, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d", kind.name, status)
	}
	return err
}

func (s *siege) send(ctx context.Context, method, path, from, key string, body []byte) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.node.Address+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("X-Forwarded-For", from)
	r.Header.Set("Accept-Encoding", "br")
	setBodyHeaders(r, body)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// percentile returns the value that a share of the latencies doesn't exceed.
func percentile(latencies []time.Duration, share float64) time.Duration {
	if len(latencies) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(latencies))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// serveLimited is serve with the default limits, for clients that send their address in a header.
func (b *bench) serveLimited(ctx context.Context, databaseURL string) (*node, error) {
	limited := slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return strings.HasPrefix(s, "RATE_LIMIT_") })
	n, err := b.serveWith(ctx, append(limited, "TRUSTED_PROXIES="+net.IPv4(127, 0, 0, 1).String()), databaseURL, "--no-worker")
	if err != nil {
		return nil, err
	}
	return n, n.warm(ctx, n.want("/api/predictions", "{"), n.want("/leaderboard", ""))
}
