package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// lab is where one check runs. It holds the build of the program and everything that the check
// starts, and stops it all at the end. It is a testing.TB, so that the check can use the functions
// that start servers for tests. A Fatal means that the check couldn't be carried out. If the
// program does something wrong, that is a fault of the outcome instead.
type lab struct {
	testing.TB // nil: only the methods below may be called
	*scale
	*outcome

	ctx    context.Context
	dir    string // temporary, removed at the end
	build  build
	random *rand.Rand // for the check's own goroutine

	mu       sync.Mutex
	failed   error
	cleanups []func()
}

// build is one build of the program.
type build struct {
	binary string
	broken *breakage // nil for the program without changes
	gogc   string    // GOGC of nodes in checks that measure neither memory nor waits; "" leaves it to the program
}

// try runs a check on a build. It returns an error if the check could not be carried out.
func (c *check) try(ctx context.Context, s *scale, b build) (*outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "pulsecast-torture")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// Postgres and haproxy run as other accounts.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	l := &lab{
		scale: s, outcome: newOutcome(), ctx: ctx, dir: dir, build: b, random: rand.New(rand.NewPCG(s.Seed, 0)),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.cleanUp()
		c.run(l)
	}()
	<-done
	if l.failed == nil && ctx.Err() != nil {
		l.failed = ctx.Err()
	}
	return l.outcome, l.failed
}

func (l *lab) cleanUp() {
	for len(l.cleanups) > 0 {
		last := l.cleanups[len(l.cleanups)-1]
		l.cleanups = l.cleanups[:len(l.cleanups)-1]
		last()
	}
}

// Helper implements testing.TB, as do the methods below.
func (l *lab) Helper() {}

// Context returns a context that ends with the check.
func (l *lab) Context() context.Context { return l.ctx }

// Name becomes part of the names of databases.
func (l *lab) Name() string { return "torture" }

// Logf reports progress.
func (l *lab) Logf(format string, args ...any) { run.Progress("  "+format, args...) }

// Cleanup runs f after the check, in reverse order of the calls.
func (l *lab) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

// TempDir returns a new directory, which is removed after the check.
func (l *lab) TempDir() string {
	dir, err := os.MkdirTemp(l.dir, "")
	if err != nil {
		l.Fatal(err)
	}
	return dir
}

// Error makes the check fail, but it goes on.
func (l *lab) Error(args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("%s", fmt.Sprint(args...))
	}
}

// Errorf is Error with a format.
func (l *lab) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }

// Fatal ends the check. Only the check's own goroutine may call it.
func (l *lab) Fatal(args ...any) {
	l.Error(args...)
	runtime.Goexit()
}

// Fatalf is Fatal with a format.
func (l *lab) Fatalf(format string, args ...any) { l.Fatal(fmt.Sprintf(format, args...)) }

// must ends the check if something that isn't under test failed.
func (l *lab) must(err error) {
	if err != nil {
		l.Fatal(err)
	}
}

// patience returns how long to wait for something that should take d. A busy machine is not a fault
// of the program.
func (s *scale) patience(d time.Duration) time.Duration { return d * time.Duration(s.Patience) }

// caught reports whether this is a broken build whose mistake has been found, so that the check may end.
func (l *lab) caught() bool { return l.build.broken != nil && l.shows(l.build.broken) != "" }

// eventually waits until a condition holds, and returns how long that took. ok is false if the
// limit passed first. A condition that itself takes long may hold later than that.
func (l *lab) eventually(limit time.Duration, holds func() bool) (took time.Duration, ok bool) {
	began := time.Now()
	for !holds() {
		if time.Since(began) > limit || l.ctx.Err() != nil {
			return time.Since(began), false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began), true
}

// read sends a request again while the answer is 503, because a busy machine may have no room in the
// lane for slow reads.
func (l *lab) read(r request) (a answer) {
	l.eventually(l.patience(5*time.Second), func() bool {
		a = send(l.ctx, r)
		return a.status != 503
	})
	return a
}

// store is an empty database that the program may use.
type store struct {
	kind   database.Kind
	url    string
	server *dbtest.Postgres // nil for SQLite
}

// stores yields one empty database of each kind. It makes each only when it yields it.
func (l *lab) stores() iter.Seq[store] {
	return func(yield func(store) bool) {
		_ = yield(l.sqlite()) && yield(l.postgres())
	}
}

func (l *lab) sqlite() store {
	return store{kind: database.SQLite, url: "sqlite://" + filepath.Join(l.TempDir(), "pulsecast.db")}
}

// postgres starts a server for this check. Its commits have reached the operating system, which is
// enough because these checks kill processes and don't cut the power. Writes that may wait are
// delayed as long as possible.
func (l *lab) postgres() store {
	_, err := run.Install(l.ctx, run.Tool{Program: "postgres", Elsewhere: "/usr/lib/postgresql/*/bin/postgres", Package: "postgresql"})
	l.must(err)
	server := dbtest.StartPostgres(
		l, "max_connections=120", "fsync=on", "synchronous_commit=on", "autovacuum=on", "wal_writer_delay=10s",
	)
	return store{kind: database.Postgres, url: server.URL("postgres"), server: server}
}
