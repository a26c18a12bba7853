// Command torture attacks the program and reports what happened. It kills nodes and databases under
// load, takes parts away, sends malformed and slow requests, and looks for leaks. Every check also
// runs on builds that were broken on purpose, and must fail there. `make torture` runs it and
// writes docs/reliability.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

type options struct {
	scale  `embed:""`
	Checks []string `env:"TORTURE_CHECKS" help:"Names of the checks to run. Default: all."`
	Short  bool     `env:"TORTURE_SHORT" help:"Run the short form, as make test does."`
	Intact bool     `env:"TORTURE_INTACT" help:"Skip the broken builds."`
	Out    string   `env:"TORTURE_OUT" help:"File for the report. Default: docs/reliability.md if every check ran at full length, otherwise none."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("torture"), kong.Description("Attack the program and report what happened."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// result is the result of one check, on the unchanged program and on broken builds.
type result struct {
	*check
	*outcome
	scale  *scale
	err    error // why it couldn't be carried out
	took   time.Duration
	breaks []caught
}

// caught is the result of a check on a broken build.
type caught struct {
	*breakage
	by  string // the fault that shows the mistake; "" if the check found none
	err error
}

// right reports whether the check was carried out, found no fault, and caught every breakage.
func (r *result) right() bool {
	return r.err == nil && !r.faulty() && !slices.ContainsFunc(r.breaks, func(c caught) bool { return c.by == "" })
}

// run runs the chosen checks and writes the report.
func (o *options) run(ctx context.Context) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	s := &o.scale
	if o.Short {
		s = short()
		s.Seed = o.Seed
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()>>1 + 1
	}
	dir, err := os.MkdirTemp("", "pulsecast-torture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Servers under other accounts must be able to enter the directory of the programs.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	run.Progress("seed %d", s.Seed)
	t := &torture{scale: s, dir: dir, short: o.Short, intact: o.Intact}
	if err := t.build(ctx); err != nil {
		return err
	}
	began := time.Now()
	results := t.all(ctx, chosen)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	full := len(chosen) == len(checks) && !o.Short && !o.Intact && len(s.below()) == 0
	if err := o.write(ctx, s, results, time.Since(began), full); err != nil {
		return err
	}
	for i := range results {
		if !results[i].right() {
			return errors.New("some checks failed; see above")
		}
	}
	return nil
}

func (o *options) chosen() ([]check, error) {
	if len(o.Checks) == 0 {
		return slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return o.Short && c.suite }), nil
	}
	var chosen []check
	for _, name := range o.Checks {
		i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("TORTURE_CHECKS: there is no check %q", name)
		}
		chosen = append(chosen, checks[i])
	}
	return chosen, nil
}

// torture is one run of the command.
type torture struct {
	*scale
	dir             string // directory of the builds
	short, intact   bool
	program, broken string // paths of the builds
}

// build builds the program twice: unchanged, and with every breakage.
func (t *torture) build(ctx context.Context) error {
	t.program, t.broken = filepath.Join(t.dir, "pulsecast"), filepath.Join(t.dir, "broken")
	if err := buildProgram(ctx, t.program); err != nil || t.intact {
		return err
	}
	overlay, err := writeOverlay(t.dir)
	if err != nil {
		return err
	}
	return buildProgram(ctx, t.broken, "-tags", "broken", "-overlay", overlay)
}

// all runs every check on the unchanged program and on the broken builds that it must catch. Checks that
// mostly wait run beside the others. The others run one at a time, or two at a time in the short form, the longest
// first, so that none of these runs alone at the end.
func (t *torture) all(ctx context.Context, chosen []check) []result {
	results := make([]result, len(chosen))
	busy := make(chan struct{}, 1)
	if t.short {
		busy = make(chan struct{}, 2)
	}
	var running sync.WaitGroup
	for _, i := range inOrder(chosen) {
		r := &results[i]
		r.check = &chosen[i]
		do := func(f func()) {
			leave := func() {}
			if !r.idle {
				busy <- struct{}{}
				leave = func() { <-busy }
			}
			running.Go(func() {
				defer leave()
				if ctx.Err() == nil {
					f()
				}
			})
		}
		do(func() { t.tryIntact(ctx, r) })
		if t.intact {
			continue
		}
		r.breaks = breaksOf(r.name)
		for j := range r.breaks {
			do(func() { t.tryBroken(ctx, r.check, &r.breaks[j]) })
		}
	}
	running.Wait()
	return results
}

// inOrder returns the indexes of the checks in the order in which to start them.
func inOrder(chosen []check) []int {
	var idle, long, others []int
	for i := range chosen {
		switch {
		case chosen[i].idle:
			idle = append(idle, i)
		case chosen[i].long:
			long = append(long, i)
		default:
			others = append(others, i)
		}
	}
	return slices.Concat(idle, long, others)
}

func (t *torture) tryIntact(ctx context.Context, r *result) {
	began := time.Now()
	b := build{binary: t.program}
	if t.short {
		b.gogc = "400"
	}
	r.outcome, r.err = r.try(ctx, t.scale, b)
	r.took = time.Since(began)
	verdict := "holds"
	if r.err != nil || r.faulty() {
		verdict = "DOESN'T HOLD"
	}
	run.Progress("%s %s after %s", r.name, verdict, r.took.Round(time.Second))
	for _, line := range r.tried() {
		run.Progress("  %s", line)
	}
	for _, f := range r.faults {
		run.Progress("  FAULT %s", f)
	}
	if r.err != nil {
		run.Progress("  FAILED %v", r.err)
	}
}

// tryBroken runs a check on a broken build, in the short form. The short form must find the fault
// too.
func (t *torture) tryBroken(ctx context.Context, c *check, b *caught) {
	s := short()
	s.Requests = 4000 // an upper bound: the check ends with the first fault
	s.Seed, s.Patience = t.Seed, 1
	found, err := c.try(ctx, s, build{binary: t.broken, broken: b.breakage})
	b.err = err
	if found != nil {
		b.by = found.shows(b.breakage)
	}
	if b.by == "" {
		run.Progress("%s MISSES the build broken by %s: %v", c.name, b.name, b.err)
		if found != nil {
			run.Progress("  other faults: %q", found.faults)
		}
		return
	}
	run.Progress("%s catches the build broken by %s: %s", c.name, b.name, b.by)
}
