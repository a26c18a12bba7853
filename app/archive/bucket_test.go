package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/goproxy"
)

// gateway is versitygw, an S3-compatible server that stores objects in a folder.
type gateway struct {
	t       *testing.T
	program string
	folder  string
	address string
	cmd     *exec.Cmd
}

// newGateway builds the server.
func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{t: t, folder: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	g.program = filepath.Join(t.TempDir(), "s3")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s", "-modfile=s3.mod", "-o", g.program, "./.ci/s3")
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		if goproxy.Unreachable(said) {
			t.Skipf("archives in buckets are not tested, because the module proxy can't be reached for versitygw: %s", said)
		}
		t.Fatalf("build versitygw: %v\n%s", err, said)
	}
	if err := os.Mkdir(filepath.Join(g.folder, "tape"), 0o755); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.address = ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.stop)
	return g
}

// start starts the server and waits until it listens.
func (g *gateway) start() {
	g.t.Helper()
	g.cmd = exec.Command(g.program, g.address, g.folder)
	g.cmd.Stdout, g.cmd.Stderr = g.t.Output(), g.t.Output()
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		conn, err := net.DialTimeout("tcp", g.address, time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatal("versitygw doesn't listen:", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (g *gateway) stop() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		g.cmd = nil
	}
}

// TestBucket checks that an archive in a bucket works like one in a folder, and recovers after its
// server was down.
func TestBucket(t *testing.T) {
	g := newGateway(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://"+g.address)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "tape")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "tape-secret")
	open := func(address string) archive.Writable {
		t.Helper()
		s, err := archive.OpenStorage(address)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bucket := open("s3://tape/a/prefix")
	w := newWorld(t, database.SQLite)
	w.storage.Writable = bucket
	w.readPlain()
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	if err := w.tick(); err == nil {
		t.Error("sealing succeeded without a server")
	}
	g.start()
	storage(t, bucket)
	if err := archive.Probe(t.Context(), open("s3://nowhere")); err == nil {
		t.Error("probing a bucket that doesn't exist succeeded")
	}
	w.mustTick()
	if problems, notes := w.verify(); len(problems)+len(notes) != 0 || len(w.days()) != 1 || w.segments() != 0 {
		t.Errorf("problems %q, notes %q, days %v", problems, notes, w.days())
	}
	if rows := rowsOf[archive.PriceRow](w, "2026-11-21", archive.Prices); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
	err := archive.RequestRedaction(t.Context(), w.db, w.now(), true, archive.Request{Table: archive.News, Record: "n1", Reason: archive.Ordered})
	if err != nil {
		t.Fatal(err)
	}
	w.mustTick()
	if problems, _ := w.verify(); len(problems) != 0 || len(textsOf(w, "2026-11-21", archive.News)) != 0 {
		t.Errorf("problems %q", problems)
	}
}

// TestFolderIsStorage checks a folder against the same rules as a bucket.
func TestFolderIsStorage(t *testing.T) {
	t.Parallel()
	storage(t, archive.OpenFolder(filepath.Join(t.TempDir(), "made")))
}

// storage checks that s does what Writable documents.
func storage(t *testing.T, s archive.Writable) {
	t.Helper()
	ctx := t.Context()
	put := func(put func(context.Context, string, io.Reader, int64) error, name, content string) error {
		return put(ctx, name, bytes.NewReader([]byte(content)), int64(len(content)))
	}
	if err := archive.Probe(ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(ctx, "t/none"); !errors.Is(err, archive.ErrNotExist) {
		t.Errorf("open a missing object: got %v, want ErrNotExist", err)
	}
	if err := errors.Join(put(s.Put, "t/b/1", "one"), put(s.Put, "t/b/1", "other"), put(s.PutNew, "t/a", "new"), put(s.Put, "u", "")); err != nil {
		t.Fatal(err)
	}
	if err := put(s.PutNew, "t/a", "newer"); !errors.Is(err, archive.ErrExist) {
		t.Errorf("PutNew of an existing object: got %v, want ErrExist", err)
	}
	list, err := s.List(ctx, "t/")
	if got := fmt.Sprint(len(list)); err != nil || got != "2" || list[0].Name != "t/a" || list[0].Size != 3 || list[1].Name != "t/b/1" {
		t.Errorf("list: got %+v, error %v", list, err)
	}
	for name, want := range map[string]string{"t/a": "new", "t/b/1": "other", "u": ""} {
		if got, err := archive.ReadObject(ctx, s, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
	long := make([]byte, 3<<20+12345)
	for i := range long {
		long[i] = byte(rand.Uint32())
	}
	if err := put(s.Put, "t/long", string(long)); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(ctx, "t/long")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, at := range []int64{0, 1<<20 - 5, 3 << 20, 7, int64(len(long)) - 10} {
		got := make([]byte, 10)
		if n, err := o.ReadAt(got, at); n != 10 || err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, long[at:at+10]) {
			t.Errorf("read at %d: wrong result of %d bytes, error %v", at, n, err)
		}
	}
	if whole, err := archive.ReadObject(ctx, s, "t/long"); err != nil || !bytes.Equal(whole, long) || o.Size() != int64(len(long)) {
		t.Errorf("read %d of %d bytes, or wrong ones; error %v", len(whole), len(long), err)
	}
	if n, err := o.ReadAt(make([]byte, 20), int64(len(long))-10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("read past the end: got %d bytes, error %v; want 10, io.EOF", n, err)
	}
	version := func() string {
		t.Helper()
		o, err := s.Open(ctx, "t/long")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		return o.Version()
	}
	if first := version(); first == "" || first != version() || first != o.Version() {
		t.Errorf("the versions of one object are %q, %q and %q", o.Version(), first, version())
	}
	long[0] ^= 1
	if err := put(s.Put, "t/long", string(long)); err != nil {
		t.Fatal(err)
	}
	if version() == o.Version() {
		t.Errorf("another content of the same size has the same version, %q", version())
	}
	if err := errors.Join(s.Delete(ctx, "t/a"), s.Delete(ctx, "t/a")); err != nil {
		t.Errorf("deleting twice: got %v, want no error", err)
	}
}
