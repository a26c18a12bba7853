package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serverPatience is the time that a server may take to start or to stop.
const serverPatience = 30 * time.Second

// Mode is how a Postgres stops: the signal that its first process gets.
type Mode syscall.Signal

// The modes.
const (
	Fast  = Mode(syscall.SIGINT)  // ends sessions and writes all data to disk
	Crash = Mode(syscall.SIGQUIT) // ends sessions at once; the next start recovers
	Kill  = Mode(syscall.SIGKILL) // ends every process at once
)

// Postgres is a server for one test, which can stop, freeze and kill it. It listens on a unix
// socket only.
type Postgres struct {
	// Dir holds the data (in the folder "data"), the socket and the log.
	Dir string

	t        testing.TB
	settings []string
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
	log      bytes.Buffer  // read it only after ended is closed
}

// StartPostgres starts an empty Postgres that stops when the test ends. Settings have the form
// name=value, as in postgresql.conf. Commits survive every Mode, but not a power cut, and not Kill if they didn't wait for
// the disk.
func StartPostgres(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	return StartPostgresIn(t, serverDir(t), settings...)
}

// serverDir creates a folder for a server. It is removed when the test ends.
func serverDir(t testing.TB) string {
	t.Helper()
	// A socket path has at most 107 bytes, which a path in the test's own folder may exceed.
	parent := os.TempDir()
	if len(parent) > 60 {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "pulsecast-pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// StartPostgresIn is StartPostgres in an existing folder. If the folder holds the data of a server,
// that server starts.
func StartPostgresIn(t testing.TB, dir string, settings ...string) *Postgres {
	t.Helper()
	p := &Postgres{Dir: dir, t: t, settings: append([]string{
		"listen_addresses=", "unix_socket_directories=" + dir, "max_connections=40", "shared_buffers=16MB", "autovacuum=off",
		"jit=off", "max_parallel_workers_per_gather=0", "fsync=off",
		"dynamic_shared_memory_type=mmap", // otherwise a killed server leaves shared memory behind
	}, settings...)}
	if err := p.own(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		out, err := p.Command("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust",
			"--no-sync", "--no-instructions", "--encoding=UTF8", "--no-locale").CombinedOutput()
		if err != nil {
			t.Fatalf("initdb: %v\n%s", err, out)
		}
	}
	t.Cleanup(func() {
		p.Thaw()
		p.Stop(Kill)
	})
	p.Start()
	return p
}

// URL returns the address of a database of the server. The server has a database named postgres.
func (p *Postgres) URL(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {p.Dir}, "user": {"postgres"}}.Encode()
}

// Start starts a stopped server and waits until it accepts connections.
func (p *Postgres) Start() {
	p.t.Helper()
	p.StartSlowly()
	ready := func() bool {
		lines, _ := os.ReadFile(filepath.Join(p.Dir, "data", "postmaster.pid"))
		// pg_ctl waits for the eighth line too. The first line is the process id of the server that
		// wrote the file.
		return bytes.HasPrefix(lines, []byte(strconv.Itoa(p.cmd.Process.Pid)+"\n")) && bytes.Contains(lines, []byte("\nready"))
	}
	for deadline := time.Now().Add(serverPatience); !ready(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.ended:
			p.t.Fatalf("Postgres did not start:\n%s", p.log.String())
		default:
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("Postgres is not ready after %s", serverPatience)
		}
	}
}

