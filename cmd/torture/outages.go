package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	redisclient "github.com/redis/go-redis/v9"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// probe is a request that is repeated during an outage. Each kind is sent from a separate address.
type probe struct {
	name   string
	path   string
	method string
	keyed  bool
	bearer func(t *outages) string // sent instead of the key; nil for none
	query  func(t *outages) string // follows the path; nil for none
	body   func(key string) any
	// needs lists the parts without which the answer may be 503. In all other cases it must be 200. "writes" is the
	// part of the database that stores.
	needs []string
	// longer is by how much an answer may take longer than answerLimit while a part that it needs is missing.
	longer time.Duration
	// kept is whether the last good copy is sent, marked as stale, while the database or a part that the probe needs
	// can't be read.
	kept bool
	page bool // a stale copy says in a line of its text that it is stale
}

var probes = []probe{
	{name: "health", path: "/api/health"},
	{name: "markets", path: "/api/intelligence/markets"},
	{name: "news", path: "/api/intelligence/news"},
	{name: "predictions", path: "/api/predictions", kept: true},
	{name: "leaderboard", path: "/api/leaderboard", kept: true},
	{name: "a market", path: "/api/intelligence/markets/m", kept: true},
	{name: "the home page", path: "/", kept: true, page: true},
	{name: "the board page", path: "/leaderboard", kept: true, page: true},
	{name: "the market page", path: "/markets/m", kept: true, page: true},
	{name: "the docs page", path: "/docs"},
	{name: "stats", path: "/api/stats", keyed: true, needs: []string{"database"}},
	{name: "publish", path: "/api/predictions", method: "POST", keyed: true, body: publishBody, needs: []string{"database", "writes"}},
	{name: "session", path: "/api/session", method: "POST", body: func(key string) any { return map[string]any{"apiKey": key} }, needs: []string{"database", "writes"}},
}

func publishBody(string) any {
	return map[string]any{"title": "Will it last?", "thesis": "It must.", "confidence": 0.7, "horizonAt": time.Now().AddDate(0, 1, 0).UTC()}
}

// outage takes a part away and brings it back.
type outage struct {
	name, part string
	away, back func()
	// blind is whether kept copies can't be made anew. Such an outage lasts until every one is stale.
	blind bool
	// each is called with the answers to every round of probes; nil for none.
	each func(answers map[string]answer)
	// shows reports whether the outage has had its effect, for one that need not refuse a request. It is called after
	// each round, and the outage lasts until it is true. effect is the sentence that says what it waits for.
	shows  func() bool
	effect string
	long   bool // left out of the short form
	// rest is by how much the return may take longer than returnLimit.
	rest time.Duration
}

// These limits grow with TORTURE_PATIENCE. A machine stalls now and then, so "stalls" rounds of requests and "stalls"
// returns may exceed the first limit of a pair, but none may exceed the second. What this machine takes to open new
// connections to the database is added to a return; see reconnecting.
const (
	answerLimit, answerHardLimit = 1500 * time.Millisecond, 3 * time.Second // for an answer during an outage
	returnLimit, returnHardLimit = time.Second, 2 * time.Second             // until every answer is 200 again
	stalls                       = 1
	// staleLimit bounds how long into an outage a copy may be sent as current. Copies are good for five seconds.
	staleLimit = 15 * time.Second
	// frozenRedisCost is how much longer a request may take if Redis has just frozen. The fastest of
	// redisFreezes counts, because a stall of the machine isn't a cost of Redis.
	frozenRedisCost = 50 * time.Millisecond
	redisFreezes    = 5
)

// countingLimits count requests in Redis and never refuse one.
var countingLimits = []string{
	"RATE_LIMIT_READS=1000000/min", "RATE_LIMIT_WRITES=1000000/min", "RATE_LIMIT_FAILURES=off", "RATE_LIMIT_SNAPSHOT=off",
	"RATE_LIMIT_READS_ADDRESS=1000000/min", "RATE_LIMIT_WRITES_ADDRESS=1000000/min", "REGISTRATION_RATE=off", "REGISTRATION_CEILING=off", "TRUSTED_PROXIES=127.0.0.1",
}

