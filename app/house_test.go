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

// floors are the house from the ground up: a package imports only packages of lower
// floors, or below itself. One that is not named here fails the test, so a new
// package is placed on purpose.
var floors = [][]string{
	{
		"migrations", "static", "app/contract", "app/memo", "app/network", "app/plaintext", "app/problem", "app/score",
		"app/tracing", "app/version",
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

// exempt are edges that are not arrows of the house: tools for tests.
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
		own, ok := floorOf(from)
		if !ok {
			t.Errorf("%s stands on no floor: place it in this test", from)
			continue
		}
		for _, path := range words[1:] {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || sameRoom(from, to) {
				continue
			}
			if below, ok := floorOf(to); !ok || below >= own {
				t.Errorf("%s imports %s, which is not below it", from, to)
			}
		}
	}
}

// TestEdges holds the rules that are about one package.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, rule := range []struct {
		from string
		only []string // what it may import of ours
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

// query matches what asks the database, transaction what begins a transaction.
var (
	query       = regexp.MustCompile(`\.(NewSelect|NewInsert|NewUpdate|NewDelete|NewRaw|QueryContext|QueryRowContext|ExecContext)\(`)
	transaction = regexp.MustCompile(`\.(InTx|RunInTx|BeginTx)\(`)
)

// TestEdgesCallTheDomain: edges write no queries and open no transactions. Both live with
// their domain.
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
				t.Errorf("%s/%s has a query of its own: %s…", edge, path, found)
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

// floorOf finds the floor of a package or of the nearest package it lives below.
func floorOf(path string) (int, bool) {
	best, floor := -1, 0
	for i, rooms := range floors {
		for _, room := range rooms {
			if (path == room || strings.HasPrefix(path, room+"/")) && len(room) > best {
				best, floor = len(room), i
			}
		}
	}
	return floor, best >= 0 && (path == "app" || best > len("app") || !strings.HasPrefix(path, "app/"))
}

// sameRoom lets the packages of one room use each other: the clients of source.
func sameRoom(a, b string) bool {
	in := func(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }
	for _, rooms := range floors {
		for _, room := range rooms {
			if room != "app" && in(a, room) && in(b, room) {
				return true
			}
		}
	}
	return false
}
