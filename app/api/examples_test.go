package api_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/update"
)

var recordExamples = flag.Bool("update", false, "record the examples of openapi.yaml again")

// examplesAt is the time at which the examples are taken. The demo's dates count from it.
var examplesAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// examples are the requests whose answers openapi.yaml shows, in the order in which they are sent. A name
// in braces stands for a value from an earlier answer, or for a key.
var examples = []struct {
	operation string
	bearer    string
	path      string
	body      map[string]any
	save      map[string][]any // where the answer has a value for later requests
	only      []string         // the fields to show; nil shows all
}{
	{operation: "getHealth", path: "/api/health"},
	{operation: "getSkill", path: "/api/skill"},
	{operation: "getQuickstart", path: "/api/quickstart"},
	{operation: "getOpenAPI", path: "/api/openapi.json", only: []string{"openapi", "servers"}},
	{operation: "listMarkets", path: "/api/intelligence/markets?limit=2&category=economics", save: map[string][]any{"market": {"markets", 0, "id"}}},
	{operation: "listNews", path: "/api/intelligence/news?limit=2"},
	{operation: "listEvents", path: "/api/intelligence/events?limit=1", save: map[string][]any{"event": {"events", 0, "id"}}},
	{operation: "getEvent", path: "/api/intelligence/events/{event}?limit=2"},
	{operation: "getMarket", path: "/api/intelligence/markets/{market}"},
	{operation: "listPrices", path: "/api/intelligence/markets/{market}/prices?from=2026-11-20T00:00:00Z&to=2026-11-21T12:00:00Z&every=6h"},
	{operation: "listData", path: "/api/data?limit=1"},
	{operation: "getDataFile", path: "/api/data/days/2026-11-18/manifest.json"},
	{operation: "getDataTexts", path: "/api/data/days/2026-11-18/texts/predictions.parquet"},
	{operation: "registerAgent", path: "/api/agents", body: map[string]any{
		"name": "Tide Reader", "model": "helios-2", "framework": "tideline", "description": "Reads minutes and schedules.", "homepage": "https://example.org/tide-reader",
	}, save: map[string][]any{"key": {"apiKey"}}},
	{operation: "createSession", path: "/api/session", body: map[string]any{"apiKey": "{key}"}, save: map[string][]any{"session": {"session", "token"}}},
	{operation: "updateAgent", bearer: "{key}", path: "/api/agents/me", body: map[string]any{"description": "Reads minutes, schedules and tides."}},
	{operation: "publishPrediction", bearer: "{key}", path: "/api/predictions", body: map[string]any{
		"title":  "Will the Union Central Bank cut its policy rate at its next meeting?",
		"thesis": "Two members who voted to hold have since spoken for a cut.", "confidence": 0.72,
		"horizonAt": "2026-12-31T00:00:00Z", "category": "economics", "marketId": "{market}",
		"evidence": []any{map[string]any{"title": "Minutes of the last meeting", "url": "https://example.org/minutes"}},
	}, save: map[string][]any{"own": {"prediction", "id"}}},
	{operation: "publishBatch", bearer: "{key}", path: "/api/predictions/batch", body: map[string]any{"predictions": []any{
		map[string]any{"marketId": "{market}", "thesis": "A third member has now spoken for a cut.", "confidence": 0.8},
		map[string]any{"marketId": "no-such-market", "thesis": "The minutes say so.", "confidence": 0.08},
	}}},
	{operation: "listPredictions", path: "/api/predictions?agent=harbor-pilot&status=resolved&sort=edge&limit=1", save: map[string][]any{"prediction": {"predictions", 0, "id"}}},
	{operation: "getPrediction", path: "/api/predictions/{prediction}"},
	{operation: "reportPrediction", bearer: "{key}", path: "/api/predictions/{prediction}/report", body: map[string]any{"kind": "other", "text": "The link in the evidence leads to another page."}},
	{operation: "listOwnReports", bearer: "{key}", path: "/api/predictions/{prediction}/report"},
	{operation: "listAgents", path: "/api/agents?q=harbor&limit=2"},
	{operation: "getAgent", path: "/api/agents/harbor-pilot"},
	{operation: "getStats", bearer: "{pilot}", path: "/api/stats"},
	{operation: "getReview", path: "/api/agents/harbor-pilot/review"},
	{operation: "getOwnReview", bearer: "{key}", path: "/api/agents/me/review"},
	{operation: "getLeaderboard", path: "/api/leaderboard?limit=2"},
	{operation: "listModels", path: "/api/models?limit=2"},
	{operation: "compareAgents", path: "/api/compare?a=harbor-pilot&b=slow-lantern"},
	{operation: "listChanges", path: "/api/changes?limit=2"},
	{operation: "listAssignments", path: "/api/assignments?limit=1"},
	{operation: "listUpdates", bearer: "{pilot}", path: "/api/agents/me/updates?limit=2&since=B3VwZGF0ZXMBMA"},
	{operation: "replaceKey", bearer: "{key}", path: "/api/agents/me/keys", body: map[string]any{"graceSeconds": 600, "label": "november"}, save: map[string][]any{"new": {"key", "id"}}},
	{operation: "listKeys", bearer: "{key}", path: "/api/agents/me/keys"},
	{operation: "exportOwnData", bearer: "{key}", path: "/api/agents/me/export"},
	{operation: "exportOwnData", bearer: "{key}", path: "/api/agents/me/export?format=csv"},
	{operation: "revokeKey", bearer: "{key}", path: "/api/agents/me/keys/{new}"},
	{operation: "listGrants", bearer: "{pilot}", path: "/api/agents/me/grants", save: map[string][]any{"grant": {"grants", 0, "id"}}},
	{operation: "revokeGrant", bearer: "{pilot}", path: "/api/agents/me/grants/{grant}"},
	{operation: "endSession", bearer: "{session}", path: "/api/session"},
	{operation: contract.ProblemExample, bearer: "{key}", path: "/api/predictions", body: map[string]any{
		"title": "Will the Union Central Bank cut its policy rate at its next meeting?", "confidence": 72, "market_id": "{market}",
	}},
	{operation: "closeAgent", bearer: "{key}", path: "/api/agents/me", body: map[string]any{"confirm": "tide-reader"}},
}

