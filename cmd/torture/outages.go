package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// probe is a request that is repeated during an outage.
type probe struct {
	name   string
	path   string
	method string
	keyed  bool
	body   func(key string) any
	// needs lists the parts without which the answer may be 503. In all other cases it must be 200, but may
	// be stale.
	needs []string
}

var probes = []probe{
	{name: "health", path: "/api/health"},
	{name: "markets", path: "/api/intelligence/markets"},
	{name: "news", path: "/api/intelligence/news"},
	{name: "predictions", path: "/api/predictions"},
	{name: "leaderboard", path: "/api/leaderboard"},
	{name: "a market", path: "/api/intelligence/markets/m"},
	{name: "the home page", path: "/"},
	{name: "the board page", path: "/leaderboard"},
	{name: "the market page", path: "/markets/m"},
	{name: "the docs page", path: "/docs"},
	{name: "stats", path: "/api/stats", keyed: true, needs: []string{"database"}},
	{name: "publish", path: "/api/predictions", method: "POST", keyed: true, body: publishBody, needs: []string{"database"}},
	{name: "session", path: "/api/session", method: "POST", body: func(key string) any { return map[string]any{"apiKey": key} }, needs: []string{"database"}},
}

func publishBody(string) any {
	return map[string]any{"title": "Will it last?", "thesis": "It must.", "confidence": 0.7, "horizonAt": time.Now().AddDate(0, 1, 0).UTC()}
}

// outage takes a part away and brings it back.
type outage struct {
	name, part string
	away, back func()
}

// takeAway takes each part away under load, one after another.
func takeAway(l *lab) {
	disk, diskErr := dbtest.MountDisk(l, fullDisk)
	db, s := l.postgres(), l.sources()
	if diskErr == nil {
		db.url = db.server.CreateDatabaseOn(disk)
	}
	redis, redisURL := l.redis()
	s.SetMarket("m", nil)
	n := l.serve(append(l.environment(db.url, s, unlimited...), "REDIS_URL="+redisURL))
	key := l.authors(n.base, 1)[0].key
	calm := func() bool { return len(l.ask(n.base, key, nil)) == 0 }
	if took, ok := l.eventually(l.patience(30*time.Second), calm); !ok {
		l.Fatalf("the service isn't healthy after %s: %v", took, l.ask(n.base, key, nil))
	}
	list := []outage{
		{"Postgres stopped", "database", func() { db.server.Stop(dbtest.Fast) }, func() { db.server.Start() }},
		{"Postgres frozen", "database", db.server.Freeze, db.server.Thaw},
		l.lockedTable(db.url),
		{"Redis frozen", "redis", func() { redis.Signal(syscall.SIGSTOP) }, func() { redis.Signal(syscall.SIGCONT) }},
		{"sources hanging", "sources", func() { s.hanging.Store(true) }, func() { s.hanging.Store(false) }},
		// This outage is last, because a stopped Redis isn't started again.
		{"Redis stopped", "redis", redis.Kill, func() {}},
	}
	if diskErr == nil {
		list = slices.Insert(list, 0, outage{"the disk of Postgres full", "database", disk.Fill, disk.Free})
	} else {
		l.Logf("outages: NOT TRIED: a full disk of Postgres: %v", diskErr)
		l.note("**Not tried: a full disk of Postgres.** This account may not mount a file system. Run the command as root.")
	}
	for _, o := range list {
		o.away()
		l.suffer(o, n.base, key)
		o.back()
		l.count("outages: "+o.name, 1)
		took, ok := l.eventually(l.patience(10*time.Second), calm)
		if !ok {
			l.fault("%s: still failing %s after its end: %v", o.name, took.Round(time.Millisecond), l.ask(n.base, key, nil))
		}
		l.longest("longest time until every answer is 200 again", took)
		if l.build.broken != nil && l.faulty() {
			return
		}
	}
}

// fullDisk is the size of the disk to fill, in MiB.
const fullDisk = 256

// lockedTable returns an outage in which an operator's transaction locks the predictions.
func (l *lab) lockedTable(address string) outage {
	var conn *pgx.Conn
	return outage{"the predictions locked", "database", func() {
		var err error
		conn, err = pgx.Connect(l.ctx, address)
		l.must(err)
		_, err = conn.Exec(l.ctx, "BEGIN; LOCK TABLE predictions IN ACCESS EXCLUSIVE MODE")
		l.must(err)
	}, func() { l.must(conn.Close(l.ctx)) }}
}

// slowest is the longest time that an answer may take while a part is away.
const slowest = 5 * time.Second

// suffer sends every probe while a part is away.
func (l *lab) suffer(o outage, base, key string) {
	wrong := map[string]answer{} // the first wrong answer of each probe
	for ends := time.Now().Add(l.Outage); time.Now().Before(ends); time.Sleep(20 * time.Millisecond) {
		maps.Copy(wrong, l.ask(base, key, &o))
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		l.fault("%s: %s: %s", o.name, name, wrong[name])
	}
}

// ask sends every probe at once and returns the wrong answers. Without an outage, every answer must
// be 200.
func (l *lab) ask(base, key string, o *outage) map[string]answer {
	wrong, mu := map[string]answer{}, sync.Mutex{}
	var all sync.WaitGroup
	for _, p := range probes {
		all.Go(func() {
			r := request{method: p.method, url: base + p.path}
			if p.keyed {
				r.key = key
			}
			if p.body != nil {
				r.body = p.body(key)
			}
			a := send(l.ctx, r)
			if o != nil {
				l.count("requests during outages", 1)
				l.count(fmt.Sprintf("requests answered %d", a.status), 1)
				l.longest("longest answer during an outage", a.took)
			}
			spared := o != nil && slices.Contains(p.needs, o.part) && a.status == 503
			if a.err != nil || (a.status != 200 && !spared) || (o != nil && a.took > l.patience(slowest)) {
				mu.Lock()
				wrong[p.name] = a
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return wrong
}