// StartSlowly is Start without the wait.
func (p *Postgres) StartSlowly() {
	p.t.Helper()
	args := []string{"-D", filepath.Join(p.Dir, "data")}
	for _, s := range p.settings {
		args = append(args, "-c", s)
	}
	p.log.Reset()
	p.cmd = p.Command("postgres", args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	p.ended = ended
	go func() {
		_ = p.cmd.Wait()
		close(ended)
	}()
}

// Stop stops the server and waits until all its processes have ended.
func (p *Postgres) Stop(mode Mode) {
	p.t.Helper()
	select {
	case <-p.ended:
		return
	default:
	}
	all := p.processes()
	if mode == Kill {
		p.signal(syscall.SIGKILL, all...)
	} else {
		p.signal(syscall.Signal(mode), all[0])
	}
	deadline := time.After(serverPatience)
	select {
	case <-p.ended:
	case <-deadline:
		p.t.Fatalf("Postgres has not stopped after %s", serverPatience)
	}
	for _, pid := range all[1:] { // they hold the shared memory that the next start needs
		for syscall.Kill(pid, 0) == nil && state(pid) != "Z" {
			select {
			case <-deadline:
				p.t.Fatalf("process %d of Postgres has not ended after %s", pid, serverPatience)
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// Freeze stops every process of the server without ending it. Connections stay open and the kernel
// accepts new ones, but the server doesn't answer.
func (p *Postgres) Freeze() {
	p.t.Helper()
	first := p.cmd.Process.Pid // stopped first, so that it starts no other processes
	p.signal(syscall.SIGSTOP, first)
	for deadline := time.Now().Add(serverPatience); state(first) != "T"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("Postgres is not frozen after %s", serverPatience)
		}
	}
	p.signal(syscall.SIGSTOP, p.processes()...)
}

// Thaw resumes a frozen server.
func (p *Postgres) Thaw() {
	p.t.Helper()
	select {
	case <-p.ended:
		return
	default:
		p.signal(syscall.SIGCONT, p.processes()...)
	}
}

// SuspendWriters stops the processes that write committed data to disk, until the server stops. Stop(Kill) then loses
// what was committed without waiting for the disk.
func (p *Postgres) SuspendWriters() {
	p.t.Helper()
	var writers []int
	for deadline := time.Now().Add(serverPatience); len(writers) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("Postgres has not started all its writers after %s: %v", serverPatience, writers)
		}
		writers = nil
		for _, pid := range p.processes() {
			title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if writer.Match(title) {
				writers = append(writers, pid)
			}
		}
	}
	p.signal(syscall.SIGSTOP, writers...)
}

// writer matches the titles of the processes that write committed data to disk.
var writer = regexp.MustCompile(`^postgres: (walwriter|background writer|checkpointer)`)

// Command returns a command that runs a Postgres program as the server's account.
func (p *Postgres) Command(program string, args ...string) *exec.Cmd {
	p.t.Helper()
	return p.dropped(filepath.Join(programs(p.t), program), args...)
}

// dropped returns a command that runs a program as the server's account.
func (p *Postgres) dropped(path string, args ...string) *exec.Cmd {
	p.t.Helper()
	// The signal stops the server when the test process dies, for whatever reason.
	drop := []string{"--pdeathsig=INT"}
	if u := account(p.t); u != nil {
		drop = append(drop, "--reuid="+u.Uid, "--regid="+u.Gid, "--clear-groups")
	}
	cmd := exec.Command("setpriv", slices.Concat(drop, []string{"--", path}, args)...)
	cmd.Dir = p.Dir // the account may not be allowed to enter the caller's folder
	// A Ctrl-C reaches only the test, which then stops the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// own gives a file to the server's account.
func (p *Postgres) own(path string) error {
	u := account(p.t)
	if u == nil {
		return nil
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return os.Chown(path, uid, -1)
}

// account returns the account that the server runs as, because Postgres refuses root. nil means the
// account of the test.
func account(t testing.TB) *user.User {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return u
		}
	}
	t.Fatal("there is neither an account postgres nor nobody, and Postgres refuses to run as root")
	return nil
}

// programs returns the folder of the newest server programs, which Debian keeps outside PATH.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(strings.Split(path, "/")[4])
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		t.Fatal("the programs of the Postgres server are missing; install with: apt-get install postgresql")
	}
	return filepath.Dir(path)
}

// processes lists the first process of the server and its children.
func (p *Postgres) processes() []int {
	p.t.Helper()
	list := []int{p.cmd.Process.Pid}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		p.t.Fatalf("processes can't be listed in /proc: %v", err)
	}
	for _, path := range stats {
		if pid, parent, _ := stat(path); parent == list[0] {
			list = append(list, pid)
		}
	}
	return list
}

func (p *Postgres) signal(s syscall.Signal, pids ...int) {
	p.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			p.t.Fatalf("signal %s to process %d of Postgres: %v", s, pid, err)
		}
	}
}

// state returns the letter that /proc has for the state of a process: T is stopped, Z has ended but
// its parent has not collected it yet.
func state(pid int) string {
	_, _, letter := stat(fmt.Sprintf("/proc/%d/stat", pid))
	return letter
}

// stat reads the state of a process from /proc. It returns zeros if the process is gone.
func stat(path string) (pid, parent int, state string) {
	text, _ := os.ReadFile(path)
	// The second field is a name in parentheses, which may hold spaces.
	number, _, _ := bytes.Cut(text, []byte(" "))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return 0, 0, ""
	}
	pid, _ = strconv.Atoi(string(number))
	parent, _ = strconv.Atoi(fields[1])
	return pid, parent, fields[0]
}
