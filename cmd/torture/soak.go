package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// vitals are the resources that a node holds at a moment.
type vitals struct {
	goroutines, descriptors int
	memory                  float64 // resident, MiB
}

func (v vitals) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %.0f MiB", v.goroutines, v.descriptors, v.memory)
}

// After a load, a node may hold at most this much more than before. It may keep the connections of its
// pools, with two goroutines each, and memory that the runtime keeps for the next load.
const (
	goroutinesKept  = 60
	soakDescriptors = 40
	memoryKept      = 160 // MiB
)

// soak keeps a node busy with an ordinary mix of requests, and checks that it releases its
// resources.
func soak(l *lab) {
	db, s := l.postgres(), l.sources()
	_, redisURL := l.redis()
	s.SetMarket("m", nil)
	metrics, err := run.FreeAddress()
	l.must(err)
	n := l.serve(append(l.environment(db.url, s, unlimited...), "REDIS_URL="+redisURL, "METRICS_ADDR="+metrics, "LOG_FORMAT=off", usualCollection))
	authors := l.authors(n.base, authorsAtOnce)
	l.mix(n, authors, time.Second) // fills caches and pools
	before := l.rest(n, metrics)
	l.count("goroutines before", before.goroutines)
	l.count("descriptors before", before.descriptors)
	l.count("MiB before", int(before.memory))
	requests := l.mix(n, authors, l.Soak)
	l.count("requests", requests)
	l.longest("length", l.Soak)
	var after vitals
	_, ok := l.eventually(l.patience(30*time.Second), func() bool {
		after = l.rest(n, metrics)
		return after.goroutines <= before.goroutines+goroutinesKept && after.descriptors <= before.descriptors+soakDescriptors
	})
	if !ok {
		l.fault("after the load: %s; before: %s", after, before)
	}
	if after.memory > before.memory+memoryKept {
		l.fault("%.0f MiB are in use after the load, %.0f MiB before it", after.memory, before.memory)
	}
	l.count("goroutines after", after.goroutines)
	l.count("descriptors after", after.descriptors)
	l.count("MiB after", int(after.memory))
}

// mix publishes and reads, with open streams meanwhile, and returns the number of requests.
func (l *lab) mix(n *node, authors []*author, length time.Duration) (requests int) {
	ctx, cancel := context.WithTimeout(l.ctx, length)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	paths := []string{
		"/api/health", "/api/intelligence/markets", "/api/predictions", "/api/leaderboard", "/api/assignments", "/", "/markets/m",
		"/leaderboard", "/docs", "/api/predictions?q=last&limit=5", "/api/openapi.json", "/nowhere",
	}
	for i, w := range authors {
		all.Go(func() {
			count := 0
			for ; ctx.Err() == nil; count++ {
				r := request{url: n.base + paths[(count+i)%len(paths)]}
				if count%3 == 0 {
					r = request{method: "POST", url: n.base + "/api/predictions", key: w.key, body: publishBody("")}
				}
				if a := send(ctx, r); ctx.Err() == nil && (a.err != nil || a.status >= 500) {
					l.fault("%s: %s", r.url, a)
					return
				}
			}
			mu.Lock()
			requests += count
			mu.Unlock()
		})
		all.Go(func() { // opens and leaves a stream again and again
			for ctx.Err() == nil {
				while, leave := context.WithTimeout(ctx, 500*time.Millisecond)
				send(while, request{url: n.base + "/api/events"})
				leave()
			}
		})
	}
	all.Wait()
	client.CloseIdleConnections()
	return requests
}

// rest waits a moment and returns the resources that the node holds.
func (l *lab) rest(n *node, metrics string) (v vitals) {
	time.Sleep(300 * time.Millisecond)
	a := send(l.ctx, request{url: "http://" + metrics + "/metrics"})
	l.must(a.err)
	lines := bufio.NewScanner(bytes.NewReader(a.body))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			count, err := strconv.Atoi(value)
			l.must(err)
			v.goroutines = count
		}
	}
	var err error
	v.descriptors, err = run.Descriptors(n.PID())
	l.must(err)
	v.memory, err = run.ResidentMiB(n.PID())
	l.must(err)
	return v
}
