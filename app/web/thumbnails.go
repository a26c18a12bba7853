package web

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

const (
	trendDays     = 90
	thumbnailLife = 5 * time.Minute
	thumbnailRoom = 4096 // agents
)

// thumbnails keeps the small charts of agents. They are sums over many days and change slowly.
type thumbnails struct {
	kept *expirable.LRU[uuid.UUID, leaderboard.Thumbnail]
}

func newThumbnails() *thumbnails {
	return &thumbnails{expirable.NewLRU[uuid.UUID, leaderboard.Thumbnail](thumbnailRoom, nil, thumbnailLife)}
}

// addThumbnails adds the small charts to the rows of a board.
func (s *Site) addThumbnails(ctx context.Context, entries []leaderboard.Entry, rows []pages.BoardRow) error {
	var missing []uuid.UUID
	for i := range entries {
		if !entries[i].Reference && !s.thumbs.kept.Contains(entries[i].AgentID) {
			missing = append(missing, entries[i].AgentID)
		}
	}
	if len(missing) > 0 {
		made, err := s.Leaderboard.Thumbnails(ctx, s.DB.Reader, missing, trendDays)
		if err != nil {
			return err
		}
		for id, t := range made {
			s.thumbs.kept.Add(id, t)
		}
	}
	for i := range entries {
		if t, ok := s.thumbs.kept.Get(entries[i].AgentID); ok {
			rows[i].Bins, rows[i].Trend = binProps(t.Calibration), t.Trend
		}
	}
	return nil
}

func binProps(bins [score.BinCount]score.Bin) []components.Bin {
	out := make([]components.Bin, len(bins))
	for i, b := range bins {
		out[i] = components.Bin{
			Low: b.Low, High: b.High, Count: b.Count, MeanConfidence: b.MeanConfidence, ObservedRate: b.ObservedRate,
			BandLow: b.BandLow, BandHigh: b.BandHigh,
		}
	}
	return out
}
