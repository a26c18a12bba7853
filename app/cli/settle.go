package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/settlement"
)

type settleCommand struct {
	config.Config
	Rebuild bool `help:"Recompute every score from the ledger, and report every difference."`
}

// Run settles everything that can be settled now. With Rebuild it recomputes every score from the ledger
// instead and prints the differences. A correct ledger has none.
func (s *settleCommand) Run(ctx context.Context) (err error) {
	a, err := newBeside(ctx, s.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if s.Rebuild {
		report, err := a.Settlement.Rebuild(ctx, true)
		if err != nil {
			return err
		}
		return errors.Join(printReport(os.Stdout, report), a.Boards.Rebuild(ctx))
	}
	if _, err := a.Markets.Tick(ctx); err != nil {
		return err
	}
	if err := a.Boards.Rebuild(ctx); err != nil {
		return err
	}
	stuck, err := a.Settlement.Waiting(ctx, 100)
	if err != nil {
		return err
	}
	fmt.Printf("settled; %d markets are waiting\n", len(stuck))
	for _, w := range stuck {
		fmt.Printf("  %s (%s): %s\n", w.Market.ID, w.Reason, w.Market.Question)
	}
	return nil
}

func printReport(out io.Writer, r settlement.RebuildReport) error {
	if len(r.Differences) == 0 {
		_, err := fmt.Fprintf(out, "recomputed from the ledger: every number agrees\n")
		return err
	}
	left := 0
	for _, d := range r.Differences {
		if d.Published() {
			left++
		}
		if _, err := fmt.Fprintf(out, "%s\n", d); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d numbers differed and were corrected\n", len(r.Differences)-left); err != nil || left == 0 {
		return err
	}
	return fmt.Errorf("%d numbers of the ledger disagree with the rules and stay as published", left)
}
