package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

// engine returns the command of a container engine that works here, or "".
func engine(t *testing.T) string {
	for _, name := range []string{"docker", "podman"} {
		if err := exec.CommandContext(t.Context(), name, "info").Run(); err == nil {
			return name
		}
	}
	return ""
}

// TestDockerfile builds the image and checks that its container becomes ready. Without a container
// engine, a linter checks the Dockerfile.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	docker := engine(t)
	if docker == "" {
		lintDockerfile(t)
		return
	}
	do := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), docker, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", docker, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const image = "pulsecast-test"
	do("build", "-t", image+"-tools", "--target", "tools", "..")
	do("run", "--rm", "--entrypoint", "pg_dump", image+"-tools", "--version")
	do("build", "-t", image, "..")
	id := do("run", "-d", "--rm", "--read-only", "--tmpfs", "/tmp", "-e", "BASE_URL=http://127.0.0.1:8080", image)
	t.Cleanup(func() { _ = exec.Command(docker, "kill", id).Run() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.CommandContext(t.Context(), docker, "exec", id, "/pulsecast", "ready").CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s\n%s", out, do("logs", id))
		}
	}
}

func lintDockerfile(t *testing.T) {
	linter, err := filepath.Abs("../node_modules/.bin/dockerfile-utils")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(linter); err != nil {
		t.Skip("no container engine runs here, and the Dockerfile linter is missing: npm ci installs it (NEED_NPM)")
	}
	t.Log("no container engine runs here: the Dockerfile is linted, not built")
	if out, err := exec.CommandContext(t.Context(), linter, "lint", "../Dockerfile").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEmptyRoot runs the binary as the image does: as user 65532, in a root folder that holds only
// the binary, /data and /tmp.
func TestEmptyRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NEED_ROOT is not set: only root can change the root folder of a process")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "pulsecast"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	const user = 65532
	for _, dir := range []string{"data", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, dir), user, user); err != nil {
			t.Fatal(err)
		}
	}
	// The command and its settings are those of the Dockerfile, except for the port.
	cmd := exec.CommandContext(t.Context(), "/pulsecast", "serve")
	cmd.Path, cmd.Err = "/pulsecast", nil
	cmd.Dir, cmd.Env = "/", environment("DATABASE_URL=sqlite:///data/pulsecast.db")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	p := startCommand(t, cmd)
	resp, err := http.Get(p.base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if out, err := command(t, []string{"ADDR=" + strings.TrimPrefix(p.base, "http://")}, "ready").CombinedOutput(); err != nil {
		t.Errorf("the health check: %v\n%s", err, out)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.out)
	}
	if out, err := command(t, []string{"ADDR=" + strings.TrimPrefix(p.base, "http://")}, "ready").CombinedOutput(); err == nil {
		t.Errorf("the health check of a stopped node succeeded:\n%s", out)
	}
}

// compose loads compose.yaml as docker compose does, with these contents of .env and these settings. Without
// contents there is no .env.
func compose(t *testing.T, dotEnv string, settings ...string) ([]byte, error) {
	t.Helper()
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string][]byte{"compose.yaml": text}
	if dotEnv != "" {
		files[".env"] = []byte(dotEnv)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-modfile=tools.mod", "./.ci/compose", filepath.Join(dir, "compose.yaml"))
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), settings...)
	var failed bytes.Buffer // not part of the output, because go reports its downloads there
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return failed.Bytes(), err
	}
	return out, nil
}

