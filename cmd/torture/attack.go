package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// expensive are the most expensive requests: searches, pages, sums and pictures. WORDS is replaced by other words every
// time, so that no cache answers, and AGENT by the handle of one of many agents.
var expensive = []string{
	"/api/predictions?limit=100&sort=edge&q=WORDS", "/api/predictions?limit=100&q=WORDS", "/api/predictions?status=void&q=WORDS",
	"/api/predictions?sort=resolvedAt&status=resolved&q=WORDS", "/search?q=WORDS", "/predictions?q=WORDS", "/?x=WORDS", "/sitemap.xml?x=WORDS",
	"/api/agents?limit=100&q=WORDS", "/api/intelligence/markets?status=closed&limit=100&q=WORDS",
	"/api/agents/AGENT/review", "/agents/AGENT/card.png",
}

// words are the words of all theses, so that every search finds many.
var words = strings.Fields("the market will rise because demand grows while supply stays low and nobody expects rain before winter ends")

const (
	// attackerKeys is the number of keys that each attacking address has, as registration gives it in an hour.
	attackerKeys = 5
	// bystanderAuthors is the number of agents that publish beside the attackers. Together they publish 20 times a second.
	// The limit of each is twice a second.
	bystanderAuthors = 16
)

// besiege lets addresses send the most expensive requests as fast as their limits allow.
func besiege(l *lab) {
	for db := range l.stores() {
		authors, keys := l.fill(db)
		settings := []string{"REGISTRATION_RATE=off", "REGISTRATION_CEILING=off", "TRUSTED_PROXIES=127.0.0.1", usualCollection}
		if l.brief() {
			settings = append(settings, "RATE_LIMIT_READS=300/min")
		}
		n := l.serve(l.environment(db.url, nil, settings...))
		s := &siege{lab: l, node: n, authors: authors, where: string(db.kind)}
		for _, a := range slices.Concat(authors, keys) {
			s.handles = append(s.handles, a.handle)
		}
		s.run(keys)
		if n.Stop(); l.faulty() {
			return
		}
	}
}

// brief reports whether the attack is too short to use up the default limits. The limit of reads is
// lower then, so that attackers reach it.
func (s *scale) brief() bool { return s.Attack < 20*time.Second }

// searchable is the number of predictions in the database. A brief attack uses fewer, to start soon.
func (s *scale) searchable() int {
	if s.brief() {
		return 1600
	}
	return 15_000
}

// fill publishes predictions in batches, on a node without limits. Every search finds many of them. It returns
// the authors, and agents whose keys are for the attackers.
func (l *lab) fill(db store) (authors, attackers []*author) {
	n := l.serve(l.environment(db.url, nil, unlimited...))
	defer n.Stop()
	authors = l.authors(n.base, bystanderAuthors)
	for i := range l.searchable() / batchSize {
		var list []any
		for j := range batchSize {
			item := publishBody("").(map[string]any)
			item["thesis"] = fmt.Sprint(strings.Join(words[(i+j)%len(words):], " "), " ", strings.Join(words, " "))
			list = append(list, item)
		}
		a := send(l.ctx, request{
			method: http.MethodPost, url: n.base + "/api/predictions/batch", key: authors[i%len(authors)].key, body: map[string]any{"predictions": list},
		})
		if a.err != nil || a.status != 200 {
			l.Fatalf("publish a batch: %s", a)
		}
		l.count("searchable predictions, "+string(db.kind), len(list))
	}
	for _, p := range phases {
		attackers = append(attackers, l.authors(n.base, p.addresses*attackerKeys)...)
	}
	l.analyze(db.url)
	return authors, attackers
}

// batchSize is the largest number of predictions in a batch.
const batchSize = 100

// analyze updates the statistics of a new database, as Postgres does after some minutes.
func (l *lab) analyze(address string) {
	db, err := database.Open(l.ctx, address)
	l.must(err)
	defer db.Close()
	_, err = db.ExecContext(l.ctx, "ANALYZE")
	l.must(err)
}

// phase is a part of the siege, in which this many addresses attack.
type phase struct {
	name      string
	addresses int
}

