package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

const (
	// fillers is the number of clients that each publish a batch of fillerItems predictions at a time. Together
	// they have twice as many as the queue of a node holds, and the batches that it stores. The batches are small,
	// so that less than fillerItems places stay free. A refused filler waits for fillerPause. Retry-After asks for
	// more, but then the queue would often have places.
	fillers, fillerItems = 192, 16
	fillerPause          = 100 * time.Millisecond
	// probeRate is the number of single predictions per second that are published beside the fillers. A probe that
	// gets a place in the queue waits there, so there are more connections than answers in a second.
	probeRate, probeConnections = 200, 256
	// overloadLength is the least length of a measurement. The p99 of a shorter one is the latency of a few answers.
	overloadLength = 10 * time.Second
)

// overload measures how fast a node refuses to publish while its queue is full, and how much memory it uses.
func (b *bench) overload(ctx context.Context) (rows []row, err error) {
	for _, side := range []struct {
		name string
		open func() (*node, *publisher, error)
	}{
		{"Postgres", func() (*node, *publisher, error) { return b.onPostgres(ctx, "overload") }},
		{"SQLite", func() (*node, *publisher, error) {
			n, p, _, err := b.onSQLite(ctx, "overload")
			return n, p, err
		}},
	} {
		n, p, err := side.open()
		if err != nil {
			return rows, err
		}
		found, err := b.overloadOn(ctx, side.name, n, p)
		n.Stop()
		if err != nil {
			return rows, fmt.Errorf("%s: %w", side.name, err)
		}
		rows = append(rows, found)
	}
	return rows, nil
}

func (b *bench) overloadOn(ctx context.Context, name string, n *node, p *publisher) (row, error) {
	what := "publish while the queue is full, " + name
	var refused, acknowledged series
	memory := series{unit: inMebibytes}
	all, err := b.compare(ctx, []contender{{what, func(ctx context.Context) (sample, error) {
		stop := watchResident(n.PID())
		c, err := p.crush(ctx, max(b.length(), overloadLength))
		most, watched := stop()
		if err = errors.Join(err, watched); err != nil {
			return sample{}, err
		}
		if len(c.refused) == 0 {
			return sample{}, fmt.Errorf("no probe was refused, %d were acknowledged", c.acknowledged)
		}
		run.Progress("  %d refused, median %.2f ms, p90 %.2f ms; %d acknowledged", len(c.refused),
			milliseconds(percentile(c.refused, .5)), milliseconds(percentile(c.refused, .9)), c.acknowledged)
		refused.values = append(refused.values, float64(len(c.refused)))
		acknowledged.values = append(acknowledged.values, float64(c.acknowledged))
		memory.values = append(memory.values, most)
		return sample{p99: percentile(c.refused, .99)}, nil
	}}})
	if err != nil {
		return row{}, err
	}
	b.floors = append(b.floors,
		row{what: what + ", number of 503", ours: refused},
		row{what: what + ", number of 200", ours: acknowledged},
		row{what: what + ", largest resident memory", ours: memory})
	return row{what: what + ", 503 with `Retry-After`, p99", ours: all.latencies(what), target: atMost(50)}, nil
}

// crushed is what probes of a node with a full queue saw.
type crushed struct {
	refused      []time.Duration // latencies of the answers 503, counted from when each probe was due
	acknowledged int
}

// crush fills the queue with batches, and probes the node from when the first batch is refused. Any answer but
// 200, and 503 with Retry-After, is an error.
func (p *publisher) crush(ctx context.Context, length time.Duration) (all crushed, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	note := func(own crushed, failed error) {
		mu.Lock()
		defer mu.Unlock()
		all.refused = append(all.refused, own.refused...)
		all.acknowledged += own.acknowledged
		if failed != nil {
			err = errors.Join(err, failed)
			cancel()
		}
	}
	full := make(chan struct{})
	var once sync.Once
	for i := range fillers {
		group.Go(func() { note(crushed{}, p.fill(ctx, i, func() { once.Do(func() { close(full) }) })) })
	}
	select {
	case <-full:
	case <-ctx.Done():
	}
	tick := time.NewTicker(time.Second / probeRate)
	defer tick.Stop()
	for i := range probeConnections {
		group.Go(func() { note(p.probe(ctx, fillers+i, tick.C)) })
	}
	group.Wait()
	return all, err
}

// fill publishes one batch after another until ctx ends. It calls refused after each refusal.
func (p *publisher) fill(ctx context.Context, number int, refused func()) error {
	market := p.markets[number%len(p.markets)]
	item := map[string]any{"title": "How will this end?", "thesis": p.theses[0][:100], "confidence": .6, "horizonAt": p.horizon, "marketId": market}
	items := make([]any, fillerItems)
	for i := range items {
		items[i] = item
	}
	body, err := json.Marshal(map[string]any{"predictions": items})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/api/predictions/batch", strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		r.Header.Set("User-Agent", userAgent)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+p.keys[number])
		response, err := client.Do(r)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case response.StatusCode == http.StatusServiceUnavailable:
			refused()
			sleep(ctx, fillerPause)
		case response.StatusCode != http.StatusOK:
			return fmt.Errorf("a batch: status %d: %.300s", response.StatusCode, answer)
		}
	}
	return nil
}

// probe publishes one prediction at each tick that it receives until ctx ends, and waits for the last answer.
func (p *publisher) probe(ctx context.Context, number int, ticks <-chan time.Time) (own crushed, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", p.address)
	if ctx.Err() != nil {
		return own, nil
	}
	if err != nil {
		return own, err
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	var request []byte
	for {
		var due time.Time
		select {
		case <-ctx.Done():
			return own, nil
		case due = <-ticks:
		}
		request = p.request(request[:0], number, traffic{})
		conn.SetDeadline(due.Add(30 * time.Second))
		if _, err := conn.Write(request); err != nil {
			return own, err
		}
		h, err := readHead(reader)
		if err != nil {
			return own, err
		}
		took := time.Since(due)
		if h.status != http.StatusServiceUnavailable {
			if err := readPublished(h, reader); err != nil {
				return own, err
			}
			own.acknowledged++
			continue
		}
		if _, err := reader.Discard(h.length); err != nil {
			return own, err
		}
		if h.retryAfter <= 0 {
			return own, errors.New("the answer 503 has no Retry-After")
		}
		own.refused = append(own.refused, took)
	}
}
