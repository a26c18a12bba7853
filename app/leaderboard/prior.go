package leaderboard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/score"
)

// Prior is one night's estimate of how agents differ. The boards of its day use it and publish it.
type Prior struct {
	bun.BaseModel `bun:"table:priors"`

	Day string `bun:",pk"` // "2026-11-21", UTC; "" for the defaults
	// Kappa shrinks Skill, in events. Sigma2 is the variance it was estimated from. See
	// score.Prior.
	Kappa  float64
	Sigma2 float64
	// Mu and Tau are the centre and the spread of the agents' share of right disagreement; see
	// score.SharePrior.
	Mu  float64
	Tau float64
	// Agents counts the agents that had settled events.
	Agents int64
}

func defaultPrior() Prior {
	return Prior{
		Kappa: score.DefaultPrior.Kappa, Sigma2: score.DefaultPrior.Sigma2,
		Mu: score.DefaultSharePrior.Mu, Tau: score.DefaultSharePrior.Tau,
	}
}

func (p Prior) share() score.SharePrior { return score.SharePrior{Mu: p.Mu, Tau: p.Tau} }

// estimatePrior estimates κ from all agents with settled events, and μ and τ from the agents that
// are ranked on the main board with this κ.
func (b *Builder) estimatePrior(at time.Time, h agentSums, contenders map[uuid.UUID]contender) Prior {
	var tallies []score.Tally
	records := map[uuid.UUID]score.Sums{}
	h.each(All, AllCategories, func(agent uuid.UUID, s *sums) {
		if c, ok := contenders[agent]; ok && !c.Reference && s.record.N > 0 {
			tallies = append(tallies, s.record.Tally)
			records[agent] = s.record
		}
	})
	p := defaultPrior()
	order := score.EstimatePrior(tallies)
	p.Day, p.Kappa, p.Sigma2, p.Agents = day(at), order.Kappa, order.Sigma2, int64(len(tallies))
	var rows []*Row
	h.each(All, AllCategories, func(agent uuid.UUID, s *sums) {
		if c, ok := contenders[agent]; ok {
			rows = append(rows, newRow(All, AllCategories, s, p, c))
		}
	})
	var ranked []score.Sums
	for _, r := range b.thresholds.rank(AllCategories, rows, contenders) {
		ranked = append(ranked, records[r.AgentID])
	}
	share := score.EstimateSharePrior(ranked)
	p.Mu, p.Tau = share.Mu, share.Tau
	return p
}

// readPrior reads the prior of a day. It returns sql.ErrNoRows if the day has none.
func readPrior(ctx context.Context, db bun.IDB, day string) (p Prior, err error) {
	err = db.NewSelect().Model(&p).Where("day = ?", day).Scan(ctx)
	return p, err
}

// selectPrior selects the newest prior up to today. One of a later day was stored while a clock was ahead.
func selectPrior(db bun.IDB, p *database.Planned, now time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*Prior)(nil)).Where("day <= ?", p.Value(day(now))).OrderExpr("day DESC").Limit(1)
}

// orDefault returns p, or the defaults if p is no stored prior.
func (p Prior) orDefault() Prior {
	if p.Day == "" {
		return defaultPrior()
	}
	return p
}

// Prior returns the newest prior, or the defaults before the first.
func (s *Store) Prior(ctx context.Context, db bun.IDB) (Prior, error) {
	var newest Prior
	planned := database.NewPlanned(db)
	err := planned.Scan(ctx, selectPrior(db, planned, s.now()), &newest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return newest, fmt.Errorf("read prior: %w", err)
	}
	return newest.orDefault(), nil
}
