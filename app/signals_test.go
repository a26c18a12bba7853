package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestSecondSignal checks that requests continue for DRAIN after SIGTERM, and that a second SIGTERM
// ends the process at once. Every acknowledged prediction must exist, and every key must give one
// prediction.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	const clients, published = 4, 40
	settings := []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "REGISTRATION=open", "RATE_LIMIT_WRITES=off", "DRAIN=10m"}
	p := startProcess(t, settings, "serve")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
	key, _ := made["apiKey"].(string)
	body, err := json.Marshal(map[string]any{
		"title": "Will it last?", "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if status, _ := p.call("GET", "/readyz", "", nil); status == 503 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("/readyz says 200 after SIGTERM")
		}
	}
	var sent [clients]map[string]string // the id that answered each Idempotency-Key, "" without an answer
	var acknowledged atomic.Int64
	reached := make(chan struct{})
	var wg sync.WaitGroup
	for i := range sent {
		sent[i] = map[string]string{}
		wg.Go(func() {
			for n := 0; ; n++ {
				once := fmt.Sprintf("%d/%d", i, n)
				id, status := publishWith(p.base, key, once, body)
				sent[i][once] = id
				if status != 200 {
					return
				}
				if acknowledged.Add(1) == published {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Fatalf("%d predictions are published while draining:\n%s", acknowledged.Load(), p.out)
	}
	if code := p.stop(syscall.SIGTERM); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	wg.Wait()
	again := startProcess(t, settings, "serve")
	total := 0
	for i := range sent {
		for once, id := range sent[i] {
			total++
			if got, status := publishWith(again.base, key, once, body); status != 200 || (id != "" && got != id) {
				t.Errorf("%s: %d, %q, was %q", once, status, got, id)
			}
		}
	}
	_, stats := again.call("GET", "/api/stats", key, nil)
	if n := dig(stats, "stats", "predictions", "total"); n != float64(total) {
		t.Errorf("%v predictions for %d keys", n, total)
	}
	if code := again.stop(syscall.SIGINT); code != 0 {
		t.Errorf("SIGINT: exit code %d", code)
	}
}

// TestInterruptedCommandFails checks that a command which a signal ends before its work is done says so and exits with
// 1, so that a script doesn't go on.
func TestInterruptedCommandFails(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"ingest": {"ingest"}, "verify": {"verify", "SILENT"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent, asked := serveSilence(t)
			for i := range args {
				args[i] = strings.Replace(args[i], "SILENT", silent, 1)
			}
			cmd := command(t, []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "POLYMARKET_URL=" + silent}, args...)
			out := &buffer{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), "interrupted before it was done") {
				t.Errorf("exit code %d, want 1:\n%s", code, out)
			}
		})
	}
}

// serveSilence accepts connections and never answers. asked is closed once the first request has come.
func serveSilence(t *testing.T) (address string, asked <-chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	came := make(chan struct{})
	first := sync.OnceFunc(func() { close(came) })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go func() {
				if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					first()
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String(), came
}
