// Command bench compares Pulsecast with programs that do the least possible work for the same
// effect: pgbench, a bare loop on SQLite, nginx, a bare fasthttp server and PocketBase. `make
// bench-report` runs it and writes docs/performance.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

type command struct {
	Report options     `cmd:"" default:"withargs" help:"Measure and report."`
	Bare   bareCommand `cmd:"" hidden:"" help:"Serve one recorded answer with fasthttp."`
}

type options struct {
	Binary      string        `default:"bin/pulsecast" type:"existingfile" help:"The program to measure."`
	Modfile     string        `default:"bench.mod" type:"existingfile" help:"The module file that pins PocketBase."`
	PostgresURL string        `env:"TEST_POSTGRES_URL" required:"" help:"A private Postgres server, on a unix socket, for the superuser postgres; .ci/services starts one."`
	Seconds     int           `env:"BENCH_SECONDS" default:"6" help:"Length of one measurement, in seconds."`
	Rounds      int           `env:"BENCH_ROUNDS" default:"3" help:"Number of measurements of each contender."`
	Rows        []string      `env:"BENCH_ROWS" help:"Groups of rows to measure: publish, sqlite, overload, pages, crowd, uncached, attack, signals, pocketbase, memory. Default: all."`
	Load        time.Duration `env:"BENCH_LOAD" default:"10m" help:"Length of the full load before the memory is read."`
	Predictions int           `env:"BENCH_PREDICTIONS" default:"1000000" help:"Predictions in the databases of the uncached reads."`
	Attack      []int         `env:"BENCH_ATTACK" default:"15000,1000000" help:"Predictions in the databases of the attack, one database for each number."`
	Crowd       int           `env:"BENCH_CROWD" default:"100000" help:"Open predictions on the crowded market."`
	Protocol    string        `env:"BENCH_PROTOCOL" default:"simple" enum:"simple,extended,prepared" help:"How pgbench sends statements: simple (its default), extended or prepared."`
	Out         string        `env:"BENCH_OUT" help:"File for the report. Default: docs/performance.md if every row was measured at full scale, otherwise none."`
}

func main() {
	var c command
	parsed := kong.Parse(&c, kong.Name("bench"), kong.Description("Compare Pulsecast with reference programs and report the ratios."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a set of rows that are measured together.
type group struct {
	name string
	run  func(*bench, context.Context) ([]row, error)
}

var groups = []group{
	{"publish", (*bench).publish},
	{"sqlite", (*bench).publishSQLite},
	{"overload", (*bench).overload},
	{"pages", (*bench).pages},
	{"crowd", (*bench).crowd},
	{"uncached", (*bench).uncached},
	{"attack", (*bench).attack},
	{"signals", (*bench).signals},
	{"pocketbase", (*bench).pocketbase},
	{"memory", (*bench).memory},
}

// bench is one run of the command.
type bench struct {
	options
	dir      string // temporary; removed at the end
	tools    tools
	postgres *postgres
	floors   []row  // what the groups found beside their rows
	seeded   *world // made by the first group that needs it
}

// Run measures every group, prints the table and writes the report. If a group fails, the others
// still run, but the command fails at the end and leaves docs/performance.md unchanged.
func (o *options) Run(ctx context.Context) (err error) {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	b := &bench{options: *o}
	if b.tools, err = findTools(ctx); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "pulsecast-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.Binary, err = filepath.Abs(b.Binary); err != nil {
		return err
	}
	if b.postgres, err = openPostgres(b.PostgresURL); err != nil {
		return err
	}
	rows, err := b.measure(ctx, chosen)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if len(rows) == 0 {
		return err
	}
	if _, printed := fmt.Println("\n" + table(rows) + "\n" + floorTable(b.floors)); printed != nil {
		err = errors.Join(err, printed)
	}
	return errors.Join(err, b.write(ctx, rows, err))
}

func (o *options) chosen() ([]group, error) {
	if len(o.Rows) == 0 {
		return groups, nil
	}
	var chosen []group
	for _, name := range o.Rows {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("BENCH_ROWS: there is no group %q", name)
		}
		chosen = append(chosen, groups[i])
	}
	return chosen, nil
}

func (b *bench) measure(ctx context.Context, chosen []group) (rows []row, err error) {
	for _, g := range chosen {
		if ctx.Err() != nil {
			return rows, errors.Join(err, ctx.Err())
		}
		run.Progress("%s", strings.ToUpper(g.name))
		began := time.Now()
		found, failed := g.run(b, ctx)
		rows = append(rows, found...)
		if failed != nil {
			failed = fmt.Errorf("%s: %w", g.name, failed)
			run.Progress("  FAILED %v", failed)
			err = errors.Join(err, failed)
		}
		run.Progress("  took %s", time.Since(began).Round(time.Second))
	}
	return rows, err
}

// write writes the report to its destination, if there is one, and says so if docs/performance.md is unchanged.
// failed is the error of the groups that failed.
func (b *bench) write(ctx context.Context, rows []row, failed error) error {
	path, unchanged := b.destination(failed)
	if unchanged != "" {
		run.Progress("%s is unchanged: %s", reportPage, unchanged)
	}
	if path == "" {
		return nil
	}
	about, err := b.describe(ctx)
	if err != nil {
		return err
	}
	text, err := document(about, rows, b.floors)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	run.Progress("wrote %s", path)
	return nil
}

// length returns how long one measurement takes.
func (b *bench) length() time.Duration { return time.Duration(b.Seconds) * time.Second }
