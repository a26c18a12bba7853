package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// sample is one measurement of one contender. Fields that it doesn't measure are zero.
type sample struct {
	rate   float64       // answers, rows or transactions per second
	p99    time.Duration // 99th percentile of the latency
	cpu    time.Duration // processor time per answer, of node and database together
	beside float64       // predictions published per second by a second load, if there was one
	shares shares        // processor time per answer, by program
}

// shares is the processor time per answer of our node, of the backends of Postgres, and of the
// program that sends the requests.
type shares struct{ node, backends, generator time.Duration }

func (s shares) sum() time.Duration { return s.node + s.backends + s.generator }

// per divides the time between two readings by the number of answers.
func (s shares) per(before shares, answers float64) shares {
	each := func(after, before time.Duration) time.Duration { return time.Duration(float64(after-before) / answers) }
	return shares{each(s.node, before.node), each(s.backends, before.backends), each(s.generator, before.generator)}
}

// contender is one program doing one thing.
type contender struct {
	name    string
	measure func(context.Context) (sample, error)
}

// samples holds each contender's samples by its name, one for each round.
type samples map[string][]sample

// compare measures the contenders in turn, each once per round. The rounds start with different
// contenders, so that none is always the first.
func (b *bench) compare(ctx context.Context, contenders []contender) (samples, error) {
	all := samples{}
	for round := range b.Rounds {
		shift := round * len(contenders) / b.Rounds
		for i := range contenders {
			c := contenders[(i+shift)%len(contenders)]
			s, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			run.Progress("  round %d  %-44s %s", round+1, c.name, s)
			all[c.name] = append(all[c.name], s)
		}
	}
	return all, nil
}

func (s sample) String() string {
	text := ""
	if s.rate > 0 {
		text += fmt.Sprintf("%9.0f/s", s.rate)
	}
	if s.p99 > 0 {
		text += fmt.Sprintf("  p99 %.2f ms", milliseconds(s.p99))
	}
	if s.cpu > 0 {
		text += fmt.Sprintf("  cpu %.2f ms", milliseconds(s.cpu))
	}
	if s.beside > 0 {
		text += fmt.Sprintf("  while %.0f/s are published", s.beside)
	}
	if s.shares.sum() > 0 {
		text += fmt.Sprintf("  cpu %.2f ms node, %.2f ms backends, %.2f ms generator",
			milliseconds(s.shares.node), milliseconds(s.shares.backends), milliseconds(s.shares.generator))
	}
	return text
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (all samples) rates(name string) series {
	return all.series(name, perSecond, func(s sample) float64 { return s.rate })
}

func (all samples) latencies(name string) series {
	return all.series(name, inMilliseconds, func(s sample) float64 { return milliseconds(s.p99) })
}

func (all samples) costs(name string) series {
	return all.series(name, inMilliseconds, func(s sample) float64 { return milliseconds(s.cpu) })
}

// usage returns a row for each program that used the processor.
func (all samples) usage(what, name string) (rows []row) {
	for _, program := range []struct {
		name string
		time func(shares) time.Duration
	}{
		{"our node", func(s shares) time.Duration { return s.node }},
		{"the backends of Postgres", func(s shares) time.Duration { return s.backends }},
		{"the load generator", func(s shares) time.Duration { return s.generator }},
	} {
		used := all.series(name, inMilliseconds, func(s sample) float64 { return milliseconds(program.time(s.shares)) })
		if used.median() > 0 {
			rows = append(rows, row{what: what + ", processor time of " + program.name, ours: used})
		}
	}
	return rows
}

func (all samples) series(name string, u unit, value func(sample) float64) series {
	out := series{name: name, unit: u}
	for _, s := range all[name] {
		out.values = append(out.values, value(s))
	}
	return out
}
