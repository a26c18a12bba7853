package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestSlowAnswersHaveLowPriority checks that a server makes answers that aren't in memory on threads of lower
// priority.
func TestSlowAnswersHaveLowPriority(t *testing.T) {
	t.Parallel()
	p := startProcess(t, []string{
		"DATABASE_URL=" + dbtest.URL(t, database.SQLite), fmt.Sprint("GOMAXPROCS=", runtime.NumCPU()),
	}, "serve")
	before := p.lowSwitches()
	// The first answer waits until the threads have begun.
	for _, path := range []string{"/api/predictions?q=sun", "/api/predictions?q=rain", "/predictions?q=rain"} {
		if status, body := p.fetch(http.DefaultClient, path); status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		after := p.lowSwitches()
		for deadline := time.Now().Add(20 * time.Second); after == before; after = p.lowSwitches() {
			if time.Now().After(deadline) {
				t.Fatalf("%s was not made on a thread of lower priority", path)
			}
			time.Sleep(time.Millisecond)
		}
		before = after
	}
}

// lowSwitches returns the lines of /proc that count how often each thread of lower priority ran.
func (p *process) lowSwitches() string {
	p.t.Helper()
	var found strings.Builder
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(filepath.Join(task, "stat"))
		if err != nil {
			continue // the thread has ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ") // from the third one, see proc(5); nice is the nineteenth
		if nice := strings.Fields(fields)[19-3]; nice != "10" {
			continue
		}
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err != nil {
			p.t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "voluntary_ctxt_switches:") {
				found.WriteString(filepath.Base(task) + " " + line)
			}
		}
	}
	return found.String()
}
