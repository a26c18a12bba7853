package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

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
	if base, err := url.Parse(c.BaseURL); err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return fmt.Errorf("%q is not an http(s) address, such as https://pulsecast.example", c.BaseURL)
	}
	report, err := verify.Run(ctx, c.BaseURL, &http.Client{Timeout: verifyTimeout})
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
	if len(r.Moved) > 0 {
		fmt.Fprintf(out, "Not compared, because they were rebuilt during the reading: %s.\n", strings.Join(r.Moved, ", "))
	}
	for _, d := range r.Differences[:min(len(r.Differences), maxShown)] {
		fmt.Fprintln(out, " ", d)
	}
	if more := len(r.Differences) - maxShown; more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}
