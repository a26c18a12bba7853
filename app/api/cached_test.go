package api_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/source"
)

// counter counts the statements of requests, and keeps the last one.
type counter struct {
	n    atomic.Int64
	last atomic.Pointer[string]
}

func (c *counter) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (c *counter) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if ofRequest() {
		c.n.Add(1)
		c.last.Store(&e.Query)
	}
}

// ofRequest reports whether a handler, or a load that package api started, is among its callers. The jobs of a node also
// ask the database.
func ofRequest() bool {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/app/api.") || strings.Contains(f.Function, "/gofiber/fiber/") {
			return true
		}
		if !more {
			return false
		}
	}
}

// bench is an app with a clock, a market source and counted queries.
type bench struct {
	*service
	counter
	ahead  atomic.Int64              // added to the real clock
	frozen atomic.Pointer[time.Time] // what the clock shows once it stands still
	logged lockedBuffer

	mu      sync.Mutex
	markets []market.Market
}

func (b *bench) now() time.Time {
	if at := b.frozen.Load(); at != nil {
		return *at
	}
	return time.Now().Add(time.Duration(b.ahead.Load()))
}

// freeze stops the clock, so that no copy in memory expires during the rest of the test.
func (b *bench) freeze() {
	at := b.now()
	b.frozen.Store(&at)
}

func (b *bench) Top(context.Context, int) (source.Markets, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, at := slices.Clone(b.markets), b.now()
	for i := range list {
		list[i].ObservedAt = at
	}
	return source.Markets{Markets: list, ObservedAt: at}, nil
}

func (b *bench) ByID(context.Context, []string) (source.Markets, error) { return source.Markets{}, nil }

func (b *bench) Events(context.Context, []string) ([]market.Event, error) { return nil, nil }

func (b *bench) Winner(context.Context, *market.Market) (int, bool, error) { return 0, false, nil }

// startBench runs an app that has read two markets.
func startBench(t *testing.T, on backend) *bench {
	b := &bench{}
	b.fill()
	b.service = run(t, configure(t, on), app.Options{Now: b.now}, func(a *app.App) {
		a.DB.Watch(b)
		a.Markets.Source = b
	})
	b.tick(t)
	return b
}

// fill gives the source its two markets.
func (b *bench) fill() {
	for i, id := range []string{"rain", "snow"} {
		volume, price, liquidity := float64(2000-i), 0.4, 50_000.0
		b.markets = append(b.markets, market.Market{
			ID: id, Source: "polymarket", EventID: "weather", EventTitle: "Which weather?", Question: "Will it " + id + "?", Title: id, Outcomes: []string{"Yes", "No"}, Prices: []float64{0.4, 0.6},
			Probability: &price, Price: &price, Volume: &volume, Liquidity: &liquidity, Active: true, ClosesAt: time.Now().AddDate(0, 0, 9),
		})
	}
}

func (b *bench) tick(t *testing.T) {
	t.Helper()
	if _, err := b.Markets.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// eachBench runs a test on every backend.
func eachBench(t *testing.T, test func(t *testing.T, b *bench)) {
	for _, on := range backends {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			test(t, startBench(t, on))
		})
	}
}

// publish publishes a prediction on a market and returns its id.
func (s *service) publish(t *testing.T, key, marketID string, changes map[string]any) string {
	t.Helper()
	body := forecast(map[string]any{"marketId": marketID, "confidence": 0.7})
	for name, value := range changes {
		body[name] = value
	}
	return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: body}).fine().text("prediction", "id")
}

// look makes the node read all topics that have moved, as any request with a bearer does.
func (s *service) look(t *testing.T, key string) {
	t.Helper()
	s.do(t, call{path: "/api/predictions?limit=1", bearer: key}).fine()
}

// keptReads maps operations that are answered from memory to an address of each. Every operation that anyone may read
// is among them, except those of unkept. They need the agents Ada and Bea.
func keptReads(id string) map[string]string {
	today := time.Now().Truncate(24 * time.Hour)
	around := "?from=" + today.AddDate(0, 0, -9).UTC().Format(time.RFC3339) + "&to=" + today.AddDate(0, 0, 2).UTC().Format(time.RFC3339)
	return map[string]string{
		"listPredictions": "/api/predictions",
		"getPrediction":   "/api/predictions/" + id,
		"getLeaderboard":  "/api/leaderboard",
		"listModels":      "/api/models",
		"listAgents":      "/api/agents",
		"getAgent":        "/api/agents/ada",
		"getReview":       "/api/agents/ada/review",
		"compareAgents":   "/api/compare?a=ada&b=bea",
		"listAssignments": "/api/assignments",
		"listEvents":      "/api/intelligence/events",
		"getEvent":        "/api/intelligence/events/weather",
		"getMarket":       "/api/intelligence/markets/rain",
		"listPrices":      "/api/intelligence/markets/rain/prices" + around,
		"listChanges":     "/api/changes",
		"listData":        "/api/data",
		"listMarkets":     "/api/intelligence/markets",
		"listNews":        "/api/intelligence/news",
	}
}

