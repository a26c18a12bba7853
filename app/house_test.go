package app_test

import (
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pulsecast/pulsecast"

// layers are the layers of packages, lowest first. A package imports only packages of lower layers,
// or packages below itself. A package that isn't listed fails the test, so that new packages are
// placed deliberately.
var layers = [][]string{
	{
		"migrations", "static", "app/contract", "app/goproxy", "app/memo", "app/network", "app/plaintext", "app/problem",
		"app/score", "app/tracing", "app/version",
	},
	{"views"},
	{"app/client", "app/config", "app/cursor", "app/database", "app/cache", "app/queue"},
	{"app/generation"},
	{"app/update"},
	{"app/answer", "app/market", "app/news", "app/agent", "app/audit"},
	{"app/archive", "app/source", "app/signal", "app/prediction", "app/identity", "app/worker"},
	{"app/settlement", "app/ingest", "app/oauth"},
	{"app/leaderboard", "app/assignment", "app/partition"},
	{"app/release"},
	{"app/demo", "app/admin", "app/moderation", "app/inbox"},
	{"app/backup", "app/transfer"},
	{"app/monitor"},
	{"app/metrics", "app/alert", "app/doctor", "app/verify"},
	{"app/retention"},
	{"app/httpserver"},
	{"app/api", "app/compat", "app/web", "app/mcp"},
	{"app"},
	{"app/replay"},
	{"app/cli", "cmd/internal/run"},
	{"cmd/pulsecast", "cmd/bench", "cmd/loadgen", "cmd/recorded", "cmd/simulate", "cmd/torture"},
}

// exempt are packages outside the layers: tools for tests.
var exempt = []string{"app/database/dbtest"}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], module+"/")
		if slices.Contains(exempt, from) || strings.HasPrefix(from, ".ci") {
			continue
		}
		own, ok := layerOf(from)
		if !ok {
			t.Errorf("%s is in no layer: add it to layers", from)
			continue
		}
		for _, path := range words[1:] {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || sameArea(from, to) {
				continue
			}
			if below, ok := layerOf(to); !ok || below >= own {
				t.Errorf("%s imports %s, which is not in a lower layer", from, to)
			}
		}
	}
}

// TestEdges checks the rules for single packages.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, rule := range []struct {
		from string
		only []string // the packages of this module that it may import
	}{
		{"cmd/pulsecast", []string{"app/cli"}},
		{"app/score", nil},
		{"app/client", []string{"app/version"}},
		{"app/cli/remote", []string{"app/client", "app/plaintext"}},
		{"views/...", []string{"static", "views/components", "views/layouts"}},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, module+"/"+rule.from).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", rule.from, err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			if to, ours := strings.CutPrefix(path, module+"/"); ours && !slices.Contains(rule.only, to) {
				t.Errorf("%s imports %s", rule.from, to)
			}
		}
	}
}

// query matches calls that query the database, and transaction calls that begin a transaction.
var (
	query       = regexp.MustCompile(`\.(NewSelect|NewInsert|NewUpdate|NewDelete|NewRaw|QueryContext|QueryRowContext|ExecContext)\(`)
	transaction = regexp.MustCompile(`\.(InTx|RunInTx|BeginTx)\(`)
)

// TestEdgesCallTheDomain checks that the edges contain no queries and open no transactions. Both
// belong in the domain packages.
func TestEdgesCallTheDomain(t *testing.T) {
	t.Parallel()
	for _, edge := range []string{"api", "compat", "web", "mcp"} {
		files := os.DirFS(edge)
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := fs.ReadFile(files, path)
			if found := query.Find(source); found != nil {
				t.Errorf("%s/%s contains a query: %s…", edge, path, found)
			}
			if found := transaction.Find(source); found != nil {
				t.Errorf("%s/%s opens a transaction: %s…", edge, path, found)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// layerOf returns the layer of a package, or of the nearest listed package above it.
func layerOf(path string) (int, bool) {
	best, layer := -1, 0
	for i, areas := range layers {
		for _, area := range areas {
			if (path == area || strings.HasPrefix(path, area+"/")) && len(area) > best {
				best, layer = len(area), i
			}
		}
	}
	return layer, best >= 0 && (path == "app" || best > len("app") || !strings.HasPrefix(path, "app/"))
}

// sameArea lets packages below one listed package import each other, such as the clients of source.
func sameArea(a, b string) bool {
	in := func(path, area string) bool { return path == area || strings.HasPrefix(path, area+"/") }
	for _, areas := range layers {
		for _, area := range areas {
			if area != "app" && in(a, area) && in(b, area) {
				return true
			}
		}
	}
	return false
}
