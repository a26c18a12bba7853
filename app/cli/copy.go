package cli

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/transfer"
)

type copyCommand struct {
	From string `required:"" placeholder:"ADDRESS" help:"Database to copy: sqlite://PATH or postgres://…. No server may use it meanwhile."`
	To   string `required:"" placeholder:"ADDRESS" help:"An empty database, or the target of an interrupted copy. At least one side is Postgres."`

	DatabasePartitions string `env:"DATABASE_PARTITIONS" default:"off" enum:"off,monthly" help:"Divide prices and the ledger of a Postgres database by month: off or monthly."`
}

// Run copies everything and prints the checksum of each table. On a terminal it shows its progress.
func (c *copyCommand) Run(ctx context.Context) error {
	var bar *progressbar.ProgressBar
	begin := time.Now()
	r, err := transfer.Run(ctx, transfer.Options{
		From: c.From, To: c.To, Partitions: c.DatabasePartitions, Now: time.Now,
		Begin: func(total int64) { bar = progress("Copying and comparing", total) }, Progress: func(rows int64) { _ = bar.Add64(rows) },
	})
	if bar != nil {
		_ = bar.Finish()
	}
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range r.Tables {
		sum := "rebuilt"
		if t.Checksum != "" {
			sum = t.Checksum[:16]
		}
		fmt.Fprintf(out, "%s\t%d rows\t%s\n", t.Table, t.Rows, sum)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	how := "copied"
	if r.Resumed {
		how = "completed the interrupted copy of"
	}
	_, err = fmt.Printf("%s %d rows in %s; the checksums of both sides agree. Next: set DATABASE_URL to the new address, start the service, "+
		"and run: pulsecast settle --rebuild\n", how, r.Rows, time.Since(begin).Round(time.Millisecond))
	return err
}

// progress returns a progress bar on the standard error. It shows nothing unless that is a terminal.
func progress(what string, total int64) *progressbar.ProgressBar {
	return remote.Progress(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())), what, total)
}
