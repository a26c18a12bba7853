package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

const listRequest = "GET /api/intelligence/markets HTTP/1.1\r\nHost: x\r\nUser-Agent: bench/1.0\r\n\r\n"

// BenchmarkMarketsOverHTTP compares the whole server (limits and access log off) with a bare
// fasthttp handler that sends the same bytes from the same buffers. Both are part of one run.
// Compare the two ns/op.
func BenchmarkMarketsOverHTTP(b *testing.B) {
	u := newUpstream(b)
	for i := range 100 {
		u.SetMarket(fmt.Sprintf("market-%03d", i), map[string]any{"volumeNum": 1000 - i})
	}
	p := startProcess(b, []string{
		"DATABASE_URL=" + dbtest.URL(b, database.SQLite), "POLYMARKET_URL=" + u.URL, "LOG_FORMAT=off",
		"RATE_LIMIT_SNAPSHOT=off", "RATE_LIMIT_READS=off", "MARKETS_INTERVAL=1h", usualCollection,
	}, "serve")
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return dig(a, "markets", 23) != nil })
	address := p.base[len("http://"):]
	body := fetchBody(b, address, listRequest)

	bare := &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.Response.SetBodyRaw(body)
		},
		ReadBufferSize: 12 << 10, WriteBufferSize: 32 << 10,
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go bare.Serve(ln)
	defer bare.Shutdown()
	b.Run("pulsecast", func(b *testing.B) { hammer(b, address, listRequest, len(body)) })
	b.Run("bare-fasthttp", func(b *testing.B) { hammer(b, ln.Addr().String(), listRequest, len(body)) })
}

// BenchmarkPagesOverHTTP compares cached pages with the JSON endpoint, both of one demo (limits and
// access log off) and both compressed, as browsers ask for them. It also measures the endpoint
// uncompressed, as programs ask for it. Pages are made anew every two seconds. Compare the ns/op: a
// page may take at most twice as long as the endpoint.
func BenchmarkPagesOverHTTP(b *testing.B) {
	p, _ := startDemo(b, "LOG_FORMAT=off", "RATE_LIMIT_SNAPSHOT=off", "RATE_LIMIT_READS=off", usualCollection)
	p.until("/api/leaderboard", "", func(a map[string]any) bool { return dig(a, "leaderboard", 9) != nil })
	address := p.base[len("http://"):]
	const list = "/api/intelligence/markets?limit=24"
	const browser = "gzip, deflate, br, zstd"
	for _, run := range []struct{ name, path, coding string }{
		{"json", list, browser}, {"json-plain", list, "identity"},
		{"home", "/", browser}, {"leaderboard", "/leaderboard", browser}, {"markets", "/markets", browser},
	} {
		request := "GET " + run.path + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: bench/1.0\r\nAccept-Encoding: " + run.coding + "\r\n\r\n"
		b.Run(run.name, func(b *testing.B) { hammer(b, address, request, len(fetchBody(b, address, request))) })
	}
}

// hammer sends the request over connections that stay open, one per goroutine.
func hammer(b *testing.B, address, request string, bodyLength int) {
	b.SetParallelism(16)
	b.SetBytes(int64(bodyLength))
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		r := bufio.NewReaderSize(conn, 64<<10)
		for pb.Next() {
			if _, err := io.WriteString(conn, request); err != nil {
				b.Error(err)
				return
			}
			if err := skipAnswer(r); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// skipAnswer reads one answer and discards it.
func skipAnswer(r *bufio.Reader) error {
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("the answer has no Content-Length")
	}
	_, err := r.Discard(length)
	return err
}

func fetchBody(b *testing.B, address, request string) []byte {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		b.Fatalf("%d %v", res.StatusCode, err)
	}
	return body
}

// BenchmarkStart measures the time from the start of the program on an existing database to its
// first answer.
func BenchmarkStart(b *testing.B) {
	settings := []string{"DATABASE_URL=" + dbtest.URL(b, database.SQLite)}
	for b.Loop() {
		b.StopTimer()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		address := ln.Addr().String()
		ln.Close()
		cmd := command(b, append(settings, "ADDR="+address), "serve")
		b.StartTimer()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		for !answers(address) {
			time.Sleep(time.Millisecond)
		}
		b.StopTimer()
		cmd.Process.Kill()
		cmd.Wait()
		b.StartTimer()
	}
}

func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	_, err = textproto.NewReader(bufio.NewReader(conn)).ReadLine()
	return err == nil
}
