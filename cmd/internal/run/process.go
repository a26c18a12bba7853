// Package run starts servers for cmd/bench and cmd/torture, installs the programs that they need,
// and reads data about the machine and its processes.
package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a server that Start started.
type Process struct {
	Name    string
	Address string // host:port, set by the caller
	Ended   chan struct{}

	cmd *exec.Cmd
	out io.Closer // the read end of its standard output
	log string    // path of the file with its standard error
}

// Command is the command that Start runs.
type Command struct {
	Name    string
	Program string
	Args    []string
	Env     []string // in addition to PATH and HOME; HOME is the working directory
	// Account is the account to run as. If it is nil, the command runs as this process's account.
	Account *syscall.Credential
}

// Start runs a server in a new directory below dir and returns its standard output. It is
// killed when ctx ends.
func Start(ctx context.Context, dir string, c Command) (*Process, io.Reader, error) {
	home, err := os.MkdirTemp(dir, c.Name)
	if err != nil {
		return nil, nil, err
	}
	p := &Process{Name: c.Name, log: filepath.Join(home, "stderr"), Ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, c.Program, c.Args...)
	p.cmd.Dir, p.cmd.Stderr = home, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, c.Env...)
	if c.Account != nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.Account}
		if err := os.Chown(home, int(c.Account.Uid), int(c.Account.Gid)); err != nil {
			return nil, nil, err
		}
	}
	reader, writer := io.Pipe()
	p.cmd.Stdout, p.out = writer, reader
	if err := p.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the status doesn't matter: the server was stopped or killed
		writer.Close()
		close(p.Ended)
	}()
	return p, reader, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal and doesn't wait.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

// Kill ends the server as a crash would and waits for it. Output that wasn't read is lost.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.out.Close() // the wait would never end with unread output
	<-p.Ended
}

// Stop asks the server to end and waits. After twenty seconds it kills the server.
func (p *Process) Stop() {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(20 * time.Second):
		p.Kill()
	}
}

// Log returns what the server wrote to standard error.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// Failure returns an error with the end of the server's log.
func (p *Process) Failure(what string) error {
	return fmt.Errorf("%s %s: %s", p.Name, what, LastLines(p.Log(), 10))
}

// UntilSaid waits for a line of standard output that begins with prefix. It returns the rest of
// that line and the lines before it. It goes on reading in the background, so that the server never
// blocks on its output.
func (p *Process) UntilSaid(ctx context.Context, out io.Reader, prefix string) (rest string, lines []string, err error) {
	lines = []string{}
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
		if rest, ok := strings.CutPrefix(scanner.Text(), prefix); ok {
			go io.Copy(io.Discard, out)
			return rest, lines, nil
		}
	}
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	return "", nil, p.Failure("ended before it was ready")
}

// UntilListening waits until the server accepts connections.
func (p *Process) UntilListening(ctx context.Context, out io.Reader) error {
	go io.Copy(io.Discard, out)
	for range 600 {
		if conn, err := net.DialTimeout("tcp", p.Address, time.Second); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Ended:
			return p.Failure("ended before it was ready")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return p.Failure("doesn't listen after 30 s")
}

// FreeAddress returns an address with a port that is not in use. The port is below those that the
// system gives to outgoing connections, so that a server can be restarted on it.
func FreeAddress() (string, error) {
	for range 1000 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", errors.New("found no free port")
}

// LastLines returns the last n lines of a text.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
