package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
)

type redactCommand struct {
	config.Config
	Table  string `arg:"" enum:"news,predictions,agents" help:"news, predictions or agents. An agent's texts include those of its predictions."`
	Record string `arg:"" help:"Id of the record."`
	Reason string `arg:"" help:"The public reason, such as ordered."`
}

// Run stores the request. A job of the worker erases the texts.
func (r *redactCommand) Run(ctx context.Context) error {
	if r.ArchiveURL == archive.Off {
		return errors.New("ARCHIVE_URL: off; there is no archive to erase from")
	}
	request := archive.Request{Table: r.Table, Record: r.Record, Reason: r.Reason}
	err := withDatabase(ctx, r.Config, func(db *database.DB) error {
		return archive.RequestRedaction(ctx, db, time.Now(), true, request)
	})
	if err != nil {
		return err
	}
	fmt.Printf("the worker erases the texts of %s %s from the archive within %s\n", r.Table, r.Record, archive.Interval)
	return nil
}