// phases begin with the undisturbed one, with which the others are compared.
var phases = []phase{{"undisturbed", 0}, {"beside 1 address", 1}, {"beside 20 addresses", 20}}

// siege sends the requests of attackers and bystanders to a node.
type siege struct {
	*lab
	node      *node
	authors   []*author
	where     string       // the kind of the database
	handles   []string     // of agents
	addresses int          // the number of addresses that have attacked
	serial    atomic.Int64 // the number of expensive requests; each has other words
	asked     atomic.Int64 // the number of requests of bystanders; each comes from another address
	published atomic.Int64 // how many of them were publications, which the authors make in turn
	limited   atomic.Int64 // the number of requests of attackers that a limit refused
	wrong     sync.Map     // the names of bystanders with a wrong answer; the first of each is a fault
}

// run measures how long bystanders wait in each phase. Every attacking address has five keys, and none attacks in
// two phases.
func (s *siege) run(keys []*author) {
	for range warmUps {
		for _, b := range bystanders {
			s.ask(b)
		}
	}
	waits := make([]map[string]time.Duration, len(phases))
	for i, p := range phases {
		ctx, cancel := context.WithCancel(s.ctx)
		var all sync.WaitGroup
		all.Go(func() {
			defer cancel()
			s.last(ctx, i == len(phases)-1)
		})
		for range p.addresses {
			s.addresses++
			address, own := fmt.Sprintf("203.0.113.%d", s.addresses), keys[:attackerKeys]
			all.Go(func() { s.assault(ctx, address, own) })
			keys = keys[attackerKeys:]
		}
		waits[i] = s.watch(ctx, p)
		all.Wait()
	}
	if s.limited.Load() == 0 { // a 503 only says that there was no place to answer
		s.fault("no attacker ever reached its limit, %s", s.where)
	}
	for i, p := range phases {
		s.judge(p, waits[i], waits[0])
	}
}

// last returns when a phase is over. On a slow machine the final one goes on until an attacker has reached its limit.
func (s *siege) last(ctx context.Context, final bool) {
	if !final {
		pauseFor(ctx, s.Attack/2)
		return
	}
	pauseFor(ctx, s.Attack)
	s.eventually(s.patience(s.Attack), func() bool { return s.limited.Load() > 0 })
}

// judge compares the waits of a phase with the undisturbed waits, separately for each request.
func (s *siege) judge(p phase, waits, undisturbed map[string]time.Duration) {
	for _, b := range bystanders {
		wait, limit := waits[b.name], waitFactor*undisturbed[b.name]+s.waitFloor()
		s.longest(fmt.Sprintf("p99 of %s, %s, %s", b.name, s.where, p.name), wait)
		if wait > limit {
			s.fault("1 %% of bystanders wait longer than %s for %s, %s, %s; the limit is %s", rounded(wait), b.name, s.where, p.name, rounded(limit))
		}
	}
}

