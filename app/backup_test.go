package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// must runs a command of the program and fails the test if the command fails.
func must(t *testing.T, settings []string, args ...string) string {
	t.Helper()
	out, err := command(t, settings, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// publishers publish until stop is set, and record the predictions that are acknowledged before
// seal is called.
type publishers struct {
	wg   sync.WaitGroup
	stop atomic.Bool
	all  atomic.Int64

	mu     sync.Mutex
	before map[string]string // agent keys by prediction id
	sealed bool
}

func (p *publishers) start(base string, keys []string, body []byte) {
	p.before = map[string]string{}
	for _, key := range keys {
		p.wg.Go(func() {
			for n := 0; !p.stop.Load(); n++ {
				id, status := publishWith(base, key, fmt.Sprint(n), body)
				if status != 200 {
					continue
				}
				p.all.Add(1)
				p.mu.Lock()
				if !p.sealed {
					p.before[id] = key
				}
				p.mu.Unlock()
			}
		})
	}
}

// wait returns once this many more predictions are acknowledged.
func (p *publishers) wait(t *testing.T, more int64) {
	t.Helper()
	want := p.all.Load() + more
	for deadline := time.Now().Add(time.Minute); p.all.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d predictions are published, want %d", p.all.Load(), want)
		}
	}
}

func (p *publishers) seal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealed = true
}

// TestDrill runs the drill of docs/operations.md: it backs up under load, destroys the database and
// restores it. Every prediction that was acknowledged before the backup began exists exactly once.
func TestDrill(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			address, file := dbtest.URL(t, kind), filepath.Join(t.TempDir(), "backup")
			settings := []string{"DATABASE_URL=" + address, "REGISTRATION=open", "REGISTRATION_RATE=off", "RATE_LIMIT_WRITES=off", "RATE_LIMIT_READS=off"}
			p := startProcess(t, settings, "serve")
			keys := make([]string, 4)
			for i := range keys {
				_, made := p.call("POST", "/api/agents", "", map[string]any{"name": fmt.Sprint("Agent ", i)})
				keys[i], _ = made["apiKey"].(string)
			}
			_, session := p.call("POST", "/api/session", "", map[string]any{"apiKey": keys[0]})
			token, _ := dig(session, "session", "token").(string)
			_, updates := p.call("GET", "/api/agents/me/updates", keys[0], nil)
			body, err := json.Marshal(map[string]any{
				"title": "Will it last?", "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
			})
			if err != nil {
				t.Fatal(err)
			}
			var load publishers
			load.start(p.base, keys, body)
			load.wait(t, 40)
			load.seal()
			before := load.all.Load()
			if out := must(t, settings, "backup", file); !strings.Contains(out, "is written and verified") {
				t.Error(out)
			}
			if more := load.all.Load() - before; more <= int64(len(keys)) { // each key had a request on its way
				t.Errorf("%d predictions were published during the backup", more)
			}
			load.stop.Store(true)
			load.wg.Wait()
			p.stop(syscall.SIGKILL)
			dbtest.Destroy(t, address) // as a lost disk or a mistyped command would
			must(t, settings, "restore", file)

			again := startProcess(t, settings, "serve")
			for id, key := range load.before {
				if status, _ := again.call("GET", "/api/predictions/"+id, key, nil); status != 200 {
					t.Errorf("%s was acknowledged before the backup, but is gone: %d", id, status)
				}
			}
			total := 0.0
			for _, key := range keys {
				status, stats := again.call("GET", "/api/stats", key, nil)
				n, _ := dig(stats, "stats", "predictions", "total").(float64)
				if total += n; status != 200 {
					t.Errorf("a key no longer works: %d %v", status, stats)
				}
			}
			if total < float64(len(load.before)) || total > float64(load.all.Load()) {
				t.Errorf("restored %v predictions; %d were acknowledged before the backup, %d in all", total, len(load.before), load.all.Load())
			}
			if status, answer := again.call("GET", fmt.Sprintf("/api/agents/me/updates?since=%v", updates["cursor"]), keys[0], nil); status != 410 || answer["code"] != "cursor_expired" {
				t.Errorf("a cursor from before the backup: got %d %v", status, answer)
			}
			if status, _ := again.call("GET", "/api/stats", token, nil); status != 401 {
				t.Errorf("a session from before the backup: got %d", status)
			}
			if status, answer := again.call("POST", "/api/predictions", keys[0], json.RawMessage(body)); status != 200 {
				t.Errorf("publishing after the restore: got %d %v", status, answer)
			}
			if out := must(t, settings, "settle", "--rebuild"); !strings.Contains(out, "every number agrees") {
				t.Error(out)
			}
		})
	}
}

