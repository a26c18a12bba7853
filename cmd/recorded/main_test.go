package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun starts the command on one recorded market. It checks that the command prints its address, serves
// that market, and leaves nothing behind.
func TestRun(t *testing.T) {
	payloads, tmp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	recording := `[{"id": "7", "question": "Will it rain?", "outcomes": "[\"Yes\",\"No\"]", "outcomePrices": "[\"0.3\",\"0.7\"]", "active": true}]`
	if err := os.WriteFile(filepath.Join(payloads, "one.json"), []byte(recording), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:0", payloads, in, io.Discard)
		in.Close()
	}()
	base := ""
	for lines := bufio.NewScanner(out); base == "" && lines.Scan(); {
		base, _ = strings.CutPrefix(lines.Text(), "Pulsecast listens on ")
		if !strings.HasPrefix(base, "http") {
			base = ""
		}
	}
	if base == "" {
		t.Fatal("it ended before it served:", <-ended)
	}
	if got := firstMarket(t, base); got != "Will it rain?" {
		t.Errorf("the first market asks %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// firstMarket polls until the first reading is available.
func firstMarket(t *testing.T, base string) string {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/intelligence/markets", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "pulsecast-tests/1.0")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Markets []struct{ Question string } }
		err = json.NewDecoder(res.Body).Decode(&body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(body.Markets) > 0 {
			return body.Markets[0].Question
		}
		select {
		case <-deadline:
			t.Fatal("no market was read")
		case <-tick.C:
		}
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), "127.0.0.1:0", filepath.Join(t.TempDir(), "none"), io.Discard, io.Discard); err == nil {
		t.Error("payloads that are not there are no error")
	}
	if err := run(t.Context(), "nowhere", t.TempDir(), io.Discard, io.Discard); err == nil {
		t.Error("a bad address is no error")
	}
}
