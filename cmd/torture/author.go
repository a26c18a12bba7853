package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"sync"
	"time"
)

// author is an agent that publishes with idempotency keys and remembers every answer.
type author struct {
	handle, key string

	// turn is read-locked during a request and write-locked during a comparison.
	turn sync.RWMutex

	mu       sync.Mutex
	ids      map[string]string // ids of the acknowledged predictions, by idempotency key
	bodies   map[string]any    // the body sent with each key
	pending  string            // the key that has no answer yet; "" if there is none
	compared map[string]bool   // ids that a comparison has found in the service
	first    string            // cursor of the updates at the start
	cursor   string            // cursor after the last reading
}

// authors registers agents.
func (l *lab) authors(base string, n int) []*author {
	var all []*author
	for i := range n {
		a := send(l.ctx, request{method: "POST", url: base + "/api/agents", body: map[string]any{"name": fmt.Sprint("Author ", i)}})
		var made struct {
			Agent  struct{ Handle string }
			APIKey string
		}
		if err := a.decode(&made); err != nil || a.status != 200 {
			l.Fatalf("register: %s", a)
		}
		w := &author{
			handle: made.Agent.Handle, key: made.APIKey, ids: map[string]string{}, bodies: map[string]any{}, compared: map[string]bool{},
		}
		_, cursor, _, ok := w.readUpdates(l.ctx, base, "")
		if !ok {
			l.Fatal("can't read the updates")
		}
		w.first, w.cursor = cursor, cursor
		all = append(all, w)
	}
	return all
}