// TestComposePassesSettings checks that every setting in .env reaches the program, except the addresses that
// compose.yaml decides itself.
func TestComposePassesSettings(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if name := f.Tag.Get("env"); name != "" {
			want[name] = "of-" + strings.ToLower(name)
		}
	}
	for _, name := range []string{"BACKUP_DIR", "BACKUP_EVERY", "BACKUP_KEEP", "DRAIN", "RATE_LIMIT_READS", "RATE_LIMIT_WRITES", "IDENTITY_URL", "IDENTITY_CLIENT_SECRET"} {
		if want[name] == "" {
			t.Errorf("%s isn't among the settings of the program", name)
		}
	}
	var dotEnv strings.Builder
	dotEnv.WriteString("POSTGRES_PASSWORD=first\nREDIS_PASSWORD=second\n")
	for name, value := range want {
		fmt.Fprintf(&dotEnv, "%s=%s\n", name, value)
	}
	out, err := compose(t, dotEnv.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var project struct {
		Services map[string]struct{ Environment map[string]string }
	}
	if err := json.Unmarshal(out, &project); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want["ADDR"] = "0.0.0.0:8080"
	want["DATABASE_URL"] = "postgres://pulsecast:first@postgres:5432/pulsecast?sslmode=disable"
	want["REDIS_URL"] = "redis://:second@redis:6379/0"
	got := project.Services["pulsecast"].Environment
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q in the container, want %q", name, got[name], value)
		}
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	needed := []string{"BASE_URL=https://pulse.test", "POSTGRES_PASSWORD=first-secret", "REDIS_PASSWORD=second-secret"}
	for i, setting := range needed { // each needed setting is left out once
		name, _, _ := strings.Cut(setting, "=")
		others := append(append([]string{name + "="}, needed[:i]...), needed[i+1:]...)
		if out, err := compose(t, "", others...); err == nil || !strings.Contains(string(out), "set "+name+" in .env") {
			t.Errorf("without %s: %v\n%s", name, err, out)
		}
	}
	out, err := compose(t, "", needed...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var project struct {
		Services map[string]struct {
			Build       struct{ Target string }
			Image       string
			Profiles    []string
			Environment map[string]string
			Healthcheck struct{ Test []string }
			Ports       []struct {
				HostIP string `json:"host_ip"`
			}
			Volumes []struct{ Type, Source, Target string }
		}
		Volumes map[string]any
	}
	if err := json.Unmarshal(out, &project); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"pulsecast", "postgres", "redis"} {
		s, ok := project.Services[name]
		if !ok || len(s.Healthcheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s is published on %q", name, p.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if _, ok := project.Volumes[v.Source]; v.Type == "volume" && !ok {
				t.Errorf("%s: volume %q isn't declared", name, v.Source)
			}
		}
		if name != "redis" && len(s.Volumes) == 0 {
			t.Errorf("%s keeps no data over a restart", name)
		}
	}
	tools := project.Services["tools"] // makes backups, with the client programs of the same Postgres
	if tools.Build.Target != "tools" || len(tools.Profiles) == 0 || len(tools.Ports) > 0 ||
		tools.Environment["DATABASE_URL"] != project.Services["pulsecast"].Environment["DATABASE_URL"] ||
		len(tools.Volumes) != 1 || tools.Volumes[0].Target != "/backups" {
		t.Errorf("the service for backups: %+v", tools)
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(dockerfile), "FROM "+project.Services["postgres"].Image+" AS tools\n") {
		t.Errorf("the tools aren't of %s, so pg_dump can be older than the server", project.Services["postgres"].Image)
	}
}

// TestUnit has systemd check the unit and how much of the system it exposes.
func TestUnit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("NEED_SYSTEMD is not set, and systemd-analyze is not installed: docs/pulsecast.service is not checked")
	}
	text, err := os.ReadFile("../docs/pulsecast.service")
	if err != nil {
		t.Fatal(err)
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	const installed = "/usr/local/bin/pulsecast"
	if !strings.Contains(string(text), "ExecStart="+installed+" serve") {
		t.Fatal("the unit doesn't start the server")
	}
	unit := filepath.Join(t.TempDir(), "pulsecast.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), installed, path)), 0o644); err != nil {
		t.Fatal(err)
	}
	const threshold = "20" // in tenths; a unit without any protection has 100
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=yes", "--no-pager", "--threshold=" + threshold, unit}} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if err != nil || (args[0] == "verify" && len(out) > 0) {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}
