package settlement

import (
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// Checked is a prediction whose baseline is checked.
type Checked struct {
	OutcomeIndex int
	Confidence   float64
	Previous     *float64 // the agent's own confidence before, on the same market and outcome
	CreatedAt    time.Time
}

// CheckedFrom is how long before publication the prices that Baseline needs begin.
func (s *Service) CheckedFrom() time.Duration { return s.fresh() + score.MedianWithin }

// Baseline returns the baseline that follows from prices: those of the market around the
// publication, oldest first. It reports false if no view after publication is among them.
func (s *Service) Baseline(c Checked, prices []market.Price) (b prediction.Baseline, ok bool) {
	p := pending{OutcomeIndex: c.OutcomeIndex, Confidence: c.Confidence, Previous: c.Previous, CreatedAt: c.CreatedAt}
	h := history(prices)
	_, after := h.around(&p, s.interval)
	if after == nil {
		return b, false
	}
	return s.baselineOf(&p, h)
}
