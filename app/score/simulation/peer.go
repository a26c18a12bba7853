package simulation

import "math"

// standing is an agent's latest prediction on a market, with its score so far.
type standing struct {
	since       float64
	logs        [2]float64 // ln of the probabilities of No and Yes
	field       [2]float64 // integral of all agents' logs, divided by n − 1, up to since
	weight      float64    // integral of 1/(n − 1) up to since
	accompanied float64    // time with at least one other agent, up to since
	peer        [2]float64 // score so far, by result
	covered     float64
	lastTruth   float64
}

// peerScores ranks by Metaculus' Peer Accuracy. At every moment from a prediction to the close, the
// score is 100 times the logarithm of its probability for the result, minus the mean of that over
// all other agents with a prediction. It is averaged over the life of the question and is 0 while
// the agent has no prediction. The agent's sum over all questions is divided by its total coverage,
// or by 30 if the coverage is less. (metaculus.com/help/scores-faq and /help/medals-faq.)
func peerScores(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	byMarket := make([][]forecast, len(w.markets))
	for _, f := range settled {
		byMarket[f.market] = append(byMarket[f.market], f)
	}
	n := len(agents)
	var sum, coverage, squares, expected, questions = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for id, forecasts := range byMarket {
		m := w.markets[id]
		for i, s := range sweep(m, forecasts) {
			got := s.peer[int(m.y)]
			sum[i] += got
			squares[i] += got * got
			coverage[i] += s.covered
			expected[i] += s.lastTruth*s.peer[1] + (1-s.lastTruth)*s.peer[0]
			questions[i]++
		}
	}
	b := newBoard("Metaculus peer score", n)
	for i := range agents {
		if questions[i] < 2 {
			continue
		}
		scale := max(coverage[i], 30)
		b.value[i], b.estimate[i], b.target[i] = sum[i]/scale, sum[i]/scale, expected[i]/scale
		b.half[i] = 1.96 * math.Sqrt(max(squares[i]-sq(sum[i])/questions[i], 0)*questions[i]/(questions[i]-1)) / scale
		b.eligible[i] = counts[i] >= least
	}
	b.rank(agents, 0)
	return b
}

// sweep processes one market's predictions in order of time and returns each agent's standing at
// the close.
func sweep(m *market, forecasts []forecast) map[int]*standing {
	field := map[int]*standing{}
	var total, integral [2]float64
	var weight, accompanied float64
	clock, life := m.event.opens, m.closes-m.event.opens
	advance := func(to float64) {
		if others := float64(len(field) - 1); others > 0 {
			share := (to - clock) / life / others
			weight += share
			accompanied += share * others
			for y := range integral {
				integral[y] += total[y] * share
			}
		}
		clock = to
	}
	collect := func(s *standing) {
		s.covered += (clock - s.since) / life
		for y := range s.peer {
			own := s.logs[y] * (weight - s.weight) // the total includes the agent's own prediction
			s.peer[y] += 100 * (s.logs[y]*(accompanied-s.accompanied) - (integral[y] - s.field[y] - own))
		}
	}
	for _, f := range forecasts {
		advance(f.at)
		s := field[f.agent]
		if s == nil {
			s = &standing{}
			field[f.agent] = s
		} else {
			collect(s)
		}
		for y, p := range [2]float64{1 - f.p, f.p} {
			total[y] -= s.logs[y]
			s.logs[y] = math.Log(p)
			total[y] += s.logs[y]
		}
		s.since, s.field, s.weight, s.accompanied, s.lastTruth = clock, integral, weight, accompanied, f.truth
	}
	advance(m.closes)
	for _, s := range field {
		collect(s)
	}
	return field
}
