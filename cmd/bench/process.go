package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a server that the bench started.
type process struct {
	name    string
	address string // host:port
	cmd     *exec.Cmd
	log     string // path of what it wrote to standard error
	ended   chan struct{}
}

// start runs a server in a directory of its own below dir, with nothing but env and PATH in
// its environment. It is killed when ctx ends.
func start(ctx context.Context, dir, name string, env []string, program string, args ...string) (*process, io.Reader, error) {
	home, err := os.MkdirTemp(dir, name)
	if err != nil {
		return nil, nil, err
	}
	p := &process{name: name, log: filepath.Join(home, "stderr"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir, p.cmd.Stderr = home, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, env...)
	reader, writer := io.Pipe()
	p.cmd.Stdout = writer
	if err := p.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.cmd.Wait()
		writer.Close()
		close(p.ended)
	}()
	return p, reader, nil
}

// stop ends the server and waits for it: ten seconds for an orderly end, then it is killed.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// failure is an error with the end of the server's log.
func (p *process) failure(what string) error {
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s %s: %s", p.name, what, lastLines(string(text), 10))
}

// untilSaid waits for the line of standard output that begins with prefix, returns its rest,
// and reads on so that the server never blocks on its output.
func (p *process) untilSaid(ctx context.Context, out io.Reader, prefix string) (rest string, lines []string, err error) {
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
	return "", nil, p.failure("ended before it served")
}

// untilListening waits until the server accepts connections.
func (p *process) untilListening(ctx context.Context, out io.Reader) error {
	go io.Copy(io.Discard, out)
	for range 600 {
		if conn, err := net.DialTimeout("tcp", p.address, time.Second); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return p.failure("ended before it served")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return p.failure("doesn't listen after 30 s")
}

// freeAddress finds a port that nothing listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
