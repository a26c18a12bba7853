package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/config"
)

type backupCommand struct {
	config.Config
	File  string `arg:"" help:"File to write."`
	Force bool   `help:"Replace the file if it exists."`
}

// Run writes a backup and prints its contents.
func (b *backupCommand) Run(ctx context.Context) error {
	if err := b.Check(); err != nil {
		return err
	}
	r, err := backup.Make(ctx, backup.Options{Database: b.DatabaseURL, File: b.File, Force: b.Force})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(os.Stdout, "%s is written and verified: %d predictions, %.1f MB, in %s\n",
		r.File, r.Predictions, float64(r.Bytes)/1e6, r.Took.Round(time.Millisecond))
	return err
}

type restoreCommand struct {
	config.Config
	File string `arg:"" help:"Backup of a database of the same kind as DATABASE_URL."`
}

// Run restores a backup and prints the next steps.
func (r *restoreCommand) Run(ctx context.Context) error {
	if err := r.Check(); err != nil {
		return err
	}
	done, err := backup.Restore(ctx, r.DatabaseURL, r.File, time.Now)
	if err != nil {
		return err
	}
	latest := ""
	if !done.Latest.IsZero() {
		latest = fmt.Sprintf(", the latest from %s", done.Latest.Format(time.RFC3339))
	}
	fmt.Printf("restored %d predictions%s\n", done.Predictions, latest)
	if len(done.Migrated) > 0 {
		fmt.Printf("the backup was of an older version; migrations applied: %s\n", strings.Join(done.Migrated, ", "))
	}
	fmt.Printf("%d sessions were ended; clients sign in again. Cursors of updates answer 410 once.\n", done.Sessions)
	fmt.Println("Next: start the service, then run: pulsecast settle --rebuild. " +
		"Publications and acts of admins after the backup are lost: see docs/operations.md.")
	return nil
}