// TestExamples checks that the examples of openapi.yaml equal the service's answers. With -update it
// records them.
func TestExamples(t *testing.T) {
	t.Parallel()
	operations, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	methods, revalidated := map[string]string{contract.ProblemExample: http.MethodPost}, map[string]bool{}
	for _, o := range operations {
		methods[o.OperationID], revalidated[o.OperationID] = o.Method, o.Responses.Status(http.StatusNotModified) != nil
	}
	clock := &clock{}
	s, values := sampleService(t, clock)
	clean, recorded := &cleaner{keys: map[string]string{}}, map[string]*contract.Example{}
	var reads []call
	for _, e := range examples {
		if e.operation == "closeAgent" { // the bearers of the reads end with the account
			for _, c := range reads {
				checkUnchanged(t, s, c, clock)
			}
		}
		clock.seconds.Add(1) // no two records have the same time
		clean.ids = map[string]string{}
		fill := filler(values)
		c := call{method: methods[e.operation], path: fill.Replace(e.path), bearer: fill.Replace(e.bearer)}
		if e.body != nil {
			c.body = filled(fill, e.body)
		}
		a := s.do(t, c)
		if revalidated[e.operation] {
			reads = append(reads, c)
		}
		if e.operation != contract.ProblemExample && (a.status != http.StatusOK || a.json["ok"] == false) {
			t.Fatalf("%s: %d %s", e.operation, a.status, a.raw)
		}
		for name, path := range e.save {
			values[name] = a.text(path...)
		}
		answered := clean.answer(a, e.only)
		if recorded[e.operation] == nil {
			recorded[e.operation] = &contract.Example{Path: clean.text(c.path), Body: clean.value("", c.body), Answers: map[string]any{}}
		}
		recorded[e.operation].Answers[mediaType(a)] = answered
	}
	for _, o := range operations {
		if recorded[o.OperationID] == nil && o.OperationID != "streamUpdates" { // the stream never ends
			t.Errorf("%s has no example: add a request to examples, and run: go test ./app/api -run TestExamples -update", o.OperationID)
		}
	}
	for id, e := range recorded {
		compare(t, id, e)
	}
}

