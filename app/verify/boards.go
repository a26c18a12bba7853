package verify

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/score"
)

// windows are the windows of the boards and their number of days, 0 for all.
var windows = []struct {
	name string
	days int
}{{"30d", 30}, {"90d", 90}, {"365d", 365}, {"all", 0}}

// gridLimit is the maximum number of ranked agents for which every build computes a new rank grid,
// so that the grid follows from the rows. A larger board uses the grid of the day's first build.
const gridLimit = 2000

// compareBoards reads every board and compares its rows with rows recomputed from the predictions.
func (l *ledger) compareBoards(ctx context.Context, api *client) error {
	categories := []string{""}
	for _, c := range l.clusters {
		if !slices.Contains(categories, c.category) {
			categories = append(categories, c.category)
		}
	}
	slices.Sort(categories)
	for _, category := range categories {
		for _, w := range windows {
			if err := l.compareBoard(ctx, api, w.name, w.days, category); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *ledger) compareBoard(ctx context.Context, api *client, window string, days int, category string) error {
	name := strings.TrimSpace(window + " " + category)
	b, whole, err := api.board(ctx, window, category)
	if err != nil {
		return err
	}
	if !whole {
		l.report.Moved = append(l.report.Moved, name)
		return nil
	}
	asOf := yesterday()
	if b.AsOf != nil {
		asOf = b.AsOf.UTC()
		l.report.Boards++
		l.comparePrior(name, b.Prior, asOf)
	}
	sums := l.sums(asOf, days, category)
	var ranked []row
	for _, r := range b.Rows {
		if (r.Reference || r.Provisional || r.Reason != nil) && (r.Rank != nil || r.RankLow != nil || r.RankHigh != nil) {
			l.report.differ("board %s, %s: has a rank, but such a row has none", name, r.Agent.Handle)
		}
		if r.Reference {
			if r.Agent.Handle == "market" && r.Skill != 0 {
				l.report.differ("board %s: the market's skill is %v, want 0", name, r.Skill)
			}
			continue
		}
		l.report.Rows++
		s := sums[r.Agent.ID]
		l.compareRow(name, &b, &r, s.Sums)
		l.compareProvisional(name, &b, &r, s, asOf)
		delete(sums, r.Agent.ID)
		if !r.Provisional && r.Reason == nil {
			ranked = append(ranked, r)
		}
	}
	l.compareRanks(name, ranked)
	return l.missing(ctx, api, name, sums)
}

// comparePrior checks that κ, μ and τ are within their bounds and the same on all boards of a day. They can't be
// recomputed, because they were estimated from the settlements before the day's first boards.
func (l *ledger) comparePrior(name string, p prior, asOf time.Time) {
	if !(score.Prior{Kappa: p.Kappa}).InBounds() || !p.share().InBounds() {
		l.report.differ("board %s: the prior has kappa %v, mu %v and tau %v, which are out of bounds", name, p.Kappa, p.Mu, p.Tau)
	}
	day := asOf.Format(time.DateOnly)
	if first, known := l.priors[day]; !known {
		l.priors[day] = p
	} else if p != first {
		l.report.differ("board %s: the prior has kappa %v, mu %v and tau %v, but %v, %v and %v on another board of %s",
			name, p.Kappa, p.Mu, p.Tau, first.Kappa, first.Mu, first.Tau, day)
	}
}

func (p prior) share() score.SharePrior { return score.SharePrior{Mu: p.Mu, Tau: p.Tau} }

// yesterday is the day of a board that was never built. If an event counts by then, the board is missing.
func yesterday() time.Time { return time.Now().UTC().AddDate(0, 0, -1) }

// missing reports the agents without a row. sums are those of agents without one. Agents that aren't active are left
// out of the boards.
func (l *ledger) missing(ctx context.Context, api *client, name string, sums map[string]agentSums) error {
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		a := l.authors[id]
		if a.active == nil {
			active, err := api.active(ctx, a.handle)
			if err != nil {
				return err
			}
			a.active = &active
		}
		if *a.active {
			l.report.differ("board %s, %s: has no row, but %d settled events", name, a.handle, sums[id].N)
		}
	}
	return nil
}

// agentSums are an agent's sums on a board.
type agentSums struct {
	score.Sums
	disagreements int64 // events with a prediction far enough from its baseline
}

// sums returns the sums of each agent's clusters that count on a board.
func (l *ledger) sums(asOf time.Time, days int, category string) map[string]agentSums {
	last, first := asOf.Format(time.DateOnly), ""
	if days > 0 {
		first = asOf.AddDate(0, 0, 1-days).Format(time.DateOnly)
	}
	sums := map[string]agentSums{}
	blocks := map[[2]string]*score.Tally{}
	for key, c := range l.clusters {
		day := c.countsOn()
		if c.settled == 0 || day < first || day > last || category != "" && category != c.category {
			continue
		}
		s := sums[key.agent]
		s.Add(c.Cluster)
		if c.disagrees {
			s.disagreements++
		}
		sums[key.agent] = s
		block := blocks[[2]string{key.agent, day}]
		if block == nil {
			block = &score.Tally{}
			blocks[[2]string{key.agent, day}] = block
		}
		block.Add(c.C)
	}
	for of, block := range blocks {
		s := sums[of[0]]
		s.Days.Add(block.N, block.S)
		sums[of[0]] = s
	}
	return sums
}

// compareRow compares the numbers of one agent.
func (l *ledger) compareRow(name string, b *board, r *row, s score.Sums) {
	compare := func(what string, have *float64, want float64, known bool) {
		if (have != nil) != known || known && !near(*have, want) {
			l.report.differ("board %s, %s: %s is %v, want %v (known: %t)", name, r.Agent.Handle, what, show(have), want, known)
		}
	}
	if r.Events != s.N {
		l.report.differ("board %s, %s: %d events, want %d", name, r.Agent.Handle, r.Events, s.N)
	}
	compare("skill", &r.Skill, s.Skill(b.Prior.Kappa), true)
	p, known := s.Posterior(b.Prior.share())
	compare("bestGuess", r.BestGuess, p.BestGuess, known)
	compare("skillLow", r.SkillLow, p.Low, known)
	compare("skillHigh", r.SkillHigh, p.High, known)
	odds, known := s.Odds()
	compare("odds", r.Odds, odds, known)
	if proven := known && score.Proven(odds); r.Proven != proven {
		l.report.differ("board %s, %s: proven is %t, want %t", name, r.Agent.Handle, r.Proven, proven)
	}
}

// compareProvisional checks that an agent is provisional exactly if it lacks something for a rank. If only the number of
// its publication days counts, and it depends on the day of the board or a later one, the agent isn't checked: it may
// have published since the board was built, or while a clock was ahead.
func (l *ledger) compareProvisional(name string, b *board, r *row, s agentSums, asOf time.Time) {
	if b.Need.Events == 0 {
		return // an older release doesn't say what a rank needs
	}
	all, sure := l.publicationDays(r.Agent.ID, asOf)
	enough := s.N >= b.Need.Events && s.disagreements >= b.Need.Disagreements
	lacks, has := !enough || all < b.Need.Days, enough && sure >= b.Need.Days
	if r.Provisional && has || !r.Provisional && lacks {
		l.report.differ("board %s, %s: provisional is %t with %d of %d events, %d of %d disagreements and %d of %d publication days",
			name, r.Agent.Handle, r.Provisional, s.N, b.Need.Events, s.disagreements, b.Need.Disagreements, all, b.Need.Days)
	}
}

// publicationDays returns the number of UTC days on which an agent has published on a market, and how many of them are
// before the day of a board.
func (l *ledger) publicationDays(agent string, asOf time.Time) (all, before int64) {
	a := l.authors[agent]
	if a == nil {
		return 0, 0
	}
	for day := range a.days {
		if all++; day < asOf.Format(time.DateOnly) {
			before++
		}
	}
	return all, before
}

// compareRanks checks that ranks count from 1 in the order of skill, and that the rank ranges follow from the published
// ranges.
func (l *ledger) compareRanks(name string, ranked []row) {
	var posteriors []score.Posterior
	for i := range ranked {
		if p, known := ranked[i].posterior(); known {
			posteriors = append(posteriors, p)
		}
	}
	grid := score.NewRankGrid(posteriors)
	for i, r := range ranked {
		if r.Rank == nil || *r.Rank != i+1 || i > 0 && less(&ranked[i], &ranked[i-1]) {
			l.report.differ("board %s, %s: rank is not %d, as the order of skill requires", name, r.Agent.Handle, i+1)
			continue
		}
		if len(ranked) > gridLimit {
			continue
		}
		low, high := 1, len(ranked)
		if p, known := r.posterior(); known {
			low, high = grid.Range(p, i+1)
		}
		if r.RankLow == nil || r.RankHigh == nil || *r.RankLow != low || *r.RankHigh != high {
			l.report.differ("board %s, %s: rank range is not %d to %d", name, r.Agent.Handle, low, high)
		}
	}
}

// less reports whether a ranks before b: by higher skill, then more events, then the lower id.
func less(a, b *row) bool {
	switch {
	case a.Skill != b.Skill:
		return a.Skill > b.Skill
	case a.Events != b.Events:
		return a.Events > b.Events
	}
	return a.Agent.ID < b.Agent.ID
}
