package score_test

import (
	"fmt"

	"github.com/pulsecast/pulsecast/app/score"
)

// fiveAndFive returns the bins of five predictions of .8, of which four happen, and five of .3,
// of which one happens.
func fiveAndFive() (bins [score.BinCount]score.BinSum) {
	for i := range 5 {
		high, low := 1., 0.
		if i == 4 {
			high, low = 0, 1
		}
		bins[score.BinOf(.8)].Add(.8, high)
		bins[score.BinOf(.3)].Add(.3, low)
	}
	return bins
}

func ExampleBins() {
	for _, b := range score.Bins(fiveAndFive()) {
		if b.Count > 0 {
			fmt.Printf("said %.2f, happened %.2f, 90 %% band %.2f to %.2f\n", b.MeanConfidence, b.ObservedRate, b.BandLow, b.BandHigh)
		}
	}
	// Output:
	// said 0.30, happened 0.20, 90 % band 0.05 to 0.56
	// said 0.80, happened 0.80, 90 % band 0.44 to 0.95
}

func ExampleWilson() {
	low, high := score.Wilson(.8, 5)
	fmt.Printf("%.4f to %.4f\n", low, high)
	// Output: 0.4353 to 0.9540
}

func ExampleCalibrationError() {
	fmt.Printf("%.2f\n", score.CalibrationError(fiveAndFive()))
	// Output: 0.05
}

func ExampleDecompose() {
	m := score.Decompose(fiveAndFive())
	fmt.Printf("%.3f − %.2f + %.2f = %.3f\n", m.Reliability, m.Resolution, m.Uncertainty, m.Brier)
	// Output: 0.005 − 0.09 + 0.25 = 0.165
}