// assault sends expensive requests from one address until ctx ends, four at a time without a key and one at a time
// with each key. It pauses after each refusal.
func (s *siege) assault(ctx context.Context, address string, keys []*author) {
	answers := map[int]int{} // by status
	var mu sync.Mutex
	var all sync.WaitGroup
	clients := []string{"", "", "", ""}
	for _, a := range keys {
		clients = append(clients, a.key)
	}
	for _, key := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				path := s.next()
				a := send(ctx, request{url: s.node.base + path, key: key, header: from(address)})
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				answers[a.status]++
				mu.Unlock()
				if a.err != nil || (a.status != 200 && a.status != 429 && a.status != 503) {
					s.fault("an attacker's %s: %s", path, a)
				}
				if a.status == http.StatusTooManyRequests {
					s.limited.Add(1)
				}
				if a.status == 429 || a.status == 503 {
					pauseFor(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	for _, status := range slices.Sorted(maps.Keys(answers)) {
		s.count(fmt.Sprintf("attacker requests answered %d, %s", status, s.where), answers[status])
	}
}

// next returns the path of the next expensive request.
func (s *siege) next() string {
	i := int(s.serial.Add(1))
	word := func(n int) string { return words[i/len(expensive)/n%len(words)] }
	three := strings.Join([]string{word(1), word(len(words)), word(len(words) * len(words))}, "+")
	handle := s.handles[i/len(expensive)%len(s.handles)]
	return strings.NewReplacer("WORDS", three, "AGENT", handle).Replace(expensive[i%len(expensive)])
}

// from returns the header of a request from an address. The compressed answers are read but not unpacked, because
// this command takes processor time from the node.
func from(address string) map[string]string {
	return map[string]string{"X-Forwarded-For": address, "Accept-Encoding": "br"}
}

// The time within which 99 % of the bystanders are answered may grow to waitFactor times the undisturbed time
// plus waitFloor. None may wait longer than longestWait, which grows with TORTURE_PATIENCE too.
const (
	waitFactor  = 3
	longestWait = 2 * time.Second
)

// waitFloor returns by how much a wait may grow in addition. It grows with TORTURE_PATIENCE. The clients of this command
// share two cores with the node and the database. So an answer that is ready may wait for its client to run, for a
// time slice of the kernel or of Go, and each is up to 10 ms. On an idle machine, the p99 of every request grew by less
// than 13 ms. In a brief attack, the p99 is the longest of some dozen waits.
func (s *scale) waitFloor() time.Duration {
	if s.brief() {
		return s.patience(100 * time.Millisecond)
	}
	return s.patience(25 * time.Millisecond)
}

// bystander is a request that other clients send at a fixed rate, however long the answers take.
type bystander struct{ name, method, path string }

var bystanders = []bystander{
	{"publish", http.MethodPost, "/api/predictions"},
	{"list", http.MethodGet, "/api/predictions"},
	{"board page", http.MethodGet, "/leaderboard"},
	{"health", http.MethodGet, "/api/health"},
}

// warmUps is how often each bystander's request is sent before the first phase, so that the undisturbed waits aren't
// those of a node that has just started.
const warmUps = 20

// bystanderPause is the time between two requests of a bystander.
const bystanderPause = 50 * time.Millisecond

// watch sends the requests of bystanders until ctx ends. It returns the times within which 99 % of each were answered.
func (s *siege) watch(ctx context.Context, p phase) map[string]time.Duration {
	found := map[string]time.Duration{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, b := range bystanders {
		all.Go(func() {
			waits := s.stand(ctx, b, p)
			mu.Lock()
			defer mu.Unlock()
			found[b.name] = waits[len(waits)*99/100]
			s.count("bystander requests, "+s.where, len(waits))
		})
	}
	all.Wait()
	return found
}

// stand sends the requests of one bystander. Every answer must be 200. It returns the sorted waits, counted
// from when each request was due.
func (s *siege) stand(ctx context.Context, b bystander, p phase) (waits []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(bystanderPause)
	defer tick.Stop()
	for due := time.Now(); ctx.Err() == nil; {
		began := due
		all.Go(func() {
			a := s.ask(b)
			wait := time.Since(began)
			mu.Lock()
			waits = append(waits, wait)
			mu.Unlock()
			if a.err != nil || a.status != 200 || wait > s.patience(longestWait) {
				if _, known := s.wrong.LoadOrStore(b.name, true); !known {
					s.fault("a bystander's %s, %s, %s: %s", b.name, s.where, p.name, a)
				}
			}
			s.longest("longest bystander wait, "+s.where, wait)
		})
		select {
		case <-ctx.Done():
		case due = <-tick.C:
		}
	}
	all.Wait()
	slices.Sort(waits)
	return waits
}

// ask sends one request of a bystander, from another address every time.
func (s *siege) ask(b bystander) answer {
	i := int(s.asked.Add(1))
	r := request{
		method: b.method, url: s.node.base + b.path,
		header: from(fmt.Sprintf("198.51.%d.%d", 100+i/250%100, 1+i%250)),
	}
	if b.method == http.MethodPost {
		r.key, r.body = s.authors[int(s.published.Add(1))%len(s.authors)].key, publishBody("")
	}
	return send(s.ctx, r)
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
