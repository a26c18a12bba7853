package simulation

import (
	"cmp"
	"slices"
)

// follow publishes for the agents that copy others: rings of accounts, each of which copies one
// good agent, and late copiers.
func (b *publisher) follow(agents []*agent) {
	best := slices.SortedFunc(slices.Values(agents), func(x, y *agent) int {
		return cmp.Compare(y.skill, x.skill)
	})
	leaders := map[kind]int{sybilKnown: best[2].id, sybilUnknown: best[3].id}
	original := b.all
	for _, a := range agents {
		switch a.kind {
		case sybilKnown, sybilUnknown:
			for _, f := range original {
				if f.agent == leaders[a.kind] && b.r.Float64() < 0.9 {
					m := b.w.markets[f.market]
					b.add(a, m, f.at+minute*(1+30*b.r.Float64()), f.p, f.truth)
				}
			}
		case lateCopier:
			leader := best[b.r.IntN(20)].id
			for _, f := range original {
				if f.agent == leader {
					b.copyLate(a, f)
				}
			}
		}
	}
}

// copyLate waits until the price reaches a good agent's confidence and then publishes that
// confidence.
func (b *publisher) copyLate(a *agent, f forecast) {
	m := b.w.markets[f.market]
	above := m.price(f.at) > f.p
	for _, at := range m.event.times {
		if at <= f.at || (m.price(at) > f.p) == above {
			continue
		}
		if at < m.result {
			b.add(a, m, at+5*minute*b.r.Float64(), f.p, m.price(at))
		}
		return
	}
}
