package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

var named = regexp.MustCompile(`\b(pulsecast_[a-z0-9_]+|go_sql_[a-z_]+|process_[a-z_]+)`)

// TestDocsNameWhatIsServed checks that the dashboard and the rules use metrics that exist.
func TestDocsNameWhatIsServed(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	fill(t, db)
	m := serve(t, db)
	m.Observe("/", "GET", 500, "internal", time.Second)
	m.LeaderboardBuilt(time.Second)
	m.Job(jobNamed("markets")).Run(t.Context())
	served := map[string]bool{}
	for name := range scrape(t, m) {
		name, _, _ = strings.Cut(name, "{")
		served[name] = true
	}
	for _, file := range []string{"alerts.yaml", "grafana.json"} {
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", file)
		}
		names := named.FindAllString(string(text), -1)
		if len(names) < 10 {
			t.Errorf("%s names only %v", file, names)
		}
		for _, name := range names {
			base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
			if !served[name] && !served[base] {
				t.Errorf("%s asks for %s", file, name)
			}
		}
	}
}
