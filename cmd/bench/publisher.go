package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// publisher sends predictions to a node for many agents, over connections that stay open.
type publisher struct {
	address  string
	keys     []string
	markets  []string
	evidence []string
	theses   []string
	horizon  string
	// serial numbers the requests, so that every Idempotency-Key is new.
	serial atomic.Int64
	// acknowledged counts the answers with status 200.
	acknowledged atomic.Int64
}

func (w *world) publisher(n *node, keys []string) *publisher {
	return &publisher{
		address: n.Address, keys: keys, markets: w.markets, evidence: w.evidence, theses: theses(64),
		horizon: time.Now().UTC().AddDate(0, 2, 0).Format(time.RFC3339),
	}
}

// theses returns texts of about 1,200 characters, a typical length of an agent's thesis. They
// contain no character that JSON escapes.
func theses(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]string, n)
	for i := range out {
		var text strings.Builder
		for text.Len() < 1200 {
			for j := range 8 + r.IntN(10) {
				word := vocabulary[int(float64(len(vocabulary))*r.Float64()*r.Float64())]
				if j == 0 {
					word = strings.ToUpper(word[:1]) + word[1:]
				}
				text.WriteString(word + " ")
			}
			fmt.Fprintf(&text, "%d. ", r.IntN(1000))
		}
		out[i] = strings.TrimSpace(text.String())
	}
	return out
}

// vocabulary holds 2,000 made-up words. The first are the most frequent.
var vocabulary = func() []string {
	syllables := strings.Fields("ka lo mi ren ta su ver no pi dra el un ost hal")
	var words []string
	for i := 0; len(words) < 2000; i++ {
		word := ""
		for n := i + len(syllables); n > 0; n /= len(syllables) {
			word += syllables[n%len(syllables)]
		}
		words = append(words, word)
	}
	return words
}()

// traffic says how a publisher publishes.
type traffic struct {
	clients int
	// rate is the number of predictions per second of all clients together. If it is 0, each client
	// sends the next prediction as soon as it has its answer.
	rate   float64
	length time.Duration
	count  int64 // stop after this many predictions; 0 for no limit
	keyed  bool  // send an Idempotency-Key
	market string
}

// run publishes and returns the rate of the answers. Any answer but 200 is an error. If ctx ends,
// run ends early without an error.
func (p *publisher) run(ctx context.Context, l traffic) (sample, error) {
	began := time.Now()
	deadline := began.Add(l.length)
	var (
		group     sync.WaitGroup
		sent      atomic.Int64
		mu        sync.Mutex
		latencies []time.Duration
		failed    error
		broken    atomic.Bool
	)
	for c := range l.clients {
		group.Go(func() {
			own, err := p.client(ctx, c, l, began, deadline, &sent, &broken)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, own...)
			if err != nil && ctx.Err() == nil && failed == nil {
				failed = err
				broken.Store(true)
			}
		})
	}
	group.Wait()
	if failed != nil {
		return sample{}, fmt.Errorf("publish: %w", failed)
	}
	if len(latencies) == 0 {
		return sample{}, errors.New("publish: no answer")
	}
	slices.Sort(latencies)
	return sample{
		rate: float64(len(latencies)) / time.Since(began).Seconds(),
		p99:  latencies[len(latencies)*99/100],
	}, nil
}

// client sends one request after another until the deadline.
func (p *publisher) client(
	ctx context.Context, number int, l traffic, began, deadline time.Time,
	sent *atomic.Int64, broken *atomic.Bool,
) (latencies []time.Duration, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	reader := bufio.NewReaderSize(conn, 16<<10)
	var request []byte
	for turn := number; ; turn += l.clients {
		slot := sent.Add(1)
		if broken.Load() || l.count > 0 && slot > l.count {
			return latencies, nil
		}
		if l.rate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(float64(slot) / l.rate * float64(time.Second)))))
		}
		if ctx.Err() != nil || l.length > 0 && !time.Now().Before(deadline) {
			return latencies, nil
		}
		request = p.request(request[:0], turn, l)
		at := time.Now()
		conn.SetDeadline(at.Add(30 * time.Second))
		if _, err := conn.Write(request); err != nil {
			return latencies, err
		}
		h, err := readHead(reader)
		if err == nil {
			err = readPublished(h, reader)
		}
		if err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(at))
		p.acknowledged.Add(1)
	}
}

// request appends a whole request to buf. It takes agents, markets, theses and evidence in
// rotation.
func (p *publisher) request(buf []byte, turn int, l traffic) []byte {
	n := int(p.serial.Add(1))
	market := l.market
	if market == "" {
		market = p.markets[n%len(p.markets)]
	}
	body := `{"title":"How will this end?","horizonAt":"` + p.horizon + `","marketId":"` + market +
		`","confidence":0.` + strconv.Itoa(1000+n*37%9000) + `,"thesis":"` + p.theses[n%len(p.theses)] +
		`","evidence":[{"title":"What was reported on it","url":"` + p.evidence[n/7%len(p.evidence)] + `"}]}`
	buf = append(buf, "POST /api/predictions HTTP/1.1\r\nHost: "+p.address+"\r\nUser-Agent: "+userAgent+
		"\r\nContent-Type: application/json\r\nAuthorization: Bearer "+p.keys[turn%len(p.keys)]...)
	if l.keyed {
		buf = append(buf, "\r\nIdempotency-Key: bench-"...)
		buf = strconv.AppendInt(buf, int64(n), 10)
	}
	buf = append(buf, "\r\nContent-Length: "...)
	buf = strconv.AppendInt(buf, int64(len(body)), 10)
	buf = append(buf, "\r\n\r\n"...)
	return append(buf, body...)
}

// head is what the status line and the header of an answer say.
type head struct {
	status, length int           // length of the body in bytes
	retryAfter     time.Duration // 0 without Retry-After
}

// readHead reads the status line and the header of an answer.
func readHead(r *bufio.Reader) (h head, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	status, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !ok || len(status) < 3 {
		return h, fmt.Errorf("the answer begins with %q", line)
	}
	if h.status, err = strconv.Atoi(string(status[:3])); err != nil {
		return h, err
	}
	h.length = -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			h.length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		case bytes.EqualFold(name, []byte("Retry-After")):
			var seconds int
			seconds, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			h.retryAfter = time.Duration(seconds) * time.Second
		}
		if err != nil {
			return h, err
		}
	}
	if h.length < 0 {
		return h, errors.New("the answer has no Content-Length")
	}
	return h, nil
}

// readPublished reads the body of an answer and checks that it acknowledges a prediction.
func readPublished(h head, r *bufio.Reader) error {
	const begin = `{"ok":true,"prediction":{`
	if h.status == http.StatusOK && h.length >= len(begin) {
		if start, err := r.Peek(len(begin)); err != nil || string(start) != begin {
			return fmt.Errorf("the answer begins with %q: %w", start, err)
		}
		_, err := r.Discard(h.length)
		return err
	}
	body := make([]byte, h.length)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return fmt.Errorf("answered %.300s", body)
}
