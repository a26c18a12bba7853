package update

import (
	"context"

	"github.com/uptrace/bun"
)

// Number numbers updates in a transaction of the test.
func (s *Sequencer) Number(ctx context.Context, tx bun.Tx) error { return s.number(ctx, tx) }
