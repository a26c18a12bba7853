package api

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestWaitOfAnItem checks that a refused item of a batch says how long to wait if it helps to wait. The item has no header.
func TestWaitOfAnItem(t *testing.T) {
	t.Parallel()
	a := &API{Config: &config.Config{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for want, err := range map[string]error{
		`"errors":[],"retryAfter":2}`: problem.Unavailable("Not now.", 1500*time.Millisecond),
		`"errors":[]}`:                problem.New(problem.CodeMarketClosed, "It is closed."),
	} {
		got, failed := answer.JSON(a.refusedItem(err).Error)
		if n := len(got) - len(want); failed != nil || n < 0 || string(got[n:]) != want {
			t.Errorf("%v: %s, %v", err, got, failed)
		}
	}
}
