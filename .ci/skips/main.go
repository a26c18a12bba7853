// Command skips reads a record of test events (test2json, one JSON object per line). It fails if a
// test was skipped because of a missing requirement that was in fact present. So a test that never
// ran can't look like one that passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// requirements are the settings that tests need. A test that is skipped without one names it in its
// message.
var requirements = []string{"TEST_POSTGRES_URL", "TEST_REDIS_URL", "NEED_CHROMIUM", "NEED_NGINX", "NEED_PGBOUNCER", "NEED_NPM", "NEED_ROOT", "NEED_SYSTEMD", "UPSTREAM_SAMPLES"}

type event struct {
	Action, Package, Test, Output string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: skips EVENTS.json")
		os.Exit(2)
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
	defer file.Close()
	wrong, err := unjustified(file, os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
	for _, line := range wrong {
		fmt.Println("skipped needlessly:", line)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// unjustified returns one line for each test in events that was skipped although the setting that
// its message names has a value.
func unjustified(events io.Reader, getenv func(string) string) ([]string, error) {
	var wrong []string
	said := map[string]string{} // output by package and test
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read test events: %w", err)
		}
		if e.Test == "" {
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			said[key] += e.Output
		case "pass", "fail":
			delete(said, key)
		case "skip":
			for _, setting := range requirements {
				if getenv(setting) != "" && strings.Contains(said[key], setting) {
					wrong = append(wrong, key+": "+setting+" is set")
				}
			}
			delete(said, key)
		}
	}
	return wrong, lines.Err()
}
