package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// suffer takes a part away, sends every probe meanwhile, brings the part back and waits until all is well.
func (t *outages) suffer(o outage) {
	w := &watch{outage: &o, first: map[string]answer{}, unmarked: map[string]bool{}, effective: o.shows == nil}
	for _, p := range slices.Concat(t.probes, t.beside) {
		if o.blind && p.outdated(&o) {
			w.unmarked[p.name] = true
		}
		w.refuses = w.refuses || slices.Contains(p.needs, o.part)
	}
	o.away()
	w.began = time.Now()
	t.count("outages: "+o.name, 1)
	end := t.sendBeside(w)
	for time.Since(w.began) < t.Outage || (w.unfinished() && time.Since(w.began) < t.patience(staleLimit) && !t.caught()) {
		answers := t.ask(t.probes)
		for _, p := range t.probes {
			w.see(&p, answers[p.name])
		}
		t.during(o, answers)
		if o.each != nil {
			o.each(answers)
		}
		if o.shows != nil && o.shows() {
			w.effective = true
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.over.Store(true)
	o.back()
	t.recover(o)
	end()
	t.report(w)
}

// watch is what was seen during an outage. Probes beside the rounds use it too.
type watch struct {
	outage *outage
	began  time.Time
	over   atomic.Bool // the part is coming back

	mu        sync.Mutex
	first     map[string]answer // the first wrong answer to each probe
	unmarked  map[string]bool   // kept copies that weren't marked as stale yet
	refuses   bool              // whether a request needs the part
	refused   bool              // whether a request was refused
	effective bool              // whether the outage has had its effect
}

// see notes the answer to a probe.
func (w *watch) see(p *probe, a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, found := w.first[p.name]; !found && p.wrong(a, w.outage) {
		w.first[p.name] = a
	}
	if a.stale() {
		delete(w.unmarked, p.name)
	}
	w.refused = w.refused || a.status == 503
}

// unfinished reports whether the outage must go on to show something.
func (w *watch) unfinished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.unmarked) > 0 || !w.effective || w.harmless()
}

// harmless reports whether the outage has had no effect on the requests that need the part. A full disk takes a few
// rows before it refuses one.
func (w *watch) harmless() bool { return w.refuses && !w.refused && len(w.first) == 0 }

// report reports what was wrong during an outage.
func (t *outages) report(w *watch) {
	o := w.outage
	for _, name := range slices.Sorted(maps.Keys(w.first)) {
		t.fault("%s: %s: %s", o.name, name, w.first[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.unmarked)) {
		t.fault("%s: %s isn't marked as stale after %s", o.name, name, t.patience(staleLimit))
	}
	if !w.effective {
		t.fault("%s: not after %s: %s", o.name, t.patience(staleLimit), o.effect)
	}
	if w.harmless() {
		t.Errorf("%s: every request was answered, so nothing was missing", o.name)
	}
}

// during counts the answers to one round of probes, and reports the one that exceeds its limit the most.
func (t *outages) during(o outage, answers map[string]answer) {
	slowest, excess, stall := "", time.Duration(0), t.patience(answerHardLimit-answerLimit)
	for _, p := range t.probes {
		a, limit := answers[p.name], t.patience(answerLimit)
		t.count("requests during outages", 1)
		if a.status == 503 {
			t.count("requests answered 503, "+o.name, 1)
		} else {
			t.count(fmt.Sprintf("requests answered %d", a.status), 1)
		}
		if a.stale() {
			t.count("stale copies, marked", 1)
		}
		if longest := "longest answer during an outage"; p.longer > 0 && slices.Contains(p.needs, o.part) {
			limit += t.patience(p.longer)
			t.longest(longest+", "+p.name, a.took)
		} else {
			t.longest(longest, a.took)
		}
		if over := a.took - limit; over > excess {
			slowest, excess = p.name, over
		}
	}
	if excess > 0 {
		t.slowRounds++
	}
	if excess > stall || (excess > 0 && t.slowRounds > stalls) {
		t.fault("%s: %s is answered too late: %s", o.name, slowest, answers[slowest])
	}
}

// recover waits until every answer is 200 and current again.
func (t *outages) recover(o outage) {
	took, ok := t.eventually(t.patience(10*time.Second), t.calm)
	if !ok {
		t.fault("%s: still failing %s after its end: %v", o.name, took.Round(time.Millisecond), t.wrong())
		return
	}
	limit, hardLimit := t.patience(returnLimit+o.rest), t.patience(returnHardLimit+o.rest)
	if took > limit && t.store != "" {
		extra := t.reconnecting()
		t.longest(fmt.Sprintf("longest time in which the database opens %d connections", t.round()), extra)
		limit, hardLimit = limit+extra, hardLimit+extra
	}
	if took > limit {
		t.slowEnds++
	}
	if took > hardLimit || (took > limit && t.slowEnds > stalls) {
		t.fault("%s: back only %s after its end; the limit is %s", o.name, took.Round(time.Millisecond), limit.Round(time.Millisecond))
	}
	back := "longest time until every answer is 200 again"
	if o.rest > 0 {
		back += ", " + o.part
	}
	t.longest(back, took)
}

// round returns the number of requests in a round of probes.
func (t *outages) round() int { return len(t.probes) + len(t.beside) }

// reconnecting returns the time in which the database opens a connection for every request of a round, at once and
// without the node. After an outage the node has to wait for that. On a virtual machine where starting a process is
// slow, it took half a second.
func (t *outages) reconnecting() time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range t.round() {
		all.Go(func() {
			conn, err := pgx.Connect(t.ctx, t.store)
			if err != nil {
				t.Errorf("connect beside the node: %v", err)
				return
			}
			_ = conn.Close(t.ctx)
		})
	}
	all.Wait()
	return time.Since(began)
}