// unkept lists the other operations that anyone may read: the health of this moment, a stream, files, and texts of the
// program.
var unkept = []string{"getHealth", "streamUpdates", "getDataFile", "getDataTexts", "getSkill", "getQuickstart", "getOpenAPI"}

// storedReads returns the kept reads that come from the database.
func storedReads(id string) map[string]string {
	reads := keptReads(id)
	delete(reads, "listMarkets")
	delete(reads, "listNews")
	return reads
}

// TestEveryPublicReadIsKept checks that no operation is missing from TestWarmAnswersAskNothing.
func TestEveryPublicReadIsKept(t *testing.T) {
	t.Parallel()
	all, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	reads := keptReads("")
	for _, op := range all {
		public := op.Method == http.MethodGet && op.Bearer() != contract.Required
		if _, kept := reads[op.OperationID]; public && !kept && !slices.Contains(unkept, op.OperationID) {
			t.Errorf("%s %s is not tried", op.Method, op.Path)
		}
	}
}

func TestWarmAnswersAskNothing(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.register(t, "Bea")
		id := b.publish(t, key, "rain", nil)
		b.look(t, key)
		b.freeze()
		for _, path := range keptReads(id) {
			first := b.do(t, call{path: path}).fine()
			before := b.n.Load()
			again := b.do(t, call{path: path}).fine()
			if !bytes.Equal(first.raw, again.raw) || again.header.Get("ETag") != first.header.Get("ETag") {
				t.Errorf("%s differs", path)
			}
			head := b.do(t, call{method: http.MethodHead, path: path, header: map[string]string{"Accept-Encoding": "gzip"}})
			if head.status != 200 || len(head.raw) != 0 || head.header.Get("ETag") != first.header.Get("ETag") {
				t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
			}
			unchanged := b.do(t, call{path: path, header: map[string]string{"If-None-Match": first.header.Get("ETag")}})
			if unchanged.status != http.StatusNotModified || len(unchanged.raw) != 0 {
				t.Errorf("%s: %d with %d bytes", path, unchanged.status, len(unchanged.raw))
			}
			if asked := b.n.Load() - before; asked != 0 {
				t.Errorf("%s: %d queries while warm, the last is %s", path, asked, *b.last.Load())
			}
		}
	})
}

func TestEqualQuestionsShareAnAnswer(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.publish(t, key, "rain", nil)
		b.look(t, key)
		b.freeze()
		for _, forms := range [][]string{
			{"/api/predictions", "/api/predictions?limit=24", "/api/predictions?sort=createdAt", "/api/predictions?q=", "/api/predictions?limit=024&utm_source=x"},
			{"/api/predictions?category=General&agent=ada", "/api/predictions?agent=ada&category=general", "/api/predictions?agent=ada&category=GENERAL&_=1"},
			{"/api/leaderboard", "/api/leaderboard?window=all", "/api/leaderboard?limit=24&cursor="},
			{"/api/assignments", "/api/assignments?limit=24"},
			{"/api/intelligence/markets/rain", "/api/intelligence/markets/%72ain"},
			{"/api/intelligence/markets/rain/prices", "/api/intelligence/markets/rain/prices?cursor="},
			{
				"/api/intelligence/markets/rain/prices?every=1d&from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z",
				"/api/intelligence/markets/rain/prices?to=2026-11-21T01:00:00%2B01:00&from=2026-11-20T00:00:00.000Z&every=24h",
			},
			{"/api/data", "/api/data?limit=24&cursor="},
		} {
			first := b.do(t, call{path: forms[0]}).fine()
			before := b.n.Load()
			for _, path := range forms[1:] {
				if again := b.do(t, call{path: path}).fine(); !bytes.Equal(first.raw, again.raw) {
					t.Errorf("%s differs from %s", path, forms[0])
				}
			}
			if asked := b.n.Load() - before; asked != 0 {
				t.Errorf("%s: %d queries for equivalent requests", forms[0], asked)
			}
		}
		other := b.register(t, "Bob")
		for mine, named := range map[string]string{"/api/predictions?agent=me": "/api/predictions?agent=ada", "/api/compare?a=me&b=bob": "/api/compare?a=ada&b=bob"} {
			first := b.do(t, call{path: mine, bearer: key}).fine()
			if again := b.do(t, call{path: named, bearer: key}).fine(); !bytes.Equal(first.raw, again.raw) {
				t.Errorf("%s differs from %s", mine, named)
			}
			if again := b.do(t, call{path: mine, bearer: other}); bytes.Equal(first.raw, again.raw) {
				t.Errorf("%s of another agent: %s", mine, again.raw)
			}
			if detail := b.do(t, call{path: mine}).refused(http.StatusUnauthorized, "missing_credentials"); !strings.Contains(detail, "me stands for the agent of the key") {
				t.Errorf("%s without a key: %s", mine, detail)
			}
		}
		narrow := b.do(t, call{path: "/api/predictions?category=nothing"}).fine()
		if narrow.count("predictions") != 0 {
			t.Error("another query got the same answer")
		}
	})
}