// TestPlainCopy checks that the doctor and the start recognise a plain copy of a served SQLite
// file, which lacks the newest commits. They don't warn after a crash, after a clean stop, or about
// a backup.
func TestPlainCopy(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	path, _ := database.SQLitePath(address)
	const complaint = "copied while a server used it"
	complains := func(address string) bool {
		out, _ := command(t, []string{"DATABASE_URL=" + address}, "doctor").CombinedOutput()
		return strings.Contains(string(out), complaint)
	}
	settings := []string{"DATABASE_URL=" + address, "REGISTRATION=open"}
	p := startProcess(t, settings, "serve")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(lost, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if complains(address) {
		t.Error("the doctor takes the served file for a copy")
	}
	p.stop(syscall.SIGKILL)
	for range 2 { // the doctor changes nothing
		if complains(address) {
			t.Error("after a crash the doctor takes the file for a copy")
		}
	}
	p = startProcess(t, settings, "serve")
	key, _ := made["apiKey"].(string)
	if status, _ := p.call("GET", "/api/stats", key, nil); status != 200 {
		t.Errorf("after the crash: %d", status)
	}
	p.stop(syscall.SIGTERM)
	if complains(address) {
		t.Error("after a clean stop the doctor takes the file for a copy")
	}

	for range 2 {
		if !complains("sqlite://" + lost) {
			t.Error("the doctor doesn't recognise the copy each time")
		}
	}
	copied := startProcess(t, []string{"DATABASE_URL=sqlite://" + lost}, "serve")
	_, health := copied.call("GET", "/api/health", "", nil)
	if !strings.Contains(fmt.Sprint(health["warnings"]), "lost its write-ahead log") || !strings.Contains(copied.out.String(), "level=ERROR") {
		t.Errorf("the start doesn't warn about the copy: %v\n%s", health["warnings"], copied.out)
	}
	copied.stop(syscall.SIGTERM)
	if complains("sqlite://" + lost) {
		t.Error("the doctor still warns after the copy was served and stopped cleanly")
	}
	out, err := command(t, nil, "restore", lost).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBackupsWithoutWorker checks that a node with a schedule but no worker says that it makes no backups.
func TestBackupsWithoutWorker(t *testing.T) {
	t.Parallel()
	p := startProcess(t, []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "BACKUP_DIR=" + t.TempDir(), "BACKUP_EVERY=24h"}, "serve", "--no-worker")
	p.stop(syscall.SIGTERM) // so that the whole log has arrived
	if said := p.out.String(); !strings.Contains(said, "BACKUP_EVERY is set, but this node runs no worker") {
		t.Error(said)
	}
}

// TestScheduledBackups checks that a server makes its first backup soon after its start, and warns if a later one isn't
// made. It doesn't start if the folder can't be made.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "backups")
			address := dbtest.URL(t, kind)
			settings := []string{"DATABASE_URL=" + address, "BACKUP_DIR=" + dir, "BACKUP_EVERY=24h"}
			nowhere := append(slices.Clone(settings), "BACKUP_DIR=/dev/null/backups")
			exits(t, command(t, nowhere, "serve"), 1, "BACKUP_DIR: cannot write to /dev/null/backups: not a directory")
			p := startProcess(t, settings, "serve")
			db, err := database.Open(context.Background(), address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, found, err := database.Setting(t.Context(), db.Reader, "backup"); found && err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("no backup was made:\n%s", p.out)
				}
			}
			made, err := filepath.Glob(filepath.Join(dir, "pulsecast-*"))
			if err != nil || len(made) != 1 {
				t.Fatalf("%q, %v", made, err)
			}
			if _, health := p.call("GET", "/api/health", "", nil); strings.Contains(fmt.Sprint(health["warnings"]), "backup") {
				t.Errorf("%v", health["warnings"])
			}

			// Three days later there is a file in place of the folder.
			state, err := backup.ReadState(t.Context(), db.Reader)
			if err != nil {
				t.Fatal(err)
			}
			state.At = state.At.AddDate(0, 0, -3)
			text, err := json.Marshal(state)
			if err := errors.Join(err, os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600), database.SetSetting(t.Context(), db, "backup", string(text))); err != nil {
				t.Fatal(err)
			}
			p.until("/api/health", "", func(a map[string]any) bool {
				return strings.Contains(fmt.Sprint(a["warnings"]), "no scheduled backup was made when it was due")
			})
		})
	}
}