// publish sends the prediction of a key and records its id once it is acknowledged.
func (w *author) publish(ctx context.Context, base, key string) answer {
	w.mu.Lock()
	body := w.bodies[key]
	w.mu.Unlock()
	a := send(ctx, request{
		method: "POST", url: base + "/api/predictions", key: w.key, body: body, header: map[string]string{"Idempotency-Key": key},
	})
	if a.err != nil || a.status != 200 {
		return a
	}
	var made struct{ Prediction struct{ ID string } }
	if a.err = a.decode(&made); a.err != nil {
		return a
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before := w.ids[key]; before != "" && before != made.Prediction.ID {
		a.err = fmt.Errorf("the key %s first gave %s, and now %s", key, before, made.Prediction.ID)
	}
	w.ids[key] = made.Prediction.ID
	if w.pending == key {
		w.pending = ""
	}
	return a
}

// begin chooses the next key and the body to publish with it.
func (w *author) begin(market string) (key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key = fmt.Sprintf("key-%d", len(w.bodies))
	body := map[string]any{
		"title": "Will it last?", "thesis": "It must. " + key, "confidence": 0.7, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
	}
	if market != "" {
		body["marketId"] = market
	}
	w.bodies[key], w.pending = body, key
	return key
}

func (w *author) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

// crowd is a group of authors that publish at the same time.
type crowd struct {
	lab     *lab
	authors []*author
	base    func() string
	market  func() string // returns the market to publish on, or "" for none
	// expected reports whether a refusal, or no answer, is acceptable. The author then sends the same
	// request again.
	expected func(answer) bool
	// after, if not nil, is called after each acknowledgement, on the author's goroutine.
	after func(w *author, id string)

	done sync.WaitGroup
	stop context.CancelFunc
}

// start lets all authors publish one prediction after another until the crowd is stopped.
func (c *crowd) start() {
	ctx, cancel := context.WithCancel(c.lab.ctx)
	c.stop = cancel
	for _, w := range c.authors {
		c.done.Go(func() {
			for ctx.Err() == nil {
				c.one(ctx, w)
			}
		})
	}
}

// one publishes one prediction. It repeats the request with the same key until it is acknowledged.
func (c *crowd) one(ctx context.Context, w *author) {
	key := w.begin(c.market())
	for ctx.Err() == nil {
		w.turn.RLock()
		a := w.publish(ctx, c.base(), key)
		if a.status == 200 && a.err == nil && c.after != nil {
			c.after(w, w.ids[key])
		}
		acceptable := c.expected(a) // a comparison can't begin before this is known
		w.turn.RUnlock()
		switch {
		case ctx.Err() != nil || (a.status == 200 && a.err == nil):
			return
		case a.status == 200:
			c.lab.fault("%s: %v", w.handle, a.err)
			return
		case !acceptable:
			c.lab.fault("publishing with the key %s: %s", key, a)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end stops the authors and waits for them. A key without an answer stays pending.
func (c *crowd) end() {
	c.stop()
	c.done.Wait()
}

// acknowledged returns the number of acknowledged predictions of all authors.
func (c *crowd) acknowledged() (n int) {
	for _, w := range c.authors {
		n += w.acknowledged()
	}
	return n
}

// publishes waits until n more predictions are acknowledged.
func (c *crowd) publishes(n int) {
	want := c.acknowledged() + n
	if _, ok := c.lab.eventually(time.Minute, func() bool { return c.acknowledged() >= want || c.lab.faulty() }); !ok {
		c.lab.fault("%d predictions were not acknowledged within a minute", n)
	}
}

// compare compares each author's memory with the service. Every acknowledged prediction must exist
// exactly once. A pending key must give one prediction at once, and other keys the same id as before.
// The updates must continue from the cursor.
func (c *crowd) compare() {
	var all sync.WaitGroup
	for _, w := range c.authors {
		all.Go(func() {
			w.turn.Lock()
			defer w.turn.Unlock()
			w.compare(c.lab, c.base())
		})
	}
	all.Wait()
}

func (w *author) compare(l *lab, base string) {
	w.mu.Lock()
	pending := w.pending
	again := map[string]string{} // keys to send again, with the ids that they gave
	for key, id := range w.ids {
		if len(again) < 3 {
			again[key] = id
		}
	}
	w.mu.Unlock()
	if pending != "" {
		again[pending] = ""
		l.count("unanswered keys retried", 1)
	}
	for key := range again {
		if a := w.publish(l.ctx, base, key); a.status != 200 || a.err != nil {
			l.fault("the key %s of %s, sent again: %s", key, w.handle, a)
		}
	}
	w.compareList(l, base)
	w.compareCount(l, base)
	_, cursor, a, ok := w.readUpdates(l.ctx, base, w.cursor)
	if !ok {
		l.fault("the updates of %s don't continue from the cursor: %s", w.handle, a)
		return
	}
	w.cursor = cursor
}

// compareList reads the author's predictions, newest first, until it meets predictions that an
// earlier comparison found.
func (w *author) compareList(l *lab, base string) {
	w.mu.Lock()
	missing := map[string]bool{}
	for _, id := range w.ids {
		if !w.compared[id] {
			missing[id] = true
		}
	}
	w.mu.Unlock()
	expected := maps.Clone(missing)
	cursor := ""
	for len(missing) > 0 {
		address := base + "/api/predictions?limit=100&agent=" + w.handle
		if cursor != "" {
			address += "&cursor=" + url.QueryEscape(cursor)
		}
		var page struct {
			Predictions []struct{ ID string }
			NextCursor  string
		}
		a := l.read(request{url: address, key: w.key})
		if err := a.decode(&page); err != nil || a.status != 200 {
			l.fault("the predictions of %s: %s", w.handle, a)
			return
		}
		for _, p := range page.Predictions {
			switch {
			case missing[p.ID]:
				delete(missing, p.ID)
				w.compared[p.ID] = true
			case expected[p.ID]:
				l.fault("the prediction %s of %s exists twice", p.ID, w.handle)
			case !w.compared[p.ID]:
				l.fault("%s has a prediction %s that no key gave", w.handle, p.ID)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(missing) > 0 {
		l.fault("%d acknowledged predictions of %s are lost", len(missing), w.handle)
	}
	l.count("acknowledged predictions found", len(expected)-len(missing))
}

// compareCount compares the author's own total with the number of acknowledgements.
func (w *author) compareCount(l *lab, base string) {
	a := l.read(request{url: base + "/api/stats", key: w.key})
	var stats struct {
		Stats struct{ Predictions struct{ Total, Open int } }
	}
	if err := a.decode(&stats); err != nil || a.status != 200 {
		l.fault("the stats of %s: %s", w.handle, a)
		return
	}
	if want := w.acknowledged(); stats.Stats.Predictions.Total != want {
		l.fault("%s counts %d predictions, but %d were acknowledged", w.handle, stats.Stats.Predictions.Total, want)
	}
}

// readUpdates reads all updates after a cursor, and returns the predictions that were settled.
func (w *author) readUpdates(ctx context.Context, base, since string) (settled []string, cursor string, a answer, ok bool) {
	for {
		address := base + "/api/agents/me/updates?limit=100"
		if since != "" {
			address += "&since=" + url.QueryEscape(since)
		}
		var page struct {
			Events []struct {
				Type string
				Ref  struct{ Prediction *struct{ ID string } }
			}
			Cursor  string
			HasMore bool
		}
		a = send(ctx, request{url: address, key: w.key})
		if err := a.decode(&page); err != nil || a.status != 200 || page.Cursor == "" {
			return settled, since, a, false
		}
		for _, e := range page.Events {
			if e.Type == "prediction.settled" && e.Ref.Prediction != nil {
				settled = append(settled, e.Ref.Prediction.ID)
			}
		}
		if since = page.Cursor; !page.HasMore {
			return settled, since, a, true
		}
	}
}
