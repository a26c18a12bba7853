package score

// Moved returns confidence p moved towards the market by a share, in 0..1, of the distance. It
// moves towards the value nearest to p inside the bounds, leaving out the agent's previous
// confidence. The result is rounded to four decimals. It is p if there is no baseline.
func (b Bounds) Moved(p, share float64) float64 {
	b.Previous = nil
	market, ok := b.Clamp(p)
	if !ok {
		return p
	}
	return float64(steps(p+share*(market-p))) / pointScale
}

// moved returns list with every confidence moved by a share. The baseline of a moved prediction
// comes from the same views of the market, and from the agent's previous confidence, which is moved
// too.
func moved(list []Settled, share float64) []Settled {
	out := make([]Settled, len(list))
	for i, s := range list {
		if q, ok := s.Bounds.Clamp(s.P); !ok || q != s.Q {
			// The bounds don't give q, so q is all that is known of the market.
			v := PriceView(s.Q)
			s.Bounds = Bounds{After: &v}
		}
		s.P = s.Bounds.Moved(s.P, share)
		if s.Previous >= 0 && s.Bounds.Previous != nil {
			p := out[s.Previous].P
			if s.Opposite {
				p = Complement(p)
			}
			s.Bounds.Previous = &p
		}
		s.Q, _ = s.Bounds.Clamp(s.P)
		out[i] = s
	}
	return out
}

// move returns what moving every confidence by a share would have earned. own holds the bets of the
// original predictions.
func (s *sheet) move(own []eventBet, share float64) Move {
	bets, gains := make([]eventBet, len(own)), make([]eventBet, len(own))
	for i, to := range moved(s.list, share) {
		bets[i] = s.bet(i, Bet(to.P, to.Q, to.Y, to.Index))
		// The stake and the spread of the gain are those of the moved confidence against the
		// original one.
		gain := Bet(to.P, s.list[i].P, to.Y, to.Index)
		gain.C = bets[i].C - own[i].C
		gains[i] = s.bet(i, gain)
	}
	m := Move{Share: share, Slice: s.slice(bets)}
	m.Gain, _ = s.sum(gains)
	return m
}
