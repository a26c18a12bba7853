package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// ended runs a command to its end and returns its exit code and output.
func ended(t *testing.T, cmd *exec.Cmd) (code int, out, failed string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// copied matches a line that copy prints about a table.
var copied = regexp.MustCompile(`(?m)^(\w+) +(\d+) rows +([0-9a-f]{16}|rebuilt)$`)

// checkCopied checks that copy printed each table of the source, that both sides hold the same rows, and that a
// rebuild of the target finds nothing to correct.
func checkCopied(t *testing.T, out, from, to string) {
	t.Helper()
	printed := map[string][]string{}
	for _, line := range copied.FindAllStringSubmatch(out, -1) {
		printed[line[1]] = line[2:]
	}
	source, target := rowsOf(t, from), rowsOf(t, to)
	if source["market_prices"] <= 5000 || source["predictions"] < 100 {
		t.Errorf("the source fits into one batch: %v", source)
	}
	for table, n := range source {
		line := printed[table]
		switch {
		case line == nil:
			t.Errorf("%s isn't printed", table)
		case line[1] == "rebuilt": // the engines may differ
		case line[0] != fmt.Sprint(n) || target[table] != n:
			t.Errorf("%s: %s rows are printed, the source has %d and the target %d", table, line[0], n, target[table])
		}
	}
	if !slices.Equal(forecasts(t, from), forecasts(t, to)) {
		t.Error("the sides hold different predictions")
	}
	if report := must(t, []string{"DATABASE_URL=" + to}, "settle", "--rebuild"); !strings.Contains(report, "every number agrees") {
		t.Errorf("a rebuild of the target: %s", report)
	}
}

// refuseServer checks that a server on a database ends at once, with a line that contains says.
func refuseServer(t *testing.T, address, says string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // ends a server that wasn't refused
	defer cancel()
	cmd := command(t, []string{"DATABASE_URL=" + address}, "serve")
	refused := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	refused.Env, refused.Dir = cmd.Env, cmd.Dir
	code, _, failed := ended(t, refused)
	if code != 1 || !strings.Contains(failed, says) {
		t.Errorf("a server on %s: exit code %d, says %q; want 1 and %q", address, code, failed, says)
	}
}

// rowsOf returns the number of rows of each table.
func rowsOf(t *testing.T, address string) map[string]int64 {
	t.Helper()
	db := dbtest.OpenAt(t, address)
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, table := range tables {
		if rows[table.Name], err = database.CountRows(t.Context(), db, table.Name); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// forecasts returns the predictions of a database as texts, sorted.
func forecasts(t *testing.T, address string) (list []string) {
	t.Helper()
	var rows []struct {
		Title, Thesis string
		Confidence    float64
	}
	if err := dbtest.OpenAt(t, address).NewRaw("SELECT title, thesis, confidence FROM predictions").Scan(t.Context(), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		list = append(list, fmt.Sprint(r))
	}
	slices.Sort(list)
	return list
}

// TestCopyCommand copies a SQLite install to an empty Postgres, and then tries to copy to the same target again.
func TestCopyCommand(t *testing.T) {
	t.Parallel()
	from, to := "sqlite://"+demoCopy(t), dbtest.Empty(t, database.Postgres)
	code, out, failed := ended(t, command(t, nil, "copy", "--from", from, "--to", to))
	if code != 0 || failed != "" || !regexp.MustCompile(`(?m)^copied \d+ rows in \S+; the checksums of both sides agree\.`).MatchString(out) {
		t.Fatalf("exit code %d, stderr %q\n%s", code, failed, out)
	}
	checkCopied(t, out, from, to)
	code, out, failed = ended(t, command(t, nil, "copy", "--from", from, "--to", to))
	if code != 1 || out != "" || strings.Count(failed, "\n") != 1 ||
		!strings.HasPrefix(failed, "pulsecast: copy: the target: it has tables already (") || !strings.Contains(failed, "name an empty database") {
		t.Errorf("a target with rows: exit code %d, prints %q, says %q", code, out, failed)
	}
}

// TestCopyRefusals checks the exit code and the line of each refused copy.
func TestCopyRefusals(t *testing.T) {
	t.Parallel()
	file, other := dbtest.URL(t, database.SQLite), dbtest.URL(t, database.SQLite)
	served := map[database.Kind]string{}
	for _, kind := range dbtest.Kinds {
		served[kind] = dbtest.URL(t, kind)
		startProcess(t, []string{"DATABASE_URL=" + served[kind]}, "serve")
	}
	absent := "sqlite://" + t.TempDir() + "/absent.db"
	to := dbtest.Empty(t, database.Postgres)
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no flags":           {nil, 2, "missing flags: --from=ADDRESS, --to=ADDRESS"},
		"no target":          {[]string{"--from", file}, 2, "missing flags: --to=ADDRESS"},
		"unknown flag":       {[]string{"--from", file, "--into", to}, 2, "unknown flag --into"},
		"unknown partitions": {[]string{"--from", file, "--to", to, "--database-partitions", "daily"}, 2, "DATABASE_PARTITIONS"},
		"unknown kind":       {[]string{"--from", "mysql://x", "--to", to}, 1, "the source: "},
		"absent source":      {[]string{"--from", absent, "--to", to}, 1, "absent.db: no such file"},
		"two files":          {[]string{"--from", file, "--to", other}, 1, "use pulsecast backup and pulsecast restore"},
		"one address":        {[]string{"--from", file, "--to", file}, 1, "it is also the target"},
		"served file":        {[]string{"--from", served[database.SQLite], "--to", to}, 1, "a server or worker uses it; stop it first"},
		"served Postgres":    {[]string{"--from", served[database.Postgres], "--to", to}, 1, "other connections are open to it; stop every server and worker first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, failed := ended(t, command(t, nil, append([]string{"copy"}, c.args...)...))
			if code != c.code || out != "" || strings.Count(failed, "\n") != 1 || !strings.Contains(failed, c.says) {
				t.Errorf("exit code %d, prints %q, says %q; want exit code %d and one line with %q", code, out, failed, c.code, c.says)
			}
		})
	}
	t.Cleanup(func() { // after the cases
		db, err := database.Open(context.Background(), to)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if tables, err := db.Tables(context.Background()); err != nil || len(tables) > 0 {
			t.Errorf("a refused copy left %d tables in the target, %v", len(tables), err)
		}
	})
}

// gate stops a copy at the second batch of prices for as long as another connection holds the lock 1.
const gate = `CREATE SCHEMA gate;
	CREATE FUNCTION gate.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM public.market_prices) THEN PERFORM pg_advisory_xact_lock(1); END IF;
		RETURN NULL;
	END $$;
	CREATE FUNCTION gate.add() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF to_regclass('public.market_prices') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'gate') THEN
			CREATE TRIGGER gate BEFORE INSERT ON public.market_prices FOR EACH STATEMENT EXECUTE FUNCTION gate.wait();
		END IF;
	END $$;
	CREATE EVENT TRIGGER gate ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION gate.add()`

// TestKilledCopy kills a copy between two batches of a table. A server on the source is refused during the copy, and
// one on the target after the kill. A second run completes the copy.
func TestKilledCopy(t *testing.T) {
	t.Parallel()
	from, to := "sqlite://"+demoCopy(t), dbtest.Empty(t, database.Postgres)
	db, err := database.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	holder, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	for _, statement := range []string{gate, "SELECT pg_advisory_lock(1)"} {
		if _, err := holder.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	count := func(query string) (n int64) {
		t.Helper()
		if err := db.NewRaw(query).Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	first := command(t, nil, "copy", "--from", from, "--to", to)
	var said bytes.Buffer
	first.Stdout, first.Stderr = &said, &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { first.Wait(); close(done) }()
	defer func() { first.Process.Kill(); <-done }()
	const waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'"
	for deadline := time.Now().Add(time.Minute); count(waiting) == 0; time.Sleep(5 * time.Millisecond) {
		select {
		case <-done:
			t.Fatalf("the copy ended before the gate: %s", &said)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the copy doesn't reach the gate")
		}
	}
	refuseServer(t, from, "already served by another process")
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-done
	if said.Len() > 0 {
		t.Errorf("the killed copy printed %s", &said)
	}
	if arrived, all := count("SELECT COUNT(*) FROM market_prices"), rowsOf(t, from)["market_prices"]; arrived == 0 || arrived >= all {
		t.Fatalf("at the kill, %d of %d prices had arrived", arrived, all)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT pg_advisory_unlock(1)"); err != nil {
		t.Fatal(err)
	}
	refuseServer(t, to, "copy")

	code, out, failed := ended(t, command(t, nil, "copy", "--from", from, "--to", to))
	if code != 0 || failed != "" || !regexp.MustCompile(`(?m)^completed the interrupted copy of \d+ rows in `).MatchString(out) {
		t.Fatalf("exit code %d, stderr %q\n%s", code, failed, out)
	}
	checkCopied(t, out, from, to)
}
