package leaderboard

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// restFactor is how long a Builder rests after a Tick, as a multiple of the Tick's duration.
// Settlements that follow each other closely share a build, and looking for changes and building take at
// most a fifth of the process's time.
const restFactor = 4

// maxTouched is the most touched agents that a partial build looks up. Beyond it a full build is
// cheaper, because it scans once.
const maxTouched = 20_000

// ErrRaced is returned when another node has written the board in the meantime. That board is left
// unchanged, and the next Tick builds every board.
var ErrRaced = errors.New("another node built this board at the same time")

// Builder keeps the boards in step with the ledger. One node should run it, under a lease. Two at
// once waste time, but the boards stay consistent. It is safe for concurrent use.
type Builder struct {
	db         *database.DB
	thresholds Thresholds
	now        func() time.Time
	// Records makes the Builder keep the first boards of each UTC day for the archive; see
	// RecordsIn. Set it before the first build.
	Records bool

	mu    sync.Mutex // held while building
	built string     // UTC day of the last full build, "" before the first
	seen  ledgerMark
	prior Prior // of that day
	// rests is how long the Builder rests after ended, the end of its last Tick.
	rests time.Duration
	ended time.Time
}

// NewBuilder returns a Builder whose first Tick builds every board.
func NewBuilder(db *database.DB, t Thresholds, now func() time.Time) *Builder {
	return &Builder{db: db, thresholds: t, now: now}
}

// Tick brings the boards up to date and reports whether it had to build any. It is cheap when
// nothing was settled and does nothing while the Builder rests after a Tick, so it can be called
// every second. The first Tick of a process, the first of each UTC day and the first after the clock was set back
// build every board.
func (b *Builder) Tick(ctx context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	start := b.now()
	if rested := start.Sub(b.ended); rested >= 0 && rested < b.rests { // below 0 the clock was set back
		return false, nil
	}
	built, err := b.tick(ctx, database.Stored(start))
	if errors.Is(err, ErrRaced) {
		b.built = ""
	}
	if built || err == nil {
		b.ended = b.now()
		b.rests = restFactor * b.ended.Sub(start)
	}
	return built, err
}

func (b *Builder) tick(ctx context.Context, at time.Time) (bool, error) {
	// Entries made after the clock was set back may lie before seen.From.
	if b.built != day(at) || at.Before(b.seen.From.Add(ledgerOverlap/2)) {
		return true, b.rebuild(ctx, at)
	}
	c, err := b.changes(ctx, at)
	if err != nil || c.none() {
		return false, err
	}
	if len(c.agents) > maxTouched {
		return true, b.rebuild(ctx, at)
	}
	if err := b.update(ctx, at, c); err != nil {
		return true, err
	}
	b.seen = c.mark
	return true, nil
}

// Rebuild builds every board from scratch. Ticks give the same boards, so a rebuild is never needed
// for correctness.
func (b *Builder) Rebuild(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rebuild(ctx, database.Stored(b.now()))
}

func (b *Builder) rebuild(ctx context.Context, at time.Time) error {
	prior, err := readPrior(ctx, b.db.Reader, day(at))
	first := errors.Is(err, sql.ErrNoRows)
	if err != nil && !first {
		return fmt.Errorf("read prior: %w", err)
	}
	var p job
	var mark ledgerMark
	if first {
		err = settlement.AtOnce(ctx, b.db, b.now, func(ctx context.Context, tx bun.IDB, at time.Time) (err error) {
			p, mark, err = b.readAll(ctx, tx, at)
			return err
		})
		if err == nil && day(p.at) != day(at) {
			return b.rebuild(ctx, p.at) // midnight has passed
		}
	} else {
		p, mark, err = b.readAll(ctx, b.db.Reader, at)
	}
	if err != nil {
		return err
	}
	if p.prior = prior; first {
		if p.prior, err = b.newPrior(ctx, p); err != nil {
			return err
		}
	}
	if err := b.buildAll(ctx, p, nil); err != nil {
		return err
	}
	b.built, b.seen, b.prior = day(p.at), mark, p.prior
	return nil
}

// readAll reads the agents and sums for all boards, and how far the ledger has been read.
func (b *Builder) readAll(ctx context.Context, db bun.IDB, at time.Time) (p job, mark ledgerMark, err error) {
	if mark, err = b.readMark(ctx, db, nil, at); err != nil {
		return p, mark, err
	}
	contenders, err := readContenders(ctx, db)
	if err != nil {
		return p, mark, err
	}
	h, err := readAgentSums(ctx, db, slices.SortedFunc(maps.Keys(contenders), compareIDs), at)
	return job{at: at, contenders: contenders, sums: h}, mark, err
}

// newPrior estimates the day's prior and stores it with the record of the day's boards. If another
// node was faster, it returns that node's prior.
func (b *Builder) newPrior(ctx context.Context, p job) (Prior, error) {
	p.prior = b.estimatePrior(p.at, p.sums, p.contenders)
	first, err := b.firstOfDay(ctx, p)
	if err != nil || first {
		return p.prior, err
	}
	return readPrior(ctx, b.db.DB, day(p.at))
}

// update builds the boards that the changes affect, with the prior of the day's full build.
func (b *Builder) update(ctx context.Context, at time.Time, c changes) error {
	contenders, err := readContenders(ctx, b.db.Reader)
	if err != nil {
		return err
	}
	touched := c.with(contenders)
	h, err := readAgentSums(ctx, b.db.Reader, touched, at)
	if err != nil {
		return err
	}
	p := job{at: at, prior: b.prior, contenders: contenders, sums: h, touched: touched}
	if c.everywhere {
		return b.buildAll(ctx, p, nil)
	}
	return b.buildAll(ctx, p, slices.Sorted(maps.Keys(c.categories)))
}

// buildAll builds the boards of all windows for the given categories. If categories is nil, it
// builds all categories.
func (b *Builder) buildAll(ctx context.Context, p job, categories []string) error {
	if categories == nil {
		var err error
		if categories, err = b.categories(ctx, p.sums); err != nil {
			return err
		}
	}
	for _, p.window = range Windows {
		for _, p.category = range categories {
			if err := b.build(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// categories lists every category that has a board or needs one. AllCategories comes first.
func (b *Builder) categories(ctx context.Context, h agentSums) ([]string, error) {
	var names []string
	err := b.db.Reader.NewSelect().Model((*Board)(nil)).Column("category").Where("span = ?", All).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("list categories: %w", err)
	}
	names = append(names, h.categories()...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// readContenders reads every agent that can be on a board.
func readContenders(ctx context.Context, db bun.IDB) (map[uuid.UUID]contender, error) {
	var list []contender
	err := db.NewRaw(`SELECT a.id, a.model, COALESCE(a.issuer, '') AS issuer, COALESCE(a.owner, '') AS owner, a.kind = 'reference' AS reference,
			COALESCE(t.publication_days, 0) AS days, COALESCE(t.total, 0) > 0 AS published
		FROM (?) AS a LEFT JOIN (?) AS t ON t.agent_id = a.id
		WHERE ?`, agent.Select(db), prediction.SelectTallies(db), agent.Listed("a")).Scan(ctx, &list)
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	contenders := make(map[uuid.UUID]contender, len(list))
	for _, c := range list {
		contenders[c.ID] = c
	}
	return contenders, nil
}