func TestCachingHeaders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		id := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil)}).fine().text("prediction", "id")
		for _, c := range []struct {
			path, bearer, cacheControl, vary string
		}{
			{"/api/predictions", "", "no-cache", "Authorization"},
			{"/api/predictions", key, "private, no-cache", "Authorization"},
			{"/api/predictions/" + id, "", "no-cache", "Authorization"},
			{"/api/agents/ada", key, "private, no-cache", "Authorization"},
			{"/api/assignments", "", "no-cache", "Authorization"},
			{"/api/assignments", key, "private, no-cache", "Authorization"},
			{"/api/leaderboard", "", "no-cache", "Authorization"},
			{"/api/stats", key, "private, no-cache", ""},
			{"/api/predictions/" + id + "/report", key, "private, no-cache", ""},
			{"/api/agents/me/keys", key, "private, no-cache", ""},
			{"/api/skill", "", "public, max-age=300", ""},
			{"/api/quickstart", "", "public, max-age=300", ""},
			{"/api/openapi.json", "", "public, max-age=300", ""},
		} {
			got := s.do(t, call{path: c.path, bearer: c.bearer})
			tag, vary := got.header.Get("ETag"), got.header.Get("Vary")
			if got.header.Get("Cache-Control") != c.cacheControl || !strings.Contains(vary, c.vary) || !strings.Contains(vary, "Accept-Encoding") || tag == "" {
				t.Errorf("%s: Cache-Control %q, Vary %q, ETag %q", c.path, got.header.Get("Cache-Control"), vary, tag)
			}
			again := s.do(t, call{path: c.path, bearer: c.bearer, header: map[string]string{"If-None-Match": tag}})
			if again.status != http.StatusNotModified || again.header.Get("Cache-Control") != c.cacheControl || again.header.Get("Vary") != vary {
				t.Errorf("%s: %d %v", c.path, again.status, again.header)
			}
		}
		for _, path := range []string{"/api/predictions/" + id[:35] + "x", "/api/agents/nobody-here"} {
			got := s.do(t, call{path: path})
			got.refused(404, "not_found")
			if got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" {
				t.Errorf("%s: %v", path, got.header)
			}
		}
	})
}

// TestOwnPublicationsShowAtOnce checks that an author sees its publication at once, even on another node
// with an older copy. Other callers see it once that node has read the topics.
func TestOwnPublicationsShowAtOnce(t *testing.T) {
	t.Parallel()
	on := backends[slices.IndexFunc(backends, func(b backend) bool { return b.redis })]
	one := startBench(t, on)
	cfg := one.Config()
	cfg.Addr, cfg.BaseURL = "127.0.0.1:0", ""
	other := run(t, cfg, app.Options{Now: one.now})
	key := one.register(t, "Ada")
	for i := range 10 {
		node, far := one.service, other
		if i%2 == 1 {
			node, far = far, node
		}
		for _, path := range []string{"/api/predictions", "/api/intelligence/markets/rain"} {
			far.do(t, call{path: path}).fine() // an older copy
		}
		id := node.publish(t, key, "rain", nil)
		for _, s := range []*service{node, far} {
			for _, path := range []string{"/api/predictions", "/api/intelligence/markets/rain"} {
				if got := s.do(t, call{path: path, bearer: key}).fine(); got.text("predictions", 0, "id") != id {
					t.Errorf("%s doesn't have the author's publication: %s", path, got.raw)
				}
			}
			if got := s.do(t, call{path: "/api/assignments", bearer: key}).fine(); got.header.Get("Cache-Control") != "private, no-cache" {
				t.Errorf("assignments: %v", got.header)
			}
		}
		id = node.publish(t, key, "rain", nil)
		for deadline := time.Now().Add(10 * time.Second); ; {
			if other.do(t, call{path: "/api/predictions"}).fine().text("predictions", 0, "id") == id {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("others never see it")
			}
		}
	}
}

