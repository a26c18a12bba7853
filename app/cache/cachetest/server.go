package cachetest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Server is a Redis server for one test, which may freeze it.
type Server struct {
	t   testing.TB
	cmd *exec.Cmd
	dir string
}

// StartRedis starts an empty Redis server on a unix socket. It ends with the test.
func StartRedis(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pulsecast-redis") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir}
	s.cmd = exec.Command("setpriv", "--pdeathsig=TERM", "--", "redis-server",
		"--port", "0", "--unixsocket", s.socket(), "--save", "", "--appendonly", "no", "--dir", dir)
	var log bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &log, &log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("unix", s.socket())
		if err == nil {
			conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("Redis did not start: %v\n%s", err, log.String())
		}
	}
}

func (s *Server) socket() string { return filepath.Join(s.dir, "redis.sock") }

// URL returns the server's address for REDIS_URL.
func (s *Server) URL() string { return "unix://" + s.socket() }

// Freeze suspends the server. It still accepts connections, but doesn't answer.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal %s to Redis: %v", sig, err)
	}
}
