package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Disk is a small file system in memory, which a test can fill.
type Disk struct {
	// Dir is where the file system is mounted.
	Dir string

	t testing.TB
}

// MountDisk mounts an empty file system until the test ends. size is in MiB. It fails if this account
// may not mount a file system, for example because it isn't root.
func MountDisk(t testing.TB, size int) (*Disk, error) {
	t.Helper()
	dir := serverDir(t)
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0755", size), "tmpfs", dir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("mount a small disk: %w: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return &Disk{dir, t}, nil
}

// ballast is the file that fills a disk.
func (d *Disk) ballast() string { return filepath.Join(d.Dir, "ballast") }

// Fill takes all the free space.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("fill the disk: %v", err)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Free releases the space that Fill took.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

// CreateDatabaseOn makes a database whose tables are on a disk, and returns its address. The
// write-ahead log stays in the server's folder.
func (p *Postgres) CreateDatabaseOn(d *Disk) (address string) {
	p.t.Helper()
	if err := p.own(d.Dir); err != nil {
		p.t.Fatal(err)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range []string{
		"CREATE TABLESPACE small LOCATION '" + d.Dir + "'", "CREATE DATABASE small TABLESPACE small",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			p.t.Fatal(err)
		}
	}
	return p.URL("small")
}

// Running reports whether the server's first process runs. The process ends if there is no space for
// the write-ahead log.
func (p *Postgres) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