// establish makes an agent count in the consensus, as if it had settled events.
func (b *bench) establish(t *testing.T, handle string) {
	t.Helper()
	_, err := b.DB.ExecContext(t.Context(), `INSERT INTO agent_days (agent_id, category, day, clusters, cluster_sum)
		SELECT id, '', '2026-01-01', ?, 0 FROM agents WHERE handle = ?`, settlement.ConsensusEvents, handle)
	if err != nil {
		t.Fatal(err)
	}
}

// TestOwnConsensusShowsAtOnce checks that an agent sees its latest prediction in the consensus of a market. Others,
// with a key or without, see it after the next count.
func TestOwnConsensusShowsAtOnce(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.establish(t, "ada")
		another := b.register(t, "Another")
		for _, step := range []struct {
			confidence float64
			others     any // the median that others see before the count
		}{{0.8, nil}, {0.7, 0.8}} {
			b.publish(t, key, "rain", map[string]any{"confidence": step.confidence})
			for _, path := range []string{"/api/intelligence/markets/rain", "/api/intelligence/events/weather"} {
				median := func(bearer string) any {
					a := b.do(t, call{path: path, bearer: bearer}).fine()
					at := a.json
					if list, ok := at["markets"].([]any); ok {
						i := slices.IndexFunc(list, func(m any) bool { return m.(map[string]any)["id"] == "rain" })
						at = list[i].(map[string]any)
					}
					if at["consensus"] == nil {
						return nil
					}
					return at["consensus"].(map[string]any)["median"]
				}
				if own, others := median(key), median(""); own != step.confidence || others != step.others {
					t.Errorf("%s: the agent sees %v and others see %v, want %v and %v", path, own, others, step.confidence, step.others)
				}
				if got := median(another); got != step.others {
					t.Errorf("%s: another agent sees %v, want %v", path, got, step.others)
				}
			}
			if err := leaderboard.NewConsensusCounter(b.DB, b.now).CountAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.look(t, b.register(t, fmt.Sprint("Watcher ", step.confidence)))
		}
	})
}