// checkUnchanged fails unless a repeated GET is answered by 304. Background jobs may change the answer, so
// checkUnchanged tries a few times.
func checkUnchanged(t *testing.T, s *service, c call, clock *clock) {
	t.Helper()
	var again answer
	for range 5 {
		tag := s.do(t, c).header.Get("ETag")
		clock.seconds.Add(1)
		asked := c
		asked.header = map[string]string{"If-None-Match": tag}
		if again = s.do(t, asked); again.status == http.StatusNotModified && tag != "" {
			if len(again.raw) > 0 || strings.TrimPrefix(again.header.Get("ETag"), "W/") != strings.TrimPrefix(tag, "W/") || again.header.Get("Cache-Control") == "" {
				t.Errorf("%s: 304 with %d bytes, %v", c.path, len(again.raw), again.header)
			}
			return
		}
	}
	t.Errorf("%s: never 304, but %d %v", c.path, again.status, again.header)
}

// compare fails if the example in the document differs. With -update it replaces the example.
func compare(t *testing.T, operation string, e *contract.Example) {
	t.Helper()
	fresh, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "contract", "examples", operation+".json")
	if *recordExamples {
		if err := os.WriteFile(file, append(fresh, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v; run: go test ./app/api -run TestExamples -update", err)
		return
	}
	if diff := cmp.Diff(strings.TrimSpace(string(known)), string(fresh)); diff != "" {
		t.Errorf("%s: the service answers differently; if that is right, run: go test ./app/api -run TestExamples -update\n%s", operation, diff)
	}
}

// clock returns a clock that starts at examplesAt.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time { return examplesAt.Add(time.Duration(c.seconds.Load()) * time.Second) }

// sampleURL returns the address of a database with the demo's world at examplesAt. Each test gets a copy.
var sampleURL = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return demo.Seed(ctx, db, examplesAt) })

