package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// expensive are the most expensive requests. Each %s gets other words every time.
var expensive = []string{
	"/api/predictions?limit=100&sort=edge&q=%s", "/api/predictions?limit=100&q=%s", "/api/predictions?status=void&q=%s",
	"/api/predictions?sort=resolvedAt&status=resolved&q=%s", "/search?q=%s", "/predictions?q=%s", "/?x=%s", "/sitemap.xml?x=%s",
	"/api/agents?limit=100&q=%s", "/api/intelligence/markets?status=closed&limit=100&q=%s",
}

// words are the words of all theses, so that every search finds many.
var words = strings.Fields("the market will rise because demand grows while supply stays low and nobody expects rain before winter ends")

// attackerKeys is the number of keys that each attacking address has, as registration gives it in an hour.
const attackerKeys = 5

// besiege lets addresses send the most expensive requests as fast as their limits allow.
func besiege(l *lab) {
	for db := range l.stores() {
		settings := []string{"REGISTRATION_RATE=off", "REGISTRATION_CEILING=off", "TRUSTED_PROXIES=127.0.0.1"}
		if l.brief() {
			settings = append(settings, "RATE_LIMIT_READS=300/min")
		}
		n := l.serve(l.environment(db.url, nil, settings...))
		authors := l.authors(n.base, authorsAtOnce)
		l.fill(n, authors)
		const addresses = 20
		l.besiege(n, authors, l.authors(n.base, addresses*attackerKeys), string(db.kind))
		if n.Stop(); l.faulty() {
			return
		}
	}
}

// brief reports whether the attack is too short to use up the default limits. The limit of reads is
// lower then, so that attackers reach it.
func (l *lab) brief() bool { return l.Attack < 20*time.Second }

// fill publishes predictions in batches. Every search finds many of them.
func (l *lab) fill(n *node, authors []*author) {
	for i, w := range authors {
		var list []any
		for j := range 100 {
			item := publishBody("").(map[string]any)
			item["thesis"] = fmt.Sprint(strings.Join(words[(i+j)%len(words):], " "), " ", strings.Join(words, " "))
			list = append(list, item)
		}
		a := send(l.ctx, request{
			method: http.MethodPost, url: n.base + "/api/predictions/batch", key: w.key, body: map[string]any{"predictions": list},
			header: map[string]string{"X-Forwarded-For": fmt.Sprintf("198.51.100.%d", i+100)},
		})
		if a.err != nil || a.status != 200 {
			l.Fatalf("publish a batch: %s", a)
		}
		l.count("searchable predictions", len(list))
	}
}

func (l *lab) besiege(n *node, authors, attackers []*author, where string) {
	undisturbed := l.watch(l.ctx, l.Attack/2, n, authors, where)
	ctx, cancel := context.WithTimeout(l.ctx, l.Attack)
	defer cancel()
	var all sync.WaitGroup
	limited := 0
	var mu sync.Mutex
	for i := range len(attackers) / attackerKeys {
		all.Go(func() {
			answers := l.assault(ctx, n, fmt.Sprintf("203.0.113.%d", i+1), attackers[i*attackerKeys:][:attackerKeys])
			mu.Lock()
			limited += answers[http.StatusTooManyRequests]
			mu.Unlock()
			for status, count := range answers {
				l.count(fmt.Sprintf("attacker requests answered %d, %s", status, where), count)
			}
		})
	}
	disturbed := l.watch(ctx, l.Attack, n, authors, where)
	all.Wait()
	l.longest("99 % of undisturbed requests, "+where, undisturbed)
	l.longest("99 % of bystander requests, "+where, disturbed)
	if limit := waitFactor*undisturbed + l.patience(waitFloor); disturbed > limit {
		l.fault("1 %% of bystanders wait longer than %s, %s; the limit is %s", rounded(disturbed), where, rounded(limit))
	}
	if limited == 0 { // a 503 only says that there was no place to answer
		l.fault("no attacker ever reached its limit, %s", where)
	}
}

// assault sends expensive requests from one address, four at a time without a key and one at a time with each key.
// It pauses after each refusal. It counts the answers by status.
func (l *lab) assault(ctx context.Context, n *node, from string, keys []*author) (answers map[int]int) {
	answers = map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	clients := []string{"", "", "", ""}
	for _, a := range keys {
		clients = append(clients, a.key)
	}
	for c, key := range clients {
		all.Go(func() {
			for i := c; ctx.Err() == nil; i += len(clients) {
				path := fmt.Sprintf(expensive[i%len(expensive)], fmt.Sprint(words[i%len(words)], "+", words[i*7%len(words)]))
				a := send(ctx, request{url: n.base + path, key: key, header: map[string]string{"X-Forwarded-For": from}})
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				answers[a.status]++
				mu.Unlock()
				if a.err != nil || (a.status >= 500 && a.status != 503) {
					l.fault("an attacker's %s: %s", path, a)
				}
				if a.status == 429 || a.status == 503 {
					pauseFor(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	return answers
}

// The time within which 99 % of the bystanders are answered may grow to waitFactor times the undisturbed time
// plus waitFloor, which grows with TORTURE_PATIENCE. None may wait longer than longestWait on any machine.
const (
	waitFactor  = 3
	waitFloor   = 100 * time.Millisecond
	longestWait = 2 * time.Second
)

// bystander is a request that other clients repeat.
type bystander struct {
	request
	every time.Duration // between two requests; a key may publish 120 times a minute
}

func bystanders(n *node, authors []*author) (list []bystander) {
	for _, path := range []string{"/api/health", "/api/predictions", "/leaderboard", "/api/intelligence/markets"} {
		list = append(list, bystander{request{url: n.base + path}, 100 * time.Millisecond})
	}
	for _, w := range authors {
		list = append(list, bystander{request{method: http.MethodPost, url: n.base + "/api/predictions", key: w.key, body: publishBody("")}, 600 * time.Millisecond})
	}
	return list
}

// watch sends the requests of bystanders for a time, each from another address. Every answer must be 200. watch
// returns the time within which 99 % were answered.
func (l *lab) watch(ctx context.Context, length time.Duration, n *node, authors []*author, where string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var mu sync.Mutex
	var waits []time.Duration
	var all sync.WaitGroup
	for _, b := range bystanders(n, authors) {
		all.Go(func() {
			for ctx.Err() == nil {
				r := b.request
				mu.Lock()
				r.header = map[string]string{"X-Forwarded-For": fmt.Sprintf("198.51.%d.%d", 100+len(waits)/250, 1+len(waits)%250)}
				mu.Unlock()
				a := send(l.ctx, r)
				if a.err != nil || a.status != 200 || a.took > longestWait {
					l.fault("a bystander's %s %s, %s: %s", r.method, strings.TrimPrefix(r.url, "http://"), where, a)
				}
				mu.Lock()
				waits = append(waits, a.took)
				mu.Unlock()
				l.longest("longest bystander wait, "+where, a.took)
				pauseFor(ctx, b.every)
			}
		})
	}
	all.Wait()
	slices.Sort(waits)
	l.count("bystander requests", len(waits))
	return waits[len(waits)*99/100]
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