// TestEveryWriteShows checks that after each write the answers from memory equal those of a node without
// any copy. Copies expire after five seconds, so the test reads everything again after six and compares.
func TestEveryWriteShows(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		key := b.register(t, "Ada")
		b.register(t, "Bea")
		b.establish(t, "ada")
		id := b.publish(t, key, "rain", nil)
		acts := moderation.New(moderation.Options{DB: b.DB, Now: b.now, Settlement: b.Settlement})
		act := moderation.Act{Actor: "eve", Reason: "a test"}
		var made *assignment.Assignment
		change := func(i int, f func(m *market.Market)) {
			b.mu.Lock()
			f(&b.markets[i])
			b.mu.Unlock()
			b.tick(t)
		}
		count := func() error { return leaderboard.NewConsensusCounter(b.DB, b.now).CountAll(t.Context()) }
		for _, write := range []struct {
			name  string
			do    func() error
			shows string // the operations whose answers change
		}{
			{"publish", func() error { b.publish(t, key, "rain", map[string]any{"confidence": 0.8}); return nil }, "listPredictions getAgent compareAgents getMarket"},
			{"count", count, "getEvent getMarket"},
			{"write an assignment", func() (err error) {
				made, err = acts.WriteAssignment(t.Context(), act, assignment.Draft{MarketID: "rain", DueAt: b.now().Add(48 * time.Hour)})
				return err
			}, "listAssignments"},
			{"publish on it", func() error { b.publish(t, key, "rain", map[string]any{"confidence": 0.75}); return nil }, "listPredictions getAgent compareAgents listAssignments getMarket"},
			{"count again", count, "listAssignments getEvent getMarket"},
			{"edit an assignment", func() error {
				_, err := acts.EditAssignment(t.Context(), act, made.ID, assignment.Draft{MarketID: "rain", Title: "Rain?", DueAt: b.now().Add(48 * time.Hour)})
				return err
			}, "listAssignments"},
			{"edit a profile", func() error {
				b.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: map[string]any{"name": "Ada Two"}}).fine()
				return nil
			}, "listPredictions getPrediction getAgent compareAgents getReview getMarket listAgents"},
			{"tick", func() error { change(0, func(m *market.Market) { m.Prices = []float64{0.5, 0.5} }); return nil }, "listAssignments getMarket listEvents getEvent listPrices"},
			{"boards", func() error { return b.Boards.Rebuild(t.Context()) }, "getLeaderboard getAgent compareAgents"},
			{"hide a text", func() error { return acts.HidePrediction(t.Context(), act, must(id)) }, "listPredictions getPrediction getMarket"},
			{"show a text", func() error { return acts.ShowPrediction(t.Context(), act, must(id)) }, "listPredictions getPrediction getMarket"},
			{"hide an agent's texts", func() error {
				_, err := acts.SetTexts(t.Context(), act, "ada", agent.TextsHidden)
				return err
			}, "listPredictions getPrediction getLeaderboard getAgent compareAgents getReview getMarket listAgents"},
			{"show an agent's texts", func() error {
				_, err := acts.SetTexts(t.Context(), act, "ada", agent.Public)
				return err
			}, "listPredictions getPrediction getLeaderboard getAgent compareAgents getReview getMarket listAgents"},
			{"baselines", func() error {
				b.ahead.Add(int64(2 * time.Minute))
				b.tick(t)
				return nil
			}, "listPredictions getPrediction listAssignments getMarket getAgent compareAgents listEvents getEvent listPrices"},
			{"settle", func() error {
				change(0, func(m *market.Market) {
					m.Closed, m.Active, m.Resolution, m.Prices, m.ClosedAt = true, false, "resolved", []float64{1, 0}, b.now()
				})
				return nil
			}, "listPredictions getPrediction getAgent compareAgents getReview listAssignments getMarket listEvents getEvent"},
			{"rule", func() error {
				return acts.Rule(t.Context(), act, moderation.Ruling{Kind: settlement.KindPredictionVoided, Subject: id})
			}, "listPredictions getPrediction getAgent compareAgents getReview getMarket listChanges"},
			{"rebuild", func() error { return b.Boards.Rebuild(t.Context()) }, "getLeaderboard"},
			{"disable an agent", func() error {
				_, err := acts.Disable(t.Context(), act, "ada")
				return err
			}, "getLeaderboard getAgent compareAgents listAgents"},
			{"enable an agent", func() error {
				_, err := acts.Enable(t.Context(), act, "ada")
				return err
			}, "getLeaderboard getAgent compareAgents listAgents"},
		} {
			watcher := b.register(t, fmt.Sprint("Watcher ", strings.ReplaceAll(write.name, "'", "")))
			see := func() {
				b.look(t, watcher)
				b.ahead.Add(int64(100 * time.Millisecond)) // copies that were good until the look are no longer served
			}
			see() // so that the list of agents has the watcher before the write
			read := func() map[string][]byte {
				bodies := map[string][]byte{}
				for op, path := range storedReads(id) {
					bodies[op] = b.do(t, call{path: path}).fine().raw
				}
				return bodies
			}
			before := read()
			if err := write.do(); err != nil {
				t.Fatalf("%s: %v", write.name, err)
			}
			see()
			after := read()
			b.ahead.Add(int64(6 * time.Second))
			var changed []string
			for op, fresh := range read() {
				if !bytes.Equal(after[op], fresh) {
					t.Errorf("%s: the copy of %s is old:\n%s\n%s", write.name, op, after[op], fresh)
				}
				if !bytes.Equal(before[op], fresh) {
					changed = append(changed, op)
				}
			}
			want := strings.Fields(write.shows)
			slices.Sort(want)
			if slices.Sort(changed); !slices.Equal(changed, want) {
				t.Errorf("%s shows on %v, want %v", write.name, changed, want)
			}
		}
	})
}

// TestMissesShareOneLoad checks that a hundred callers of an answer that isn't in memory cost as much as
// one.
func TestMissesShareOneLoad(t *testing.T) {
	t.Parallel()
	eachBench(t, func(t *testing.T, b *bench) {
		// The stop of the server waits for connections that were opened and not used.
		t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
		key := b.register(t, "Ada")
		b.publish(t, key, "rain", nil)
		b.look(t, key)
		b.freeze()
		load := func(callers int, path string) int64 {
			before := b.n.Load()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() { b.do(t, call{path: path}).fine() })
			}
			wg.Wait()
			return b.n.Load() - before
		}
		one, hundred := load(1, "/api/predictions?limit=11"), load(100, "/api/predictions?limit=12")
		if one == 0 || hundred != one {
			t.Errorf("%d queries for a hundred, %d for one", hundred, one)
		}
	})
}

func must(id string) uuid.UUID { return uuid.MustParse(id) }
