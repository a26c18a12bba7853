// Command loadgen fills an empty Postgres database with agents and settled predictions, so that
// boards of any size can be measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
)

func main() {
	url := flag.String("database-url", os.Getenv("DATABASE_URL"), "postgres:// address of an empty database; default: $DATABASE_URL")
	agents := flag.Int("agents", 100_000, "number of agents")
	predictions := flag.Int("predictions", 1_000_000, "number of predictions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *agents, *predictions); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
	fmt.Printf("loaded %d agents and %d predictions\n", *agents, *predictions)
}

func run(ctx context.Context, url string, agents, predictions int) (err error) {
	db, err := database.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Migrate(ctx); err != nil {
		return err
	}
	return load.Run(ctx, db, agents, predictions, time.Now())
}
