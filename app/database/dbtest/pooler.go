package dbtest

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// PoolerConnections is how many connections to Postgres the pooler of StartPooler opens at most.
const PoolerConnections = 5

// StartPooler starts a PgBouncer in mode "transaction" or "session" before the database at an
// address from URL. It returns the pooler's address. The pooler stops when the test ends.
func StartPooler(t testing.TB, address, mode string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path = "/usr/sbin/pgbouncer"; !exists(path) {
			t.Fatal("PgBouncer is missing; install with: apt-get install pgbouncer, or run \"make test\"")
		}
	}
	server, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir := serverDir(t)
	p := &Postgres{Dir: dir, t: t}
	file := writePoolerConfig(t, dir, server.Query().Get("host"), mode)
	if err := p.own(dir); err != nil {
		t.Fatal(err)
	}
	runPooler(t, p.dropped(path, "-q", file), dir)
	return "postgres://" + server.Path + "?" + url.Values{"host": {dir}, "port": {"6432"}, "user": {"postgres"}}.Encode()
}

func writePoolerConfig(t testing.TB, dir, host, mode string) (file string) {
	t.Helper()
	config := fmt.Sprintf(`[databases]
* = host=%s user=postgres
[pgbouncer]
pool_mode = %s
unix_socket_dir = %s
auth_type = any
default_pool_size = %d
logfile = %s
`, host, mode, dir, PoolerConnections, filepath.Join(dir, "log"))
	file = filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// runPooler starts PgBouncer and returns once its socket exists in dir.
func runPooler(t testing.TB, cmd *exec.Cmd, dir string) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-ended
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("PgBouncer, %v:\n%s%s", cmd.ProcessState, said, log.String())
		}
	})
	for deadline := time.Now().Add(serverPatience); ; time.Sleep(5 * time.Millisecond) {
		if exists(filepath.Join(dir, ".s.PGSQL.6432")) {
			return
		}
		select {
		case <-ended:
			t.Fatalf("PgBouncer did not start:\n%s", log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("PgBouncer is not ready after %s", serverPatience)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
