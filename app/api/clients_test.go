//go:build clients

package api_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedClients publishes a prediction through the client of each generator. The clients are
// generated from the document that the service serves, and compiled. The test needs npm packages in
// node_modules, so only make verify runs it, with the build tag clients.
func TestGeneratedClients(t *testing.T) {
	s := start(t, backends[0])
	document := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, s.do(t, call{path: "/api/openapi.json"}).raw, 0o644); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join("..", "..", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("%v; run: make node_modules", err)
	}
	bin := func(name string) string { return filepath.Join(modules, ".bin", name) }
	compile := []string{bin("tsc"), "--project", "tsconfig.json"}
	for _, g := range []struct {
		name  string
		steps [][]string // the last one publishes
	}{
		{"go", [][]string{
			{"mkdir", "client"},
			{"go", "tool", "oapi-codegen", "-generate", "types,client,skip-prune", "-package", "client", "-o", "client/client.gen.go", document},
			{"go", "vet", "./client"},
			{"go", "run", "."},
		}},
		{"fetch", [][]string{{bin("openapi-typescript"), document, "-o", "schema.d.ts"}, compile, {"node", "built/main.js"}}},
		{"hey", [][]string{
			{bin("openapi-ts"), "-i", document, "-o", "client", "--silent", "--no-log-file"}, compile, {"node", "built/main.js"},
		}},
	} {
		t.Run(g.name, func(t *testing.T) {
			s.checkClient(t, g.name, modules, g.steps)
		})
	}
}

// checkClient runs the steps in a copy of a folder of testdata/clients.
func (s *service) checkClient(t *testing.T, name, modules string, steps [][]string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "clients", name))); err != nil {
		t.Fatal(err)
	}
	if name != "go" {
		settings, err := os.ReadFile(filepath.Join("testdata", "clients", "tsconfig.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "tsconfig.json"), settings, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(modules, filepath.Join(folder, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	body, err := json.Marshal(forecast(map[string]any{"title": "Will the client of " + name + " publish?"}))
	if err != nil {
		t.Fatal(err)
	}
	key := s.register(t, "Client "+name)
	var out []byte
	for _, step := range steps {
		command := exec.CommandContext(t.Context(), step[0], step[1:]...)
		command.Dir = folder
		command.Env = append(os.Environ(), "BASE_URL="+s.base, "API_KEY="+key, "PREDICTION="+string(body), "GOFLAGS=-mod=mod")
		if out, err = command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%.4000s", strings.Join(step, " "), err, out)
		}
	}
	id := strings.TrimSpace(string(out))
	if got := s.do(t, call{path: "/api/predictions/" + id}); got.status != 200 || got.text("prediction", "title") != "Will the client of "+name+" publish?" {
		t.Errorf("%q was not published: %s", id, got.raw)
	}
}
