package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// memory compares the resident memory of a node after a full load of reads and publishing with that
// of the same node at rest.
func (b *bench) memory(ctx context.Context) ([]row, error) {
	n, p, err := b.onPostgres(ctx, "memory")
	if err != nil {
		return nil, err
	}
	defer n.Stop()
	pages, err := n.firstPages(ctx, b.seeded)
	if err != nil {
		return nil, err
	}
	reads := []want{n.signals(), n.want("/leaderboard", "<html"), n.want("/predictions", "<html")}
	for _, page := range pages {
		reads = append(reads, page.want)
	}
	if err := n.warm(ctx, reads...); err != nil {
		return nil, err
	}
	if err := sleep(ctx, b.length()); err != nil {
		return nil, err
	}
	rest, err := run.ResidentMiB(n.PID())
	if err != nil {
		return nil, err
	}
	run.Progress("  at rest %.0f MiB; full load for %s", rest, b.Load)
	stop := watchResident(n.PID())
	loaded := b.fullLoad(ctx, p, reads)
	after, err := run.ResidentMiB(n.PID())
	most, watched := stop()
	if err := errors.Join(loaded, err, watched); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("resident memory after %s of full load", b.Load)
	ours := series{unit: inMebibytes, values: []float64{after}}
	b.floors = append(b.floors, row{
		what: fmt.Sprintf("largest resident memory during %s of full load", b.Load),
		ours: series{unit: inMebibytes, values: []float64{max(most, after)}},
	})
	return []row{
		{what: what, ours: ours, reference: series{"at rest", inMebibytes, []float64{rest}}, target: atMost(1.5)},
		{what: what, ours: ours, target: atMost(150)},
	}, nil
}

// watchInterval is the time between two readings of watchResident.
const watchInterval = 100 * time.Millisecond

// watchResident reads the resident memory of a process every watchInterval. stop ends that and returns the largest
// value, in MiB.
func watchResident(pid int) (stop func() (most float64, err error)) {
	var most float64
	var err error
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil && err == nil {
			var now float64
			now, err = run.ResidentMiB(pid)
			most = max(most, now)
			sleep(ctx, watchInterval)
		}
	})
	return func() (float64, error) {
		cancel()
		group.Wait()
		return most, err
	}
}

// fullLoad publishes with 64 clients and reads all pages in turn with wrk, both as fast as they
// can.
func (b *bench) fullLoad(ctx context.Context, p *publisher, reads []want) error {
	deadline := time.Now().Add(b.Load)
	var group sync.WaitGroup
	var published, read error
	inner, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() {
		defer stop()
		var s sample
		if s, published = p.run(inner, traffic{clients: 64, length: b.Load}); published == nil {
			run.Progress("  published %s", s)
		}
	})
	for i := 0; time.Now().Before(deadline) && inner.Err() == nil && read == nil; i++ {
		_, read = b.wrk(ctx, reads[i%len(reads)].whileChanging())
	}
	if read != nil {
		stop()
	}
	group.Wait()
	return errors.Join(ctx.Err(), published, read)
}

// sleep waits. It returns early with an error if ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
