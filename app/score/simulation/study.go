package simulation

import (
	"cmp"
	"slices"

	"github.com/pulsecast/pulsecast/app/score"
)

// Share counts how often a statement was true.
type Share struct{ Held, Of int }

func (s *Share) count(held bool) {
	s.Of++
	if held {
		s.Held++
	}
}

// Rate returns the share, 0..1. It is 0 if nothing was counted.
func (s Share) Rate() float64 { return float64(s.Held) / float64(max(s.Of, 1)) }

func (s Share) plus(t Share) Share { return Share{s.Held + t.Held, s.Of + t.Of} }

// Study says how often the ranges, odds and rank ranges of one or more worlds were right. A range
// is right if it holds the expectation of the agent's mean cluster given the truth.
type Study struct {
	// The ranges of the main board: of all ranked agents, of the top 20, and by number of events.
	All, Top, Under60, Under200, Over200 Share
	// Category, Last30 and Last90 count the ranges on the boards of categories and of windows.
	Category, Last30, Last90 Share
	// Width is the sum of the widths of the ranges in All, in points.
	Width float64
	// ProvenRight counts the proven agents of the main board with an expectation above zero.
	// ProvenWrong counts the other proven agents and all proven pushers, because their expectation
	// comes from their own quotes.
	ProvenRight, ProvenWrong int
	// Ranks counts the rank ranges that hold the agent's rank by expectation. RankWidth is the sum
	// of their widths, as shares of the board.
	Ranks     Share
	RankWidth float64
	// Kinds holds the results of the ranked agents of each kind.
	Kinds [kinds]Fared
	// Mu and Tau are sums over the priors of the worlds, and Worlds counts these.
	Mu, Tau float64
	Worlds  int
}

// Fared holds the results of the ranked agents of one kind.
type Fared struct {
	Ranked int
	// Proven counts agents with odds of at least 20, Above agents with a range above zero, and
	// Either agents with one or both.
	Proven, Above, Either int
	// Expected is the sum of the expectations of their mean clusters, in points.
	Expected float64
}

func (f Fared) plus(g Fared) Fared {
	return Fared{f.Ranked + g.Ranked, f.Proven + g.Proven, f.Above + g.Above, f.Either + g.Either, f.Expected + g.Expected}
}

func newStudy(b *board, agents []*agent, records []record, main []standings, set rules) *Study {
	s := &Study{Worlds: 1}
	prior := score.EstimateSharePrior(sumsOf(b.ranked, main))
	s.Mu, s.Tau = prior.Mu, prior.Tau
	posteriors := make([]score.Posterior, len(b.ranked))
	for place, i := range b.ranked {
		p, _ := main[i].sums.Posterior(prior)
		posteriors[place] = p
		b.estimate[i], b.half[i] = p.BestGuess, p.High-p.BestGuess
		s.judge(place, agents[i].kind, main[i], p)
	}
	s.judgeRanks(b, posteriors)
	for c := range categories {
		s.board(&s.Category, records, prior, set.categoryEvents, set, func(k *cluster) bool { return k.category == c })
	}
	s.board(&s.Last30, records, prior, set.events, set, func(k *cluster) bool { return k.day >= boardDay-30 })
	s.board(&s.Last90, records, prior, set.events, set, func(k *cluster) bool { return k.day >= boardDay-90 })
	return s
}

func sumsOf(ranked []int, main []standings) []score.Sums {
	sums := make([]score.Sums, len(ranked))
	for place, i := range ranked {
		sums[place] = main[i].sums
	}
	return sums
}

// judge adds one ranked agent of the main board.
func (s *Study) judge(place int, k kind, m standings, p score.Posterior) {
	held := p.Low <= m.target && m.target <= p.High
	s.All.count(held)
	s.Width += p.High - p.Low
	if place < topPlaces {
		s.Top.count(held)
	}
	switch {
	case m.sums.N < 60:
		s.Under60.count(held)
	case m.sums.N <= 200:
		s.Under200.count(held)
	default:
		s.Over200.count(held)
	}
	s.Kinds[k] = s.Kinds[k].plus(fared(m, p))
	if !proven(m.sums) {
		return
	}
	if pushLengths[k] == 0 && m.target > 0 {
		s.ProvenRight++
	} else {
		s.ProvenWrong++
	}
}

func fared(m standings, p score.Posterior) Fared {
	f := Fared{Ranked: 1, Expected: m.target}
	if p.Low > 0 {
		f.Above, f.Either = 1, 1
	}
	if proven(m.sums) {
		f.Proven, f.Either = 1, 1
	}
	return f
}

// judgeRanks adds the rank ranges, compared with the ranks by expectation.
func (s *Study) judgeRanks(b *board, posteriors []score.Posterior) {
	grid := score.NewRankGrid(posteriors)
	order := slices.SortedStableFunc(slices.Values(b.ranked), func(i, j int) int {
		return cmp.Compare(b.target[j], b.target[i])
	})
	trueRank := map[int]int{}
	for place, i := range order {
		trueRank[i] = place + 1
	}
	for place, i := range b.ranked {
		low, high := grid.Range(posteriors[place], place+1)
		s.Ranks.count(low <= trueRank[i] && trueRank[i] <= high)
		s.RankWidth += float64(high-low+1) / float64(len(b.ranked))
	}
}

// board adds the ranges of another board to share, with the prior of the main board.
func (s *Study) board(
	share *Share, records []record, prior score.SharePrior, events int, set rules, keep func(*cluster) bool,
) {
	for _, r := range records {
		k := r.standings(keep)
		if !r.ranked(k, events, set) {
			continue
		}
		if p, ok := k.sums.Posterior(prior); ok {
			share.count(p.Low <= k.target && k.target <= p.High)
		}
	}
}

// plus returns the sum of the results of two sets of worlds.
func (s Study) plus(t Study) Study {
	s.All, s.Top = s.All.plus(t.All), s.Top.plus(t.Top)
	s.Under60, s.Under200, s.Over200 = s.Under60.plus(t.Under60), s.Under200.plus(t.Under200), s.Over200.plus(t.Over200)
	s.Category, s.Last30, s.Last90 = s.Category.plus(t.Category), s.Last30.plus(t.Last30), s.Last90.plus(t.Last90)
	s.Width += t.Width
	s.ProvenRight += t.ProvenRight
	s.ProvenWrong += t.ProvenWrong
	s.Ranks = s.Ranks.plus(t.Ranks)
	s.RankWidth += t.RankWidth
	for k := range kinds {
		s.Kinds[k] = s.Kinds[k].plus(t.Kinds[k])
	}
	s.Mu += t.Mu
	s.Tau += t.Tau
	s.Worlds += t.Worlds
	return s
}

// total returns the sum of one method's studies over all worlds.
func total(outcomes []Outcome, method int) Study {
	var sum Study
	for _, o := range outcomes {
		if s := o.Methods[method].Study; s != nil {
			sum = sum.plus(*s)
		}
	}
	return sum
}
