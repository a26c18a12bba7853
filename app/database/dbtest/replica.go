package dbtest

import (
	"net/url"
	"path/filepath"
	"testing"
)

// StartReplica starts a streaming replica of a server. It stops when the test ends. Settings are as
// in StartPostgres.
func (p *Postgres) StartReplica(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	dir := serverDir(t)
	if err := p.own(dir); err != nil {
		t.Fatal(err)
	}
	source := "postgres:///?" + url.Values{"host": {p.Dir}, "user": {"postgres"}}.Encode()
	out, err := p.Command("pg_basebackup", "-d", source, "-D", filepath.Join(dir, "data"), "--write-recovery-conf",
		"--checkpoint=fast", "--no-sync").CombinedOutput()
	if err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	return StartPostgresIn(t, dir, append([]string{"wal_retrieve_retry_interval=100ms"}, settings...)...)
}
