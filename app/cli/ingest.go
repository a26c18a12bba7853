package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

type ingestCommand struct{ config.Config }

// Run reads every source once, now, even if another node holds the leases, and prints the results. It fails
// if a source fails.
func (i *ingestCommand) Run(ctx context.Context) (err error) {
	a, err := newBeside(ctx, i.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.DB.CheckClock(ctx, time.Now); err != nil {
		return err
	}
	_, marketsErr := a.Markets.Tick(ctx)
	_, newsErr := a.News.Tick(ctx)
	for _, h := range []struct {
		name  string
		count int
		from  string
		err   error
	}{
		{"markets", len(a.Markets.Replicator.Feed().Current().Records), a.Markets.Replicator.Feed().
			Current().Source, marketsErr},
		{"news", len(a.News.Replicator.Feed().Current().Records), a.News.Replicator.Feed().Current().Source, newsErr},
	} {
		state := "read"
		if h.err != nil {
			state = "failed; the last good ones are kept"
		}
		fmt.Printf("%-8s %d from %s (%s)\n", h.name, h.count, cmp.Or(h.from, "no source"), state)
	}
	return errors.Join(marketsErr, newsErr)
}
