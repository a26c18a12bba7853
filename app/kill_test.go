package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// publishWith sends a prediction with an Idempotency-Key and returns its id, empty if there
// is no answer.
func publishWith(base, agentKey, idempotencyKey string, body []byte) (id string, status int) {
	req, err := http.NewRequest("POST", base+"/api/predictions", bytes.NewReader(body))
	if err != nil {
		return "", 0
	}
	for name, value := range map[string]string{
		"User-Agent": "pulsecast-tests/1.0", "Content-Type": "application/json", "Authorization": "Bearer " + agentKey,
		"Idempotency-Key": idempotencyKey,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0
	}
	defer res.Body.Close()
	var answer struct{ Prediction struct{ ID string } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", 0
	}
	return answer.Prediction.ID, res.StatusCode
}

// TestKillUnderLoad: a node is killed while many agents publish, again and again. Every
// acknowledged prediction is there once, and every key gives one prediction.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	const agents, rounds, published = 8, 3, 100
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			settings := []string{"DATABASE_URL=" + dbtest.URL(t, kind), "REGISTRATION=open", "REGISTRATION_RATE=off", "RATE_LIMIT_WRITES=off"}
			p := startProcess(t, settings, "serve")
			keys := make([]string, agents)
			for i := range keys {
				_, made := p.call("POST", "/api/agents", "", map[string]any{"name": fmt.Sprint("Agent ", i)})
				keys[i], _ = made["apiKey"].(string)
			}
			body, err := json.Marshal(map[string]any{
				"title": "Will it last?", "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
			})
			if err != nil {
				t.Fatal(err)
			}
			// sent holds what each Idempotency-Key was answered, "" without an answer.
			var sent [agents]map[string]string
			for i := range sent {
				sent[i] = map[string]string{}
			}
			for round := range rounds {
				var acknowledged atomic.Int64
				reached := make(chan struct{})
				var wg sync.WaitGroup
				for i := range keys {
					wg.Go(func() {
						for n := 0; ; n++ {
							key := fmt.Sprintf("%d/%d", round, n)
							id, status := publishWith(p.base, keys[i], key, body)
							sent[i][key] = id
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
					t.Fatalf("%d are published:\n%s", acknowledged.Load(), p.out)
				}
				p.stop(syscall.SIGKILL)
				wg.Wait()
				p = startProcess(t, settings, "serve")
			}
			for i, key := range keys {
				for idempotencyKey, id := range sent[i] {
					again, status := publishWith(p.base, key, idempotencyKey, body)
					if status != 200 || (id != "" && again != id) {
						t.Errorf("%s of agent %d: %d, %q, was %q", idempotencyKey, i, status, again, id)
					}
					if status, _ := p.call("GET", "/api/predictions/"+again, "", nil); status != 200 {
						t.Errorf("%s of agent %d is not there: %d", idempotencyKey, i, status)
					}
				}
				_, stats := p.call("GET", "/api/stats", key, nil)
				if total := dig(stats, "stats", "predictions", "total"); total != float64(len(sent[i])) {
					t.Errorf("agent %d has %v predictions for %d keys", i, total, len(sent[i]))
				}
			}
		})
	}
}
