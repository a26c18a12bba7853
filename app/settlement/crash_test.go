package settlement

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestCrashDuringSettlement kills Postgres between two chunks, when most commits are not on disk
// yet, so the crash loses them. Settling again afterwards must settle every prediction exactly
// once.
func TestCrashDuringSettlement(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	db := cluster.open(t)
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, db)
	m := w.market("1", "e1", "politics", start)
	m.Prices = []float64{.5, .5}
	const agents, chunk = 40, 4
	s := w.service(chunk)
	w.tick(s, m)
	w.clock = w.clock.Add(10 * time.Second)
	for n := range agents {
		w.publish(w.agent(n+1), m, n%2, float64(n)/agents)
	}
	w.clock = w.clock.Add(50 * time.Second)
	w.tick(s, m)
	w.clock = w.clock.Add(time.Minute)
	closeWith(m, w.clock, 1, 0)
	observed := w.observe(m)

	lost := 0
	for _, chunks := range []int{9, 5} {
		lost += w.crash(cluster, observed, chunk, chunks)
	}
	if lost == 0 {
		t.Error("no crash lost a commit, so the test checked nothing")
	}
	w.must(w.service(chunk).AfterMarkets(context.Background(), observed))
	if n := w.settled(); n != agents {
		t.Errorf("settled %d predictions, want %d", n, agents)
	}
	var entries int
	w.must(w.db.NewRaw("SELECT count(*) FROM score_entries").Scan(context.Background(), &entries))
	if entries != agents {
		t.Errorf("got %d ledger entries, want %d", entries, agents)
	}
	report, err := w.service(0).Rebuild(context.Background(), false)
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("rebuild: differences %v, error %v", report.Differences, err)
	}
}

// crash settles the given number of chunks, kills the database and starts it again. It returns how
// many settled predictions the crash lost.
func (w *world) crash(cluster *cluster, observed []market.Market, chunk, chunks int) (lost int) {
	w.t.Helper()
	killed := errors.New("killed")
	before, s := 0, w.service(chunk)
	cluster.stopWriters(w.t, w.db)
	s.afterChunk = func() error {
		if chunks--; chunks > 0 {
			return nil
		}
		before = w.settled()
		cluster.kill(w.t)
		return killed
	}
	if err := s.AfterMarkets(context.Background(), observed); !errors.Is(err, killed) {
		w.t.Fatal("not killed:", err)
	}
	w.must(w.db.Close())
	cluster.start(w.t)
	w.db = cluster.open(w.t)
	return before - w.settled()
}

func (w *world) settled() (n int) {
	w.t.Helper()
	w.must(w.db.NewRaw("SELECT count(*) FROM prediction_records WHERE status = 'resolved'").Scan(context.Background(), &n))
	return n
}

// cluster is a private Postgres that the test may kill.
type cluster struct {
	bin, dir string
	account  *syscall.Credential // nil: the test's own
	server   *exec.Cmd
	writers  []int // suspended processes of the server
}

// newCluster starts a private Postgres on a unix socket. It skips the test if TEST_POSTGRES_URL
// isn't set.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	if os.Getenv("TEST_POSTGRES_URL") == "" {
		t.Skip("TEST_POSTGRES_URL is not set: run the suite by make test, which starts a private Postgres")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, missing := exec.LookPath("initdb"); missing == nil {
		found = append(found, path)
	}
	if err != nil || len(found) == 0 {
		t.Fatal("TEST_POSTGRES_URL is set, but initdb isn't installed")
	}
	dir, err := os.MkdirTemp("", "crash") // short, because a path to a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{bin: filepath.Dir(slices.Max(found)), dir: dir}
	t.Cleanup(func() {
		if c.server != nil {
			c.kill(t)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if os.Geteuid() == 0 { // Postgres refuses to run as root
		c.account = credential(t, "postgres")
		if err := os.Chown(dir, int(c.account.Uid), int(c.account.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	initdb := c.command("initdb", "-D", dir+"/data", "-U", "postgres", "-A", "trust", "--no-sync", "--encoding=UTF8", "--no-locale")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.start(t)
	return c
}

func credential(t testing.TB, name string) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// start starts the server and waits until it answers.
func (c *cluster) start(t testing.TB) {
	t.Helper()
	args := []string{"-D", c.dir + "/data", "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "synchronous_commit=on",
		"-c", "wal_buffers=16MB", "-c", "autovacuum=off", "-c", "restart_after_crash=off"}
	c.server = c.command("postgres", args...)
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		// pg_ctl waits for the eighth line of the pid file, too.
		content, _ := os.ReadFile(c.dir + "/data/postmaster.pid")
		lines := strings.Split(string(content), "\n")
		if lines[0] == strconv.Itoa(c.server.Process.Pid) && len(lines) > 7 && strings.HasPrefix(lines[7], "ready") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Postgres did not start: %q", content)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stopWriters suspends the processes that write committed data to disk. Data committed without
// waiting then stays in memory, so a crash is certain to lose it.
func (c *cluster) stopWriters(t testing.TB, db *database.DB) {
	t.Helper()
	// They may start a moment after the server is ready.
	for deadline := time.Now().Add(30 * time.Second); len(c.writers) != 3; time.Sleep(10 * time.Millisecond) {
		c.writers = nil
		err := db.NewRaw("SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')").
			Scan(context.Background(), &c.writers)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("writers %v: %v", c.writers, err)
		}
	}
	for _, pid := range c.writers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
}

// kill ends the server at once, as a crash does. It writes nothing more.
func (c *cluster) kill(t testing.TB) {
	t.Helper()
	for _, pid := range c.writers { // suspended, they would delay the exit
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	c.writers = nil
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	_ = c.server.Wait() // the exit status of a killed server is not 0
	c.server = nil
}

func (c *cluster) open(t testing.TB) *database.DB {
	t.Helper()
	db, err := database.Open(context.Background(), fmt.Sprintf("postgres:///postgres?host=%s&user=postgres", c.dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // may be closed already by crash
	return db
}
