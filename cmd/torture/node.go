package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/source/sourcetest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// unlimited are settings for checks in which no request may be refused by a limit.
var unlimited = []string{
	"RATE_LIMIT_READS=off", "RATE_LIMIT_WRITES=off", "RATE_LIMIT_FAILURES=off", "RATE_LIMIT_SNAPSHOT=off",
	"REGISTRATION_RATE=off", "REGISTRATION_CEILING=off",
}

// sources stands in for the upstream services. It hangs on demand.
type sources struct {
	*sourcetest.Server
	url     string
	hanging atomic.Bool
}

func (l *lab) sources() *sources {
	s := &sources{Server: sourcetest.New()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.hanging.Load() {
			<-r.Context().Done()
			return
		}
		s.ServeHTTP(w, r)
	}))
	l.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.url = server.URL
	return s
}

// settle closes a market with the outcome yes.
func (s *sources) settle(id string) {
	s.SetMarket(id, map[string]any{
		"closed": true, "outcomePrices": `["0.9999992", "0.0000008"]`, "umaResolutionStatus": "resolved",
		"closedTime": time.Now().Add(time.Second).UTC().Format("2006-01-02 15:04:05+00"),
	})
}

// node is one running program. The check can kill it and start it again at the same address.
type node struct {
	*run.Process
	lab  *lab
	base string // http://127.0.0.1:8080
	env  []string
	args []string
}

// usualCollection makes a node collect garbage as often as users' programs do.
const usualCollection = "GOGC="

// environment returns the environment of a node on a database, with the check's own settings.
func (l *lab) environment(databaseURL string, s *sources, settings ...string) []string {
	env := []string{
		"DATABASE_URL=" + databaseURL, "REGISTRATION=open", "MARKETS_INTERVAL=1s", "NEWS_INTERVAL=2s", "LOG_FORMAT=json", "DRAIN=0s", "GOGC=" + l.build.gogc,
	}
	url := "http://127.0.0.1:9" // an address where nothing listens
	if s != nil {
		url = s.url
	}
	for _, name := range []string{"POLYMARKET_URL", "POLYMARKET_CLOB_URL", "REDDIT_AUTH_URL", "REDDIT_API_URL", "REDDIT_RSS_URL", "GDELT_URL", "HACKERNEWS_URL"} {
		env = append(env, name+"="+url)
	}
	if b := l.build.broken; b != nil {
		env = append(env, "BROKEN="+b.name)
	}
	return append(env, settings...)
}

// serve starts a node and waits until it is ready.
func (l *lab) serve(env []string, args ...string) *node {
	address, err := run.FreeAddress()
	l.must(err)
	n := &node{lab: l, base: "http://" + address, env: append(slices.Clone(env), "ADDR="+address), args: append([]string{"serve"}, args...)}
	l.must(n.start())
	l.Cleanup(func() { n.Kill() })
	return n
}

// start starts the program after it ended and waits until it is ready.
func (n *node) start() error {
	p, out, err := n.launch()
	if err != nil {
		return err
	}
	_, _, err = p.UntilSaid(n.lab.ctx, out, "Pulsecast listens on ")
	return err
}

// launch is start without the wait.
func (n *node) launch() (*run.Process, io.Reader, error) {
	p, out, err := run.Start(n.lab.ctx, n.lab.dir, run.Command{Name: "pulsecast", Program: n.lab.build.binary, Args: n.args, Env: n.env})
	if err == nil {
		n.Process = p
	}
	return p, out, err
}

// command runs another command of the program while the node runs, and returns its output.
func (n *node) command(args ...string) (string, error) {
	cmd := exec.CommandContext(n.lab.ctx, n.lab.build.binary, args...)
	cmd.Env, cmd.Dir = n.env, filepath.Dir(n.lab.build.binary)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// client keeps connections open. Its requests time out after a minute.
var client = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 5 * time.Second},
}

// request is a request to send.
type request struct {
	method, url string    // GET if empty
	key         string    // the bearer; "" for none
	body        any       // sent as JSON; nil for none
	stream      io.Reader // sent instead of body if it isn't nil
	size        int       // the number of bytes of stream
	header      map[string]string
	client      *http.Client // nil for client
}

// answer is the answer to a request. err is set if there was none.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
	err    error
}

// send sends a request and reads the whole answer.
func send(ctx context.Context, r request) (a answer) {
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	var body io.Reader
	if r.body != nil {
		packed, err := json.Marshal(r.body)
		if err != nil {
			return answer{err: err}
		}
		body = bytes.NewReader(packed)
	}
	if r.stream != nil {
		body = r.stream
	}
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("User-Agent", "pulsecast-torture/1.0")
	if r.stream != nil {
		req.ContentLength = int64(r.size)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.client == nil {
		r.client = client
	}
	res, err := r.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{status: res.StatusCode, header: res.Header, body: raw, err: err}
}

// decode reads a JSON answer.
func (a answer) decode(into any) error {
	if a.err != nil {
		return a.err
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%d %.200s: %w", a.status, a.body, err)
	}
	return nil
}

// metric reads the number in the line of a Prometheus answer that begins with prefix. It reports whether there is one.
func (a answer) metric(prefix string, into *int) bool {
	for line := range strings.Lines(string(a.body)) {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			*into = int(n)
			return err == nil
		}
	}
	return false
}

// String formats the answer for the text of a fault.
func (a answer) String() string {
	if a.err != nil {
		return fmt.Sprintf("no answer after %s: %v", a.took.Round(time.Millisecond), a.err)
	}
	return fmt.Sprintf("%d after %s: %s", a.status, a.took.Round(time.Millisecond), strings.TrimSpace(fmt.Sprintf("%.300s", a.body)))
}
