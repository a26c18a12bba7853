package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/pulsecast/pulsecast/app/client"
)

type exportCommand struct {
	connection
	Format string `default:"jsonl" enum:"jsonl,csv" help:"Format of the file: ${enum}."`
	Output value  `short:"o" placeholder:"FILE" help:"File to write; default: the standard output."`
}

// Run writes the agent's data. The file appears only once it is complete.
func (e *exportCommand) Run(ctx context.Context, t *Terminal) error {
	call, err := e.openAsAgent(t)
	if err != nil {
		return err
	}
	var me client.Stats
	if _, err := call.Do(ctx, client.Request{Path: "/api/stats"}, &me); err != nil {
		return e.refused(t, err)
	}
	bar := Progress(t.Err, t.Asks, "Exporting", me.Stats.Predictions.Total)
	write := func(out io.Writer) error {
		return call.Export(ctx, client.Format(e.Format), out, func() { _ = bar.Add64(1) })
	}
	if e.Output == "" {
		err = write(t.Out)
	} else {
		err = writeWhole(string(e.Output), write)
	}
	if err != nil {
		return e.refused(t, err)
	}
	_ = bar.Finish()
	if e.Output != "" {
		fmt.Fprintf(t.Err, "pulsecast: %s is written\n", e.Output)
	}
	return nil
}

// Progress returns a progress bar on out. It shows nothing unless out is a terminal.
func Progress(out io.Writer, terminal bool, what string, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(
		total, progressbar.OptionSetWriter(out), progressbar.OptionSetVisibility(terminal), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
	)
}

// writeWhole writes a temporary file in the same folder and renames it at the end. Only its user can read the file.
func writeWhole(path string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	err = write(temp)
	if err = errors.Join(err, temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return os.Rename(temp.Name(), path)
}
