package update

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// Number numbers updates in a transaction of the test.
func (s *Sequencer) Number(ctx context.Context, tx bun.Tx) error { return s.number(ctx, tx) }

// Idle does what the Hub does for readers that have been idle long enough to get a heartbeat.
func (h *Hub) Idle() { h.beat(time.Now().Add(time.Hour)) }
