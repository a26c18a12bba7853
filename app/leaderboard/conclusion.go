package leaderboard

import (
	"fmt"
	"math"
	"strings"

	"github.com/pulsecast/pulsecast/app/score"
)

// About is the subject of a conclusion.
type About string

// The subjects of conclusions.
const (
	AboutAll      About = "overall"
	AboutCategory About = "category"
	AboutHorizon  About = "horizon"
	AboutDistance About = "distance"
	AboutMove     About = "move"
)

// Conclusion is a sentence that the counts of a review support.
type Conclusion struct {
	About About
	// Better is true if the agent beats the market in the slice, or if the move would have earned
	// points.
	Better bool
	Text   string
}

// conclude puts the verdicts of a review into words. Of the moves that would have earned points, it
// names only the one that would have earned most. Of those that would have cost points, it names
// only the one that would have cost most.
func conclude(r *score.Review) []Conclusion {
	list := []Conclusion{}
	add := func(about About, subject string, s *score.Slice) {
		if s.Verdict != 0 {
			list = append(list, Conclusion{about, s.Verdict > 0, againstMarket(subject, s)})
		}
	}
	add(AboutAll, "Overall", &r.All)
	for _, group := range []struct {
		about  About
		slices []score.Slice
		name   func(*score.Slice) string
	}{
		{AboutCategory, r.Categories, func(s *score.Slice) string { return "Category " + s.Category }},
		{AboutHorizon, r.Horizons, HorizonWords}, {AboutDistance, r.Distances, DistanceWords},
	} {
		for i := range group.slices {
			s := &group.slices[i]
			add(group.about, group.name(s), s)
		}
	}
	for _, sign := range []int{1, -1} {
		if m := clearestMove(r.Moves, sign); m != nil {
			list = append(list, Conclusion{AboutMove, sign > 0, moveWords(m)})
		}
	}
	return list
}

func clearestMove(moves []score.Move, sign int) (best *score.Move) {
	for i := range moves {
		m := &moves[i]
		if m.Verdict == sign && (best == nil || math.Abs(m.Gain.Mean()) > math.Abs(best.Gain.Mean())) {
			best = m
		}
	}
	return best
}

func againstMarket(subject string, s *score.Slice) string {
	way := "closer to the truth than the market"
	if s.Verdict < 0 {
		way = "further from the truth than the market"
	}
	return fmt.Sprintf("%s: %.1f points per event %s (%s).", subject, math.Abs(s.Sums.Mean()), way, support(s.Sums, s.Predictions))
}

func moveWords(m *score.Move) string {
	what := "earned %.1f points more per event"
	if m.Verdict < 0 {
		what = "cost %.1f points per event"
	}
	return fmt.Sprintf("Moving every confidence %.0f %% of the way to the market would have "+what+" (%s).",
		m.Share*100, math.Abs(m.Gain.Mean()), support(m.Gain, m.Predictions))
}

// support returns the interval and the counts behind a conclusion, in words.
func support(s score.Sums, predictions int) string {
	low, high, _ := s.Interval()
	return fmt.Sprintf("95 %% interval %s to %s; %d events, %d predictions", signed(low), signed(high), s.N, predictions)
}

// signed formats points with a sign and one decimal.
func signed(points float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f", points), "-", "−", 1)
}

// HorizonWords returns the name of a slice by horizon, which is the time from publication to the
// scheduled close.
func HorizonWords(s *score.Slice) string {
	const day = 24
	switch {
	case math.IsInf(s.Low, 1):
		return "Without a scheduled close"
	case s.Low == 0:
		return fmt.Sprintf("Less than %s before the close", daysWords(s.High/day))
	case math.IsInf(s.High, 1):
		return fmt.Sprintf("%s or more before the close", daysWords(s.Low/day))
	}
	return fmt.Sprintf("%.0f to %s before the close", s.Low/day, daysWords(s.High/day))
}

func daysWords(n float64) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%.0f days", n)
}

// DistanceWords returns the name of a slice by distance, which is how far the confidence is from
// its baseline.
func DistanceWords(s *score.Slice) string {
	switch {
	case s.Low == 0:
		return fmt.Sprintf("Less than %.2f from the market", s.High)
	case math.IsInf(s.High, 1):
		return fmt.Sprintf("%.2f or more from the market", s.Low)
	}
	return fmt.Sprintf("%.2f to %.2f from the market", s.Low, s.High)
}
