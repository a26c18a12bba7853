package web

import (
	"context"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/views/pages"
)

// addConsensus adds the agents' consensus to each price.
func (s *Site) addConsensus(ctx context.Context, rows []pages.MarketRow) (map[string]prediction.Consensus, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	found, err := s.predictions.Consensus(ctx, s.DB.Reader, ids)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		setConsensus(&rows[i], found)
	}
	return found, nil
}
