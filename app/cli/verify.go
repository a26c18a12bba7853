package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/cli/remote"
	"github.com/pulsecast/pulsecast/app/client"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/verify"
)

type verifyCommand struct {
	BaseURL string `arg:"" name:"base-url" help:"Address of the installation, such as https://pulsecast.example."`
}

// verifyTimeout bounds one request.
const verifyTimeout = 30 * time.Second

// maxShown is how many differences are printed.
const maxShown = 50

func (c *verifyCommand) Run(ctx context.Context) error {
	installation, err := client.New(c.BaseURL)
	if err != nil {
		return remote.Usage(err)
	}
	report, err := verify.Run(ctx, installation.Base, &http.Client{Timeout: verifyTimeout})
	if err != nil {
		return err
	}
	printVerification(os.Stdout, report)
	if n := len(report.Differences); n > 0 {
		return fmt.Errorf("%d published numbers don't follow from the predictions", n)
	}
	return nil
}

func printVerification(out io.Writer, r *verify.Report) {
	fmt.Fprintf(out, "Recomputed %d scores of %d predictions, %d hashes, %d events and %d rows on %d boards: %d differences.\n",
		r.Scored, r.Predictions, r.Hashes, r.Events, r.Rows, r.Boards, len(r.Differences))
	if r.Unconfirmed > 0 {
		fmt.Fprintf(out, "%d more numbers differ in the second of two readings, but not in the same way in the first, perhaps because predictions settled meanwhile.\n", r.Unconfirmed)
	}
	if len(r.Moved) > 0 {
		fmt.Fprintf(out, "Not compared, because they were rebuilt meanwhile: %s.\n", plaintext.PrintableLine(strings.Join(r.Moved, ", ")))
	}
	for _, d := range r.Differences[:min(len(r.Differences), maxShown)] {
		fmt.Fprintln(out, " ", plaintext.PrintableLine(d))
	}
	if more := len(r.Differences) - maxShown; more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}
