package app_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// visit returns the status and the body of an address.
func (p *process) visit(path string) (status int, body string) {
	p.t.Helper()
	res, err := http.Get(p.base + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// warned waits until health has a warning about the replica that contains text, or no such warning
// if text is "".
func (p *process) warned(text string) {
	p.t.Helper()
	p.until("/api/health", "", func(a map[string]any) bool {
		list, _ := a["warnings"].([]any)
		return slices.ContainsFunc(list, func(w any) bool {
			return strings.Contains(fmt.Sprint(w), "reads go to the primary") && (text == "" || strings.Contains(fmt.Sprint(w), text))
		}) == (text != "")
	})
}

// stale waits until the answer at an address is marked as possibly out of date, with a line in its body, or until it isn't.
func (p *process) stale(path, line string, want bool) {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(p.base + path)
		if err != nil {
			p.t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			p.t.Fatal(err)
		}
		marked := strings.HasSuffix(res.Header.Get("Cache-Status"), "detail=unavailable") && res.Header.Get("Age") != "" && res.Header.Get("Cache-Control") == "no-store"
		says := line != "" && strings.Contains(string(body), line)
		if res.StatusCode == 200 && marked == want && (line == "" || says == want) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %d, stale %t, %q in the body %t, want %t; %v", path, res.StatusCode, marked, line, says, want, res.Header)
		}
	}
}

// TestReplica checks a node with a replica. It answers while the replica is behind, lost or
// promoted and while the primary is lost. Agents read their own writes at once. Health and the
// doctor say which server answers.
func TestReplica(t *testing.T) {
	t.Parallel()
	primary := dbtest.StartPostgres(t, "max_connections=60")
	replica := primary.StartReplica(t, "max_connections=60")
	settings := []string{
		"DATABASE_URL=" + primary.URL("postgres"), "DATABASE_REPLICA_URL=" + replica.URL("postgres"), "REPLICA_MAX_LAG=1s",
		"REGISTRATION=open", "RATE_LIMIT_READS=off", "RATE_LIMIT_WRITES=off",
	}
	p := startProcess(t, settings, "serve")
	p.warned("")
	examine(t, settings, 1, "ok    replica        follows the primary, and public reads go to it") // 1: no source answers
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
	key, handle := fmt.Sprint(made["apiKey"]), fmt.Sprint(dig(made, "agent", "handle"))
	// ownWrites publishes, reads at once as the author, and reads as a visitor what refers to the
	// prediction.
	ownWrites := func(what string) {
		t.Helper()
		for i := range 5 {
			status, made := p.call("POST", "/api/predictions", key, map[string]any{
				"title": fmt.Sprintf("Number %d, %s?", i, what), "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
			})
			id := fmt.Sprint(dig(made, "prediction", "id"))
			if status != 200 {
				t.Fatalf("%s: %d %v", what, status, made)
			}
			_, list := p.call("GET", "/api/predictions?limit=1", key, nil)
			if first := dig(list, "predictions", 0, "id"); first != id {
				t.Errorf("%s: the author published %s but reads %v", what, id, first)
			}
			for _, path := range []string{"/api/predictions/" + id, "/predictions/" + id, "/agents/" + handle} {
				if status, body := p.visit(path); status != 200 {
					t.Errorf("%s: %s: %d %.200s", what, path, status, body)
				}
			}
		}
	}
	ownWrites("following")

	db, err := database.Open(t.Context(), replica.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "SELECT ?", bun.Safe(statement)); err != nil {
			t.Fatal(err)
		}
	}
	run("pg_wal_replay_pause()")
	ownWrites("paused")
	p.warned("behind")
	examine(t, settings, 1, "warn  replica        the replica is ")
	ownWrites("far behind")
	_, list := p.call("GET", "/api/predictions?limit=100", "", nil)
	if got := dig(list, "predictions", 14, "id"); got == nil {
		t.Errorf("readers don't see predictions that the replica lacks for too long: %v", list)
	}
	run("pg_wal_replay_resume()")
	p.warned("")

	replica.Stop(dbtest.Kill)
	ownWrites("replica killed")
	p.warned("can't be reached")
	examine(t, settings, 1, "warn  replica        ")
	replica.Start()
	p.warned("")
	p.until("/api/predictions?limit=100", "", func(a map[string]any) bool { return dig(a, "predictions", 19, "id") != nil })

	primary.Stop(dbtest.Kill)
	for i, path := range []string{"/api/predictions?limit=17", "/predictions?category=general", "/api/agents/" + handle, "/api/leaderboard?limit=7"} {
		if status, body := p.visit(path); status != 200 { // these pages were not read before
			t.Errorf("without a primary, %d: %s: %d %.200s", i, path, status, body)
		}
	}
	if status, answer := p.call("GET", "/api/stats", key, nil); status != 503 {
		t.Errorf("without a primary, own reads: %d %v", status, answer)
	}
	p.stale("/api/predictions?limit=18", "", true)
	p.stale("/leaderboard", "This page may be out of date.", true)
	p.stale("/docs", "This page may be out of date.", false) // made without the database
	primary.Start()
	p.until("/api/stats", key, func(a map[string]any) bool { return a["ok"] == true })
	p.warned("")
	p.stale("/api/predictions?limit=18", "", false)
	p.stale("/leaderboard", "This page may be out of date.", false)

	run("pg_promote()")
	p.warned("promoted")
	ownWrites("promoted")
}

// TestServeThroughPooler checks that a node publishes and reads through PgBouncer in transaction
// mode.
func TestServeThroughPooler(t *testing.T) {
	t.Parallel()
	address := dbtest.StartPooler(t, dbtest.URL(t, database.Postgres), "transaction")
	settings := []string{"DATABASE_URL=" + address, "REGISTRATION=open", "RATE_LIMIT_READS=off", "RATE_LIMIT_WRITES=off"}
	p := startProcess(t, settings, "serve")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
	key := fmt.Sprint(made["apiKey"])
	for i := range 10 {
		body := map[string]any{"title": fmt.Sprint("Number ", i, "?"), "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC()}
		if status, answer := p.publishOnce(fmt.Sprint(i), key, body); status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		_, list := p.call("GET", "/api/predictions?q=number", key, nil)
		if dig(list, "predictions", i, "id") == nil {
			t.Errorf("after %d: %v", i+1, list)
		}
	}
	examine(t, settings, 1, "ok    pooler         connections go through a pooler")
}