// outages takes parts away from one node and watches its answers.
type outages struct {
	*lab
	probes               []probe
	beside               []probe // answered so late without their part that they are sent beside the rounds then
	base, key, session   string
	newKeys              atomic.Int64 // the number of keys that were new to the node
	serial               atomic.Int64 // in requests that no copy in memory answers
	gaveUp               atomic.Bool  // whether a request has waited until the node gave the archive up
	slowRounds, slowEnds int
	// store is the address of the database; empty if its engine has no connections that an outage ends.
	store string
}

// takeAway takes each part away under load, one after another.
func takeAway(l *lab) {
	if takeFromPostgres(l); !l.caught() {
		takeFromSQLite(l)
	}
}

// takeFromPostgres takes parts away from a node on Postgres and Redis.
func takeFromPostgres(l *lab) {
	disk, diskErr := dbtest.MountDisk(l, fullDisk)
	db, s := l.postgres(), l.sources()
	if diskErr == nil {
		db.url = db.server.CreateDatabaseOn(disk)
	}
	redis, redisURL := l.redis()
	s.SetMarket("m", nil)
	n := l.serve(append(l.environment(db.url, s, countingLimits...), "REDIS_URL="+redisURL))
	t := &outages{lab: l, probes: probes, base: n.base, key: l.authors(n.base, 1)[0].key, store: db.url}
	t.begin()
	freeze, thaw := db.server.Freeze, db.server.Thaw
	list := []outage{
		{name: "Postgres stopped", part: "database", away: func() { db.server.Stop(dbtest.Fast) }, back: func() { db.server.Start() }, blind: true},
		// Two freezes: a breaker that opens late delays answers in both, and a stall of the machine in one.
		{name: "Postgres frozen", part: "database", away: freeze, back: thaw},
		{name: "Postgres frozen again", part: "database", away: freeze, back: thaw},
		l.lockedTable(db.url),
		{name: "Redis frozen", part: "redis", away: func() { redis.Signal(syscall.SIGSTOP) }, back: func() { redis.Signal(syscall.SIGCONT) }},
		{name: "sources hanging", part: "sources", away: func() { s.hanging.Store(true) }, back: func() { s.hanging.Store(false) }},
	}
	if diskErr == nil {
		list = slices.Insert(list, 0, outage{name: "the disk of Postgres full", part: "database", away: disk.Fill, back: disk.Free})
	} else {
		l.Logf("outages: NOT TRIED: a full disk of Postgres: %v", diskErr)
		l.note("**Not tried: a full disk of Postgres.** This account may not mount a file system. Run the command as root.")
	}
	for _, o := range list {
		if t.suffer(o); l.caught() {
			return
		}
	}
	if t.freezeRedis(redis, strings.TrimPrefix(redisURL, "unix://")); l.caught() {
		return
	}
	// A stopped Redis isn't started again.
	t.suffer(outage{name: "Redis stopped", part: "redis", away: redis.Kill, back: func() {}})
}

// begin waits until every answer is 200.
func (t *outages) begin() {
	if took, ok := t.eventually(t.patience(30*time.Second), t.calm); !ok {
		t.Fatalf("the service isn't healthy after %s: %v", took, t.wrong())
	}
}

// fullDisk is the size of the disk to fill, in MiB.
const fullDisk = 256

// lockedTable returns an outage in which an operator's transaction locks the predictions.
func (l *lab) lockedTable(address string) outage {
	var conn *pgx.Conn
	return outage{name: "the predictions locked", part: "database", away: func() {
		var err error
		conn, err = pgx.Connect(l.ctx, address)
		l.must(err)
		_, err = conn.Exec(l.ctx, "BEGIN; LOCK TABLE predictions IN ACCESS EXCLUSIVE MODE")
		l.must(err)
	}, back: func() { l.must(conn.Close(l.ctx)) }}
}

func (t *outages) calm() bool { return len(t.wrong()) == 0 }

// wrong sends every probe while nothing is missing, and returns the wrong answers.
func (t *outages) wrong() map[string]answer {
	all := slices.Concat(t.probes, t.beside)
	answers := t.ask(all)
	for _, p := range all {
		if !p.wrong(answers[p.name], nil) {
			delete(answers, p.name)
		}
	}
	return answers
}

