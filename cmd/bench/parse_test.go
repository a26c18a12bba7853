package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

const wrkOutput = `Running 1s test @ http://127.0.0.1:8080/
  2 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.17ms    5.34ms  86.04ms   92.39%
    Req/Sec    30.33k    10.85k   44.96k    55.00%
  Latency Distribution
     50%  419.00us
     75%    1.81ms
     90%    5.32ms
     99%   23.91ms
  60456 requests in 1.00s, 808.85MB read
Requests/sec:  60312.82
Transfer/sec:    806.93MB
`

func TestParseWrk(t *testing.T) {
	t.Parallel()
	got, err := parseWrk(wrkOutput)
	want := wrkResult{requests: 60456, bytes: 808.85 * (1 << 20), rate: 60312.82, p99: 23910 * time.Microsecond}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for replaced, want := range map[string]time.Duration{"419.00us": 419 * time.Microsecond, "1.20s": 1200 * time.Millisecond, "1.50m": 90 * time.Second} {
		got, err := parseWrk(strings.Replace(wrkOutput, "99%   23.91ms", "99%   "+replaced, 1))
		if err != nil || got.p99 != want {
			t.Errorf("%s is read as %v, %v", replaced, got.p99, err)
		}
	}
}

func TestParseWrkFailures(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]string{
		"refused answers":  wrkOutput + "  Non-2xx or 3xx responses: 12\n",
		"socket errors":    wrkOutput + "  Socket errors: connect 0, read 0, write 0, timeout 3\n",
		"nothing":          "",
		"without latency":  strings.Replace(wrkOutput, "99%", "98%", 1),
		"nothing answered": strings.Replace(wrkOutput, "60456 requests", "0 requests", 1),
	} {
		if _, err := parseWrk(out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

const pgbenchOutput = `transaction type: multiple scripts
number of clients: 64
number of transactions actually processed: 16000
number of failed transactions: 0 (0.000%)
latency average = 7.934 ms
initial connection time = 80.1 ms
tps = 8066.125000 (without initial connection time)
SQL script 1: one-0.sql
 - 4000 transactions (25.0% of total, tps = 2016.5)
`

func TestParsePgbench(t *testing.T) {
	t.Parallel()
	if got, err := parsePgbench(pgbenchOutput); err != nil || got != 8066.125 {
		t.Errorf("got %v, %v", got, err)
	}
	for name, out := range map[string]string{
		"failures": strings.Replace(pgbenchOutput, "transactions: 0 (", "transactions: 7 (", 1),
		"aborted":  pgbenchOutput + "pgbench: error: client 3 aborted in command 2 of script 0\n",
		"nothing":  "",
	} {
		if _, err := parsePgbench(out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadPublished(t *testing.T) {
	t.Parallel()
	const body = `{"ok":true,"prediction":{"id":"1"}}`
	read := func(answers string) (n int, err error) {
		for r := bufio.NewReader(strings.NewReader(answers)); ; n++ {
			if _, end := r.Peek(1); end != nil {
				return n, nil
			}
			h, err := readHead(r)
			if err == nil {
				err = readPublished(h, r)
			}
			if err != nil {
				return n, err
			}
		}
	}
	ok := "HTTP/1.1 200 OK\r\ncontent-length: 35\r\nX: y\r\n\r\n" + body
	if n, err := read(ok + ok); n != 2 || err != nil {
		t.Errorf("read %d answers, %v", n, err)
	}
	for name, answer := range map[string]string{
		"refused":        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 35\r\n\r\n" + body,
		"another body":   "HTTP/1.1 200 OK\r\nContent-Length: 35\r\n\r\n" + strings.Repeat("x", 35),
		"empty":          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"without length": "HTTP/1.1 200 OK\r\n\r\n",
		"cut off":        ok[:20],
	} {
		if _, err := read(answer); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestChosenGroups(t *testing.T) {
	t.Parallel()
	if all, err := (&options{}).chosen(); err != nil || len(all) != len(groups) {
		t.Errorf("got %d groups by default, %v", len(all), err)
	}
	if some, err := (&options{Rows: []string{"memory", "publish"}}).chosen(); err != nil || len(some) != 2 || some[0].name != "memory" {
		t.Errorf("chose %v, %v", some, err)
	}
	if _, err := (&options{Rows: []string{"publishing"}}).chosen(); err == nil {
		t.Error("got no error for an unknown group")
	}
}

func TestReadHead(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nContent-Length: 7\r\n\r\nrefused"
	got, err := readHead(bufio.NewReader(strings.NewReader(answer)))
	if want := (head{status: 503, length: 7, retryAfter: 2 * time.Second}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, wrong := range map[string]string{
		"without a length": strings.Replace(answer, "Content-Length", "X", 1), "another protocol": strings.Replace(answer, "HTTP/1.1", "SSH", 1),
		"cut off": answer[:60], "a date": strings.Replace(answer, "after: 2", "after: Thu, 1 Jan", 1),
	} {
		if _, err := readHead(bufio.NewReader(strings.NewReader(wrong))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
