package score

// Moved is a confidence of p moved by a share in 0..1 of its distance to the market: to the
// nearest value within the bounds that the market itself showed. It is rounded to the four
// decimals of a confidence. Without a baseline it is p.
func (b Bounds) Moved(p, share float64) float64 {
	b.Previous = nil
	market, ok := b.Clamp(p)
	if !ok {
		return p
	}
	return float64(steps(p+share*(market-p))) / pointScale
}

// moved is the list with every confidence moved by a share. A moved prediction is held against
// the same views of the market, and against the agent's own moved confidence before: it is
// what the agent would have said then.
func moved(list []Settled, share float64) []Settled {
	out := make([]Settled, len(list))
	for i, s := range list {
		if q, ok := s.Bounds.Clamp(s.P); !ok || q != s.Q {
			// All that is known of the market is q itself.
			v := PriceView(s.Q)
			s.Bounds = Bounds{After: &v}
		}
		s.P = s.Bounds.Moved(s.P, share)
		if s.Previous >= 0 && s.Bounds.Previous != nil {
			s.Bounds.Previous = &out[s.Previous].P
		}
		s.Q, _ = s.Bounds.Clamp(s.P)
		out[i] = s
	}
	return out
}

// newMove scores the moved predictions as settlement does. own are the bets of list.
func newMove(list []Settled, own []eventBet, share float64) Move {
	bets, gains := make([]eventBet, len(list)), make([]eventBet, len(list))
	for i, s := range moved(list, share) {
		bets[i] = s.bet(Bet(s.P, s.Q, s.Y, s.Index))
		// The gain is the edge of the moved confidence held against the one before, and so are
		// its stake and spread.
		gain := Bet(s.P, list[i].P, s.Y, s.Index)
		gain.C = bets[i].C - own[i].C
		gains[i] = s.bet(gain)
	}
	m := Move{Share: share, Slice: newSlice(bets)}
	m.Gain, _ = sumsOf(gains)
	return m
}