// ask sends probes at once and returns the answers by the names of the probes.
func (t *outages) ask(list []probe) map[string]answer {
	answers, mu := map[string]answer{}, sync.Mutex{}
	var all sync.WaitGroup
	for i, p := range list {
		all.Go(func() {
			a := t.send(&p, fmt.Sprintf("198.51.100.%d", i+1))
			mu.Lock()
			answers[p.name] = a
			mu.Unlock()
		})
	}
	all.Wait()
	return answers
}

// send sends a probe from an address.
func (t *outages) send(p *probe, address string) answer {
	r := request{method: p.method, url: t.base + p.path, header: map[string]string{"X-Forwarded-For": address}}
	if p.query != nil {
		r.url += p.query(t)
	}
	if p.keyed {
		r.key = t.key
	}
	if p.bearer != nil {
		r.key = p.bearer(t)
	}
	if p.body != nil {
		r.body = p.body(t.key)
	}
	return send(t.ctx, r)
}

// outOfDate is the line of a page that is the last good copy.
const outOfDate = "This page may be out of date."

// stale reports whether the answer is marked as the last good copy.
func (a answer) stale() bool {
	return strings.HasSuffix(a.header.Get("Cache-Status"), "; detail=unavailable")
}

// outdated reports whether the answer during an outage may be a kept copy.
func (p *probe) outdated(o *outage) bool {
	return p.kept && (o.part == "database" || slices.Contains(p.needs, o.part))
}

// wrong reports whether an answer is wrong. During an outage, an answer may be 503 with Retry-After if it needs
// the missing part, and it may be a kept copy of what can't be made anew, if it is marked. Otherwise it must be 200 and
// current.
func (p *probe) wrong(a answer, o *outage) bool {
	refused := o != nil && slices.Contains(p.needs, o.part) && a.status == 503 && a.header.Get("Retry-After") != ""
	stale := a.stale()
	misplaced := stale && (o == nil || !p.outdated(o))
	unsaid := p.page && a.status == 200 && stale != strings.Contains(string(a.body), outOfDate)
	return a.err != nil || (a.status != 200 && !refused) || misplaced || unsaid
}

// freezeRedis freezes Redis a few times while the node uses it, and measures how much longer the requests
// of the first moment take.
func (t *outages) freezeRedis(redis *run.Process, socket string) {
	before, frozen := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range redisFreezes {
		t.untilCounting(socket)
		for name, a := range t.ask(t.probes) {
			before[name] = append(before[name], a.took)
		}
		redis.Signal(syscall.SIGSTOP)
		for name, a := range t.ask(t.probes) {
			frozen[name] = append(frozen[name], a.took)
		}
		redis.Signal(syscall.SIGCONT)
		t.count("requests at the moment when Redis freezes", len(probes))
	}
	for _, p := range probes {
		cost := slices.Min(frozen[p.name]) - slices.Min(before[p.name])
		if cost > t.patience(frozenRedisCost) {
			t.fault("Redis frozen: %s takes %s longer", p.name, cost.Round(time.Millisecond))
		}
		t.longest("longest additional time because Redis froze", cost)
	}
}

// untilCounting waits until the node counts requests in Redis. After a failure it doesn't, for a second.
func (t *outages) untilCounting(socket string) {
	client := redisclient.NewClient(&redisclient.Options{Network: "unix", Addr: socket})
	defer client.Close()
	if _, ok := t.eventually(t.patience(10*time.Second), func() bool {
		before := t.counted(client)
		t.ask(t.probes)
		return t.counted(client)-before >= len(probes)/2
	}); !ok {
		t.fault("Redis frozen: the node doesn't use Redis again")
	}
}

var scriptCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// counted returns how many requests were counted in Redis: each count is one call of a script.
func (t *outages) counted(client *redisclient.Client) (n int) {
	said, err := client.Info(t.ctx, "commandstats").Result()
	t.must(err)
	if m := scriptCalls.FindStringSubmatch(said); m != nil {
		n, err = strconv.Atoi(m[1])
		t.must(err)
	}
	return n
}
