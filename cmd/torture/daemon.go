package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// daemon is a server that a node uses. The check can kill it, freeze it and start it again at the same address.
type daemon struct {
	*run.Process
	lab     *lab
	command run.Command
	address string
}

// daemon starts a server that listens at a free address. command returns its command for that address.
func (l *lab) daemon(command func(address string) run.Command) *daemon {
	address, err := run.FreeAddress()
	l.must(err)
	d := &daemon{lab: l, address: address, command: command(address)}
	d.start()
	l.Cleanup(func() { d.Kill() })
	return d
}

// start starts the server and waits until it listens.
func (d *daemon) start() {
	p, out, err := run.Start(d.lab.ctx, d.lab.dir, d.command)
	d.lab.must(err)
	d.Process, p.Address = p, d.address
	d.lab.must(p.UntilListening(d.lab.ctx, out))
}

// freeze stops the process without ending it, and returns once it has stopped. The kernel still accepts
// connections for it.
func (d *daemon) freeze() {
	d.Signal(syscall.SIGSTOP)
	if _, ok := d.lab.eventually(10*time.Second, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.PID()))
		return err == nil && strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')')+1:]), " T")
	}); !ok {
		d.lab.Fatalf("%s isn't frozen", d.Name)
	}
}

func (d *daemon) thaw() { d.Signal(syscall.SIGCONT) }

const poolerConfig = `[databases]
* = host=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
`

// pooler starts a PgBouncer before a Postgres, and returns the address of the database there.
func (l *lab) pooler(server *dbtest.Postgres) (pooler *daemon, url string, err error) {
	paths, err := run.Install(l.ctx, run.Tool{Program: "pgbouncer", Elsewhere: "/usr/sbin/pgbouncer", Package: "pgbouncer"})
	if err != nil {
		return nil, "", err
	}
	account, err := accountOf(server.Dir)
	l.must(err)
	pooler = l.daemon(func(address string) run.Command {
		_, port, _ := strings.Cut(address, ":")
		config := filepath.Join(server.Dir, "pgbouncer.ini") // where the server's account may enter
		l.must(os.WriteFile(config, fmt.Appendf(nil, poolerConfig, server.Dir, port), 0o644))
		return run.Command{Name: "pgbouncer", Program: paths[0], Args: []string{config}, Account: account}
	})
	return pooler, "postgres://postgres@" + pooler.address + "/postgres?sslmode=disable", nil
}

// accountOf returns the account that owns a file, or nil if that is the account of this process. PgBouncer refuses
// to run as root.
func accountOf(path string) (*syscall.Credential, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if int(owner) == os.Geteuid() {
		return nil, nil
	}
	return &syscall.Credential{Uid: owner, Gid: owner}, nil
}

// bucket starts a versitygw, an S3-compatible store in a folder, and returns the settings of a node whose archive is
// there.
func (l *lab) bucket() (store *daemon, settings []string, err error) {
	root, err := moduleRoot()
	l.must(err)
	program := filepath.Join(l.TempDir(), "s3")
	build := exec.CommandContext(l.ctx, "go", "build", "-ldflags=-s", "-modfile=s3.mod", "-o", program, "./.ci/s3")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("versitygw can't be built: %w: %s", err, run.LastLines(string(said), 1))
	}
	folder := l.TempDir()
	l.must(os.Mkdir(filepath.Join(folder, "tape"), 0o755))
	store = l.daemon(func(address string) run.Command {
		return run.Command{Name: "versitygw", Program: program, Args: []string{address, folder}}
	})
	return store, []string{
		"ARCHIVE_URL=s3://tape/archive", "AWS_ENDPOINT_URL=http://" + store.address, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=tape", "AWS_SECRET_ACCESS_KEY=tape-secret",
	}, nil
}
