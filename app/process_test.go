package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// binaryDir is the folder of binary, empty until a test uses it.
var binaryDir string

// binary is the real program, built once for the tests that start and kill it.
var binary = sync.OnceValues(func() (path string, err error) {
	if binaryDir, err = os.MkdirTemp("", "pulsecast-binary"); err != nil {
		return "", err
	}
	path = filepath.Join(binaryDir, "pulsecast")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", path, "../cmd/pulsecast")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	stopChromium()
	for _, dir := range []string{binaryDir, seededDir} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// process is a running pulsecast.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	base string
	out  *buffer
	done chan struct{}
}

// buffer collects output that is read while it is written.
type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// usualCollection makes a program collect garbage as often as users' programs do.
const usualCollection = "GOGC="

// environment returns an environment without this machine's settings and without any source that
// answers. The program spends memory to collect garbage less often than users' programs do.
func environment(settings ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ADDR=127.0.0.1:0", "DRAIN=0", "GOGC=400"}
	for _, name := range []string{"POLYMARKET_URL", "POLYMARKET_CLOB_URL", "REDDIT_AUTH_URL", "REDDIT_API_URL", "REDDIT_RSS_URL", "GDELT_URL", "HACKERNEWS_URL"} {
		env = append(env, name+"=http://127.0.0.1:9")
	}
	return append(env, settings...)
}

func command(t testing.TB, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env, cmd.Dir = environment(settings...), t.TempDir()
	return cmd
}

// servesAt is the line that says where a program serves.
var servesAt = regexp.MustCompile(`^Pulsecast (?:listens on|replays \S+ at) (\S+)$`)

// startProcess runs the program and waits until it prints its address.
func startProcess(t testing.TB, settings []string, args ...string) *process {
	t.Helper()
	return startCommand(t, command(t, settings, args...))
}

func startCommand(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p.t = t
	t.Cleanup(func() { p.stop(syscall.SIGKILL) })
	return p
}

// launch starts a program and waits until it prints its address. The caller must stop it.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, out: &buffer{}, done: make(chan struct{})}
	p.cmd.Stderr = p.out
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	serving := make(chan string, 1)
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(p.out, lines.Text())
			if found := servesAt.FindStringSubmatch(lines.Text()); found != nil {
				serving <- found[1]
			}
		}
	}()
	select {
	case p.base = <-serving:
		return p, nil
	case <-p.done:
		p.stop(syscall.SIGKILL)
		return nil, fmt.Errorf("the program ended before it was ready:\n%s", p.out)
	}
}

// stop sends a signal, waits for the end and returns the exit code.
func (p *process) stop(signal os.Signal) int {
	p.cmd.Process.Signal(signal)
	<-p.done
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) call(method, path, key string, body any) (status int, answer map[string]any) {
	p.t.Helper()
	packed, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.base+path, bytes.NewReader(packed))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "pulsecast-tests/1.0")
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.out)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		p.t.Fatalf("%v: %s", err, raw)
	}
	return res.StatusCode, answer
}

// TestKillAfterPublish checks on both databases that acknowledged predictions survive kill -9, and
// that the next start needs no help.
func TestKillAfterPublish(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			settings := []string{"DATABASE_URL=" + dbtest.URL(t, kind), "REGISTRATION=open"}
			p := startProcess(t, settings, "serve")
			_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
			key, _ := made["apiKey"].(string)
			status, published := p.call("POST", "/api/predictions", key, map[string]any{
				"title": "Will it last?", "thesis": "It must.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
			})
			p.stop(syscall.SIGKILL)
			if status != 200 {
				t.Fatalf("%d %v", status, published)
			}
			id := published["prediction"].(map[string]any)["id"].(string)
			again := startProcess(t, settings, "serve")
			if status, got := again.call("GET", "/api/predictions/"+id, "", nil); status != 200 {
				t.Errorf("the prediction after the restart: got %d %v", status, got)
			}
			if status, got := again.call("GET", "/api/stats", key, nil); status != 200 {
				t.Errorf("the key after the restart: got %d %v", status, got)
			}
			if code := again.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("a clean stop: exit code %d:\n%s", code, again.out)
			}
		})
	}
}

func TestSecondServeOnSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite)}
	p := startProcess(t, settings, "serve")
	for _, args := range [][]string{{"serve"}, {"worker"}} {
		out, err := command(t, settings, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "already served by another process") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{{"agent", "create", "Beside"}, {"agent", "list"}, {"migrate", "status"}, {"settle", "--rebuild"}} {
		if out, err := command(t, settings, args...).CombinedOutput(); err != nil {
			t.Errorf("running %v beside a live server: %v\n%s", args, err, out)
		}
	}
	if status, _ := p.call("GET", "/api/agents/beside", "", nil); status != 200 {
		t.Errorf("the agent created beside the server: got %d", status)
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	t.Parallel()
	for setting, names := range map[string]string{
		"ADDR=nowhere": "ADDR", "DATABASE_URL=mysql://x": "DATABASE_URL", "BASE_URL=ftp://x": "BASE_URL",
		"MARKETS_INTERVAL=0s": "MARKETS_INTERVAL", "RATE_LIMIT_READS=lots": "RATE_LIMIT_READS", "TRUSTED_PROXIES=x": "TRUSTED_PROXIES",
		"IDENTITY_URL=https://id.example": "IDENTITY_AUDIENCE", "REGISTRATION=maybe": "REGISTRATION", "REDDIT_OVER18=q": "REDDIT_OVER18", "RANKED_MIN_DAYS=x": "RANKED_MIN_DAYS", "RANKED_MIN_LIQUIDITY=-1": "RANKED_MIN_LIQUIDITY",
		"REDIS_URL=http://x": "REDIS_URL", "RANKED_MIN_EVENTS=0": "RANKED_MIN_EVENTS", "POLYMARKET_URL=x": "POLYMARKET_URL",
		"REDDIT_CLIENT_ID=x": "REDDIT_CLIENT_SECRET", "METRICS_ADDR=x": "METRICS_ADDR", "BACKUP_EVERY=24h": "BACKUP_DIR", "BACKUP_EVERY=1s": "BACKUP_EVERY", "BACKUP_KEEP=0": "BACKUP_KEEP",
		"BACKUP_DIR=backups": "BACKUP_EVERY", "IDENTITY_SCOPE=forecasts": "IDENTITY_SCOPE", "BASE_URL=https://pulse.example/forecasts": "BASE_URL",
		"DRAIN=-1s": "DRAIN", "TLS_CERT=x": "TLS_KEY", "TLS_KEY=x": "TLS_CERT",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			out, err := command(t, []string{setting}, "serve").CombinedOutput()
			if line, rest, _ := strings.Cut(string(out), "\n"); err == nil || !strings.Contains(line, names) || rest != "" {
				t.Errorf("got %v, want one line that names %s:\n%s", err, names, out)
			}
		})
	}
}

func TestDemoStaysOnLoopback(t *testing.T) {
	t.Parallel()
	out, err := command(t, []string{"ADDR=0.0.0.0:0"}, "serve", "--demo").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--demo-public") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
		ok   bool
	}{
		{nil, "Usage: pulsecast <command>", true},
		{[]string{"verify", "nonsense"}, `"nonsense" is not an http(s) address`, false},
		{[]string{"verify", "ftp://127.0.0.1"}, "is not an http(s) address", false},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			out, err := command(t, nil, c.args...).CombinedOutput()
			if (err == nil) != c.ok || !strings.Contains(string(out), c.says) {
				t.Errorf("got %v, want an error with %q:\n%s", err, c.says, out)
			}
		})
	}
}

// publishWith sends a prediction with an Idempotency-Key. It returns the prediction's id, or "" if
// there was no answer.
func publishWith(base, agentKey, idempotencyKey string, body []byte) (id string, status int) {
	req, err := http.NewRequest("POST", base+"/api/predictions", bytes.NewReader(body))
	if err != nil {
		return "", 0
	}
	for name, value := range map[string]string{
		"User-Agent": "pulsecast-tests/1.0", "Content-Type": "application/json", "Authorization": "Bearer " + agentKey,
		"Idempotency-Key": idempotencyKey,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0
	}
	defer res.Body.Close()
	var answer struct{ Prediction struct{ ID string } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", 0
	}
	return answer.Prediction.ID, res.StatusCode
}
