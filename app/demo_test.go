package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/demo"
)

// seededDir is the folder of seeded, empty until a test uses it.
var seededDir string

// seeded is the folder of a demo that has filled its database and sealed all past days. That takes ten times as
// long as another start, so tests start demos from copies of this folder.
var seeded = sync.OnceValues(func() (dir string, err error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	if seededDir, err = os.MkdirTemp("", "pulsecast-demo"); err != nil {
		return "", err
	}
	cmd := exec.Command(path, "serve", "--demo")
	cmd.Env, cmd.Dir = environment("DATABASE_URL=sqlite://demo.db"), seededDir
	p, err := launch(cmd)
	if err != nil {
		return "", err
	}
	err = untilSealed(p.base)
	if code := p.stop(syscall.SIGTERM); err == nil && code != 0 {
		err = fmt.Errorf("the demo ended with code %d:\n%s", code, p.out)
	}
	return seededDir, err
})

// untilSealed waits until a demo has sealed its past days. A day is sealed 15 minutes after its end, so until then
// yesterday isn't among them.
func untilSealed(base string) error {
	last := time.Now().UTC().Add(-15*time.Minute).AddDate(0, 0, -1).Format(time.DateOnly)
	deadline := time.After(5 * time.Minute) // far more than needed, because the machine may be busy
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var list struct{ Days []struct{ Day string } }
		response, err := http.Get(base + "/api/data")
		if err != nil {
			return err
		}
		err = json.NewDecoder(response.Body).Decode(&list)
		response.Body.Close()
		if err != nil {
			return err
		}
		if len(list.Days) > 0 && list.Days[0].Day >= last {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("the demo has sealed %v", list.Days)
		}
	}
}

// demoCopy copies seeded and returns the path of the database in the copy.
func demoCopy(t testing.TB) string {
	t.Helper()
	dir, err := seeded()
	if err != nil {
		t.Fatal("start the demo to copy: ", err)
	}
	to := filepath.Join(t.TempDir(), "demo")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "demo.db")
}

// seededPostgres returns the address of a database with the demo's world. None of its days is sealed.
var seededPostgres = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return demo.Seed(ctx, db, time.Now()) })

// demoURL returns the address of a database for a demo: a copy of seeded on SQLite, and of seededPostgres on Postgres.
func demoURL(t testing.TB, kind database.Kind) string {
	t.Helper()
	if kind == database.SQLite {
		return "sqlite://" + demoCopy(t)
	}
	return seededPostgres(t, kind)
}

// startDemo starts the demo and returns the key that it prints. Unless the settings say otherwise, it starts from a
// copy of seeded, and without an archive: the demo seals 30 days after its start, which takes most of its processor
// time.
func startDemo(t testing.TB, settings ...string) (p *process, key string) {
	t.Helper()
	named := func(setting string) bool {
		return slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, setting+"=") })
	}
	if !named("DATABASE_URL") {
		settings = append(settings, "DATABASE_URL="+demoURL(t, database.SQLite))
	}
	if !named("ARCHIVE_URL") {
		settings = append(settings, "ARCHIVE_URL=off")
	}
	p = startProcess(t, settings, "serve", "--demo")
	found := regexp.MustCompile(`export PULSECAST_API_KEY=(\S+)`).FindStringSubmatch(p.out.String())
	if found == nil {
		t.Fatalf("the demo printed no key:\n%s", p.out)
	}
	return p, found[1]
}

// startArchivedDemo starts the demo from a copy of seeded, with the sealed days in it.
func startArchivedDemo(t testing.TB, settings ...string) *process {
	t.Helper()
	path := demoCopy(t)
	p, _ := startDemo(t, append(settings, "DATABASE_URL=sqlite://"+path, "ARCHIVE_URL=file://"+filepath.Join(filepath.Dir(path), "archive"))...)
	return p
}
