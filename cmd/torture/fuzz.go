package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/http/httpguts"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/contract/contracttest"
)

// fuzzersAtOnce is the number of fuzzer requests that run at the same time.
const fuzzersAtOnce = 4

// fuzz sends requests made from the OpenAPI document to the whole service, on both backends.
func fuzz(l *lab) {
	_, redisURL := l.redis()
	for db := range l.stores() {
		s := l.sources()
		s.SetMarket("m", nil)
		env := append(l.environment(db.url, s, unlimited...), "STREAMS_PER_ADDRESS=1000")
		if db.server != nil {
			env = append(env, "REDIS_URL="+redisURL)
		}
		n := l.serve(env)
		var all sync.WaitGroup
		for worker := range fuzzersAtOnce {
			g, err := l.generator(n, uint64(worker))
			l.must(err)
			all.Go(func() {
				for i := range l.Requests / fuzzersAtOnce {
					l.fuzzOne(n, g, i)
					if i%200 == 199 { // renew: the fuzzer closes accounts and replaces keys
						g.know(l, n)
					}
					if l.build.broken != nil && l.faulty() {
						return
					}
				}
			})
		}
		all.Wait()
		select {
		case <-n.Ended:
			l.fault("the program ended: %s", n.Failure("ended"))
		default:
		}
		if a := send(l.ctx, request{url: n.base + "/api/health"}); a.status != 200 {
			l.fault("health after the fuzzing: %s", a)
		}
		if l.faulty() {
			return
		}
	}
}

func (l *lab) generator(n *node, worker uint64) (*generator, error) {
	operations, err := contract.Operations()
	if err != nil {
		return nil, err
	}
	g := &generator{Rand: rand.New(rand.NewPCG(l.Seed, worker)), operations: operations, known: map[string][]string{}}
	g.know(l, n)
	return g, nil
}

// know creates an agent with a prediction, so that requests can name existing things.
func (g *generator) know(l *lab, n *node) {
	var made struct {
		Agent  struct{ Handle string }
		APIKey string
	}
	name := "Fuzzer " + time.Now().Format("150405.000000")
	if a := send(l.ctx, request{method: "POST", url: n.base + "/api/agents", body: map[string]any{"name": name}}); a.decode(&made) != nil || a.status != 200 {
		l.fault("registering: %s", a)
		return
	}
	var published struct{ Prediction struct{ ID string } }
	a := send(l.ctx, request{method: "POST", url: n.base + "/api/predictions", key: made.APIKey, body: publishBody("")})
	if a.decode(&published) != nil || a.status != 200 {
		l.fault("publishing: %s", a)
		return
	}
	g.known = map[string][]string{
		"key": {made.APIKey}, "apiKey": {made.APIKey}, "handle": {made.Agent.Handle}, "agent": {made.Agent.Handle}, "a": {made.Agent.Handle},
		"b": {made.Agent.Handle}, "id": {published.Prediction.ID, "m"}, "marketId": {"m"}, "market": {"m"},
	}
}

// fuzzOne sends one request and compares its answer with the document.
func (l *lab) fuzzOne(n *node, g *generator, i int) {
	r := g.request()
	ctx, cancel := context.WithTimeout(l.ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, n.base+r.target, bytes.NewReader(r.body))
	if err != nil {
		return // not a URL
	}
	req.Header.Set("User-Agent", "pulsecast-torture/1.0")
	for _, h := range r.header {
		if value := strings.TrimSpace(h[1]); httpguts.ValidHeaderFieldValue(value) {
			req.Header.Set(h[0], value)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		l.fault("request %d: %s: %v", i, r, err)
		return
	}
	defer res.Body.Close()
	l.count("requests", 1)
	l.count("requests answered "+res.Status[:1]+"xx", 1)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return // a stream, which doesn't end
	}
	body, err := unpacked(res)
	if err == nil && res.StatusCode >= 500 {
		err = errors.New(string(body))
	}
	if err == nil {
		err = contracttest.Check(req, res, body)
	}
	if err != nil {
		l.fault("seed %d, request %d: %s: %d: %v", l.Seed, i, r, res.StatusCode, err)
	}
}

// unpacked decodes a body according to the Content-Encoding of its answer.
func unpacked(res *http.Response) ([]byte, error) {
	var r io.Reader = res.Body
	switch coding := res.Header.Get("Content-Encoding"); coding {
	case "":
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = unzipped
	case "zstd":
		d, err := zstd.NewReader(r)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		r = d
	default:
		return nil, fmt.Errorf("Content-Encoding %q was not offered", coding)
	}
	return io.ReadAll(r)
}
