package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pulsecast/pulsecast/app"
)

// untilSignal returns a context that ends at SIGTERM, or at SIGINT with app.ErrInterrupted as its cause. A
// second signal ends the process at once. Open transactions are then rolled back or already committed, as
// after any crash.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		var cause error
		if <-signals == os.Interrupt {
			cause = app.ErrInterrupted
		}
		cancel(cause)
		if second, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(128 + int(second))
		}
	}()
	return ctx
}
