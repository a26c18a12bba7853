package settlement

import (
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// Checked is a prediction whose baseline is computed again.
type Checked struct {
	OutcomeIndex int
	Confidence   float64
	Previous     *float64 // the agent's previous confidence on the market, as score.Bounds has it
	CreatedAt    time.Time
}

// PricesBefore is how long before a publication prices can count for its baseline.
func (s *Service) PricesBefore() time.Duration { return s.fresh() + score.MedianWithin }

// Baseline returns the baseline that follows from prices: the market's prices around publication,
// oldest first. ok is false if they hold no view after publication.
func (s *Service) Baseline(c Checked, prices []market.Price) (b prediction.Baseline, ok bool) {
	p := pending{OutcomeIndex: c.OutcomeIndex, Confidence: c.Confidence, Said: c.Previous, CreatedAt: c.CreatedAt}
	b, _ = s.baselineOf(&p, history(prices))
	return b, b.State != prediction.Missed
}
