package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/settlement"
)

type settleCommand struct {
	config.Config
	Rebuild bool `help:"Recompute the sums from the ledger, correct those that differ, and report every difference."`
}

// listed is how many of the waiting markets are listed.
const listed = 100

// Run settles everything that can be settled now. With Rebuild it recomputes the sums from the ledger
// instead, corrects those that differ and prints the differences.
func (s *settleCommand) Run(ctx context.Context) (err error) {
	if err := requireDatabase(s.Config); err != nil {
		return err
	}
	a, err := newBeside(ctx, s.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.DB.CheckClock(ctx, time.Now); err != nil {
		return err
	}
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
	waiting, err := settlement.MarketQueue(ctx, a.DB.Reader, time.Now())
	if err != nil {
		return err
	}
	first, err := a.Settlement.Waiting(ctx, listed)
	if err != nil {
		return err
	}
	return printWaiting(os.Stdout, waiting.Count, first)
}

// printWaiting prints how many markets are waiting, and the first of them.
func printWaiting(out io.Writer, waiting int64, first []settlement.Stuck) error {
	var b strings.Builder
	fmt.Fprintf(&b, "settled; %d markets are waiting\n", waiting)
	for _, w := range first {
		fmt.Fprintf(&b, "  %s (%s): %s\n", w.Market.ID, w.Reason, w.Market.Question)
	}
	if more := waiting - int64(len(first)); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	_, err := io.WriteString(out, b.String())
	return err
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
