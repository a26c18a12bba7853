package settlement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/prediction"
)

// rebuildMarkets is how many markets a rebuild counts at once.
const rebuildMarkets = 100

// rebuildCounts counts the predictions on every market and compares the counts with the stored
// ones. With replace it writes the counts that differ, and every market's consensus is counted
// again soon after.
func (s *Service) rebuildCounts(ctx context.Context, replace bool, report *RebuildReport) error {
	for last := ""; ; {
		counts, err := prediction.RecountMarkets(ctx, s.db, last, rebuildMarkets, replace)
		if err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
		for _, c := range counts {
			if last = c.MarketID; c.Have != c.Want {
				report.differ(ComparedCounts, uuid.Nil, c.MarketID, fmt.Sprint(c.Have), fmt.Sprint(c.Want))
			}
		}
		if len(counts) < rebuildMarkets {
			return nil
		}
	}
}