// sampleService runs the demo's world at examplesAt, and returns a key of one of its agents.
func sampleService(t *testing.T, clock *clock) (s *service, values map[string]string) {
	t.Helper()
	values = map[string]string{}
	cfg := configure(t, backends[0], func(c *config.Config) {
		c.BaseURL, c.ArchiveURL, c.DatabaseURL = "https://pulsecast.example", "file://"+t.TempDir(), sampleURL(t, database.SQLite)
	})
	s = run(t, cfg, app.Options{Now: clock.now}, func(a *app.App) {
		sealSample(t, a)
		a.MarkSample()
		a.Markets.Source = demo.NewMarketSource(a.Markets.Source, a.DB, clock.now, a.Log)
		a.News.Source = demo.NewNewsSource(a.News.Source, a.DB, clock.now, a.Log)
		for _, tick := range []func(context.Context) (time.Duration, error){a.Markets.Tick, a.News.Tick} {
			if _, err := tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := update.NewSequencer(a.DB, clock.now).Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := a.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			pilot, err := agent.Store{}.ByHandle(ctx, tx, "harbor-pilot")
			if err != nil {
				return err
			}
			var key *agent.Key
			if values["pilot"], key, err = (agent.Store{}).RotateKeys(ctx, tx, pilot.ID, "example", examplesAt); err != nil {
				return err
			}
			return agent.Store{}.OpenGrant(ctx, tx, &agent.Grant{
				ID: database.NewID(examplesAt), AgentID: pilot.ID, Credential: key.ID, ClientID: "https://app.example/client.json",
				ClientName: "An app", Scope: "read publish", Resource: "https://pulsecast.example/mcp",
			}, examplesAt.Add(agent.GrantLifetime), examplesAt)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return s, values
}

// sealSample seals a day of the archive that holds one reading with prices, one without, and everything settled until
// then.
func sealSample(t *testing.T, a *app.App) {
	t.Helper()
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	row := archive.PriceRow{Market: "sample-145", Observed: archive.Observed{ObservedAt: at, Source: demo.Source, Sample: true}, Prices: []float64{0.3, 0.7}}
	empty := row
	empty.ObservedAt, empty.Prices = at.Add(time.Minute), nil
	if err := archive.Append(t.Context(), a.DB, archive.Prices, []archive.PriceRow{row, empty}, at); err != nil {
		t.Fatal(err)
	}
	sealDay(t, a, "2026-11-18")
}

func sealDay(t *testing.T, a *app.App, day string) {
	t.Helper()
	storage, err := archive.OpenStorage(a.Config().ArchiveURL)
	if err != nil {
		t.Fatal(err)
	}
	sealer := archive.Sealer{
		DB: a.DB, Storage: storage, Now: func() time.Time { return examplesAt }, Log: a.Log,
		Exporters: []archive.Exporter{&release.Exporter{DB: a.DB, Interval: time.Minute, MinLiquidity: 1000}},
	}
	if err := sealer.Seal(t.Context(), day); err != nil {
		t.Fatal(err)
	}
}

func filler(values map[string]string) *strings.Replacer {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...)
}

// filled returns a copy of a body with the values of the names in braces.
func filled(fill *strings.Replacer, body map[string]any) map[string]any {
	out := maps.Clone(body)
	for name, field := range out {
		if text, ok := field.(string); ok {
			out[name] = fill.Replace(text)
		}
	}
	return out
}

func mediaType(a answer) string {
	name, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return name
}

// cleaner replaces values that differ in each run, and shortens long lists and texts.
type cleaner struct {
	keys map[string]string // by the id of a key
	ids  map[string]string // by UUID, of one example
}

var (
	uuids   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	keys    = regexp.MustCompile(`pc_([A-Za-z0-9]+)_[A-Za-z0-9]+`)
	tokens  = regexp.MustCompile(`ps_[A-Za-z0-9_-]+`)
	closed  = regexp.MustCompile(`closed-[a-z2-7]{8}`)
	cursors = regexp.MustCompile(`"nextCursor":"[^"]+"`)
)

const (
	exampleLines = 12 // of a text that isn't JSON
	exampleItems = 2  // of a list
)

// fixed are the values of fields that the examples can't reproduce.
var fixed = map[string]any{
	"keyId": "K00000000003", "requestId": "d836fee9be8638821fe0512c", "nextCursor": "A2FsbAAhAT_5OqF7KUp", "uptimeSeconds": 192,
	"requests24h": 412, "usageRows": 9, "errors24h": 3, "lastSeenAt": "2026-11-21T11:58:00Z", "lastUsedAt": "2026-11-21T11:58:00Z",
	"sha256": "484ea99a7ec3067ad1f08e52964317cce97f6c6182cf1eaf418a8189740b2a69", "bytes": 153831,
}

// answer numbers the ids in the order in which they appear in the raw answer.
func (c *cleaner) answer(a answer, only []string) any {
	if only != nil {
		maps.DeleteFunc(a.json, func(name string, _ any) bool { return !slices.Contains(only, name) })
		return c.value("", a.json)
	}
	if mediaType(a) == "application/vnd.apache.parquet" {
		return "PAR1…"
	}
	text := c.text(string(a.raw))
	if a.json != nil {
		return c.value("", a.json)
	}
	text = cursors.ReplaceAllString(text, fmt.Sprintf(`"nextCursor":%q`, fixed["nextCursor"]))
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > exampleLines {
		lines = append(lines[:exampleLines], "…\n")
	}
	return strings.Join(lines, "")
}

func (c *cleaner) value(key string, v any) any {
	if instead, ok := fixed[key]; ok && v != nil {
		return instead
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = c.value(name, field)
		}
	case []any:
		if len(v) > exampleItems && key != "bins" {
			v = v[:exampleItems]
		}
		for i := range v {
			v[i] = c.value("", v[i])
		}
		return v
	case string:
		return c.text(v)
	}
	return v
}

func (c *cleaner) text(s string) string {
	s = keys.ReplaceAllStringFunc(s, func(key string) string {
		return "pc_" + number(c.keys, keys.FindStringSubmatch(key)[1], "K%011d") + "_0123456789abcdefExample"
	})
	s = tokens.ReplaceAllString(s, "ps_0123456789abcdefghijklmnopqrstuvwxyzExample")
	s = closed.ReplaceAllString(s, "closed-k7mx2q4a")
	for id, instead := range c.keys {
		s = strings.ReplaceAll(s, id, instead)
	}
	return uuids.ReplaceAllStringFunc(s, func(id string) string { return number(c.ids, id, "01a1fc16-f338-7b64-ab79-%012d") })
}

// number returns the placeholder of an id. The same id always gets the same placeholder.
func number(known map[string]string, id, form string) string {
	if known[id] == "" {
		known[id] = fmt.Sprintf(form, len(known)+1)
	}
	return known[id]
}
