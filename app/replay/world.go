package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/signal"
)

// world is the service of a run at T.
type world struct {
	app    *app.App
	handle fasthttp.RequestHandler
	run    *Run
	at     time.Time

	path  string        // path of its file
	files *sync.RWMutex // as in builder
	// kept reports whether closing the world must keep its file: the file existed before, or
	// something was written to it.
	kept atomic.Bool

	mu   sync.Mutex
	keys int // number of the run's keys it has added
}

// The settings of a world. Their value is T. complete means that the world was filled with everything
// known at T. shrunk means that it must be filled again; see world.shrink.
const (
	complete = "replay"
	shrunk   = "replay_shrunk"
)

// builder makes worlds.
type builder struct {
	tape     *Tape
	runs     *Runs
	template string // a migrated, empty SQLite file
	settings config.Config
	log      io.Writer
	files    sync.RWMutex // held to delete files of worlds, and for reading to open files of worlds that may be closed
}

// newTemplate makes the file from which worlds are copied.
func newTemplate(ctx context.Context, path string) (err error) {
	for _, old := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("make the template of worlds: %w", err)
		}
	}
	db, err := database.Open(ctx, "sqlite://"+path)
	if err != nil {
		return err
	}
	_, err = db.Migrate(ctx)
	return errors.Join(err, db.Close()) // closing the last connection merges the write-ahead log
}

// worldPath returns the file of a world. Its name is T without colons, which some file systems
// refuse.
func (b *builder) worldPath(run *Run, at time.Time) string {
	return filepath.Join(b.runs.folder(run.ID), "worlds", strings.ReplaceAll(writeMoment(at), ":", "")+".db")
}

// open opens the world of a run at a moment, and builds it if it doesn't exist.
func (b *builder) open(ctx context.Context, run *Run, at time.Time) (w *world, err error) {
	path := b.worldPath(run, at)
	_, missing := os.Stat(path)
	if errors.Is(missing, os.ErrNotExist) {
		if err := b.checkRoom(run); err != nil {
			return nil, err
		}
		if err := copyFile(b.template, path); err != nil {
			return nil, fmt.Errorf("make a world: %w", err)
		}
	}
	w, err = b.start(ctx, run, at, path)
	if err != nil {
		return nil, err
	}
	w.kept.Store(missing == nil)
	if err = b.complete(ctx, w); err == nil {
		err = w.takeKeys(ctx, run)
	}
	if err == nil {
		err = w.app.Recheck(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.app.Close())
	}
	if w.app.Markets.Replicator.Feed().Current().Sample {
		w.app.MarkSample()
	}
	w.handle = w.app.Handler()
	return w, nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return writeFile(to, content)
}

// start builds the service on a world's file. It runs no background jobs, has no rate limits, and
// asks no source.
func (b *builder) start(ctx context.Context, run *Run, at time.Time, path string) (*world, error) {
	d, err := b.tape.digest(ctx, archive.DayOf(at))
	if err != nil {
		return nil, err
	}
	cfg := d.settings(b.settings)
	cfg.BaseURL = b.settings.BaseURL + prefix(run.ID, writeMoment(at))
	cfg.DatabaseURL = "sqlite://" + path
	a, err := app.New(ctx, cfg, app.Options{
		Beside: true, Log: b.log, Now: func() time.Time { return at }, Seed: run.seed(at),
	})
	if err != nil {
		return nil, fmt.Errorf("open a world: %w", err)
	}
	return &world{app: a, run: run, at: at, path: path, files: &b.files}, nil
}

// worldSettings returns the settings of every world.
func worldSettings(cfg config.Config) config.Config {
	cfg.DatabaseReplicaURL, cfg.RedisURL, cfg.MetricsAddr, cfg.AlertWebhookURL = "", "", "", ""
	standard := config.Default()
	cfg.IdentityURL, cfg.IdentityClientID, cfg.IdentityClientSecret, cfg.IdentityAudience, cfg.IdentityScope, cfg.IdentityOwnerClaim = "", "", "", "", "", ""
	cfg.AdminScope, cfg.Registration, cfg.EdgeFilter = "", "closed", "off"
	cfg.BackupDir, cfg.BackupEvery, cfg.BackupKeep = "", 0, standard.BackupKeep
	cfg.StreamsMax, cfg.ArchiveURL = 0, archive.Off
	for _, rate := range []*config.Rate{
		&cfg.RateLimitReads, &cfg.RateLimitReadsAddress, &cfg.RateLimitWrites, &cfg.RateLimitWritesAddress,
		&cfg.RegistrationRate, &cfg.RegistrationCeiling, &cfg.RateLimitFailures, &cfg.RateLimitSnapshot,
	} {
		*rate = config.Rate{}
	}
	return cfg
}

// complete fills a world that lacks a part of what was known at T.
func (b *builder) complete(ctx context.Context, w *world) error {
	_, found, err := database.Setting(ctx, w.app.DB.Reader, complete)
	if err != nil {
		return err
	}
	if !found {
		return b.fill(ctx, w, b.makeWorld)
	}
	_, again, err := database.Setting(ctx, w.app.DB.Reader, shrunk)
	if err != nil || !again {
		return err
	}
	if err := b.fill(ctx, w, func(context.Context, *world, *moment) error { return nil }); err != nil {
		return err
	}
	return database.RemoveSetting(ctx, w.app.DB, shrunk)
}

// fill stores what was known at T, calls add with it, and marks the world as complete.
func (b *builder) fill(ctx context.Context, w *world, add func(context.Context, *world, *moment) error) error {
	known, err := b.tape.At(ctx, w.at, &w.run.Filter)
	if err != nil {
		return err
	}
	if err := w.app.DB.Sync(ctx, false); err != nil {
		return err
	}
	err = w.app.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := (market.Store{}).Observe(ctx, tx, known.markets, known.events...); err != nil {
			return err
		}
		if err := (market.Store{}).AddPrices(ctx, tx, known.history); err != nil {
			return err
		}
		return news.Store{}.Observe(ctx, tx, known.news)
	})
	if err != nil {
		return fmt.Errorf("fill a world: %w", err)
	}
	if err := add(ctx, w, known); err != nil {
		return err
	}
	if err := w.publish(ctx, known); err != nil {
		return err
	}
	if err := w.app.DB.Sync(ctx, true); err != nil {
		return err
	}
	return database.SetSetting(ctx, w.app.DB, complete, writeMoment(w.at))
}

// makeWorld adds the run's agent and assignments to a new world.
func (b *builder) makeWorld(ctx context.Context, w *world, known *moment) error {
	if found, err := (agent.Store{}).ByIDs(ctx, w.app.DB, []uuid.UUID{w.run.Agent}); err != nil || found[w.run.Agent] != nil {
		return err // an earlier attempt stopped after this step
	}
	err := w.app.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := w.run.addAgent(ctx, tx, w.at); err != nil {
			return err
		}
		return w.addAssignments(ctx, tx, known)
	})
	if err != nil {
		return fmt.Errorf("make a world: %w", err)
	}
	if len(w.pairs()) > 0 {
		return nil
	}
	_, err = assignment.Store{}.ChooseDaily(ctx, w.app.DB, w.at, time.Time{}, float64(w.app.Config().RankedMinLiquidity))
	return err
}

// addAgent creates the run's agent.
func (r *Run) addAgent(ctx context.Context, tx bun.Tx, at time.Time) error {
	_, err := agent.Store{}.Create(ctx, tx, agent.New{ID: r.Agent, Profile: agent.Profile{Name: r.Name, Model: r.Model}, At: at})
	return err
}

// pairs returns the run's pairs at T.
func (w *world) pairs() (list []Pair) {
	for _, p := range w.run.Pairs {
		if p.At.Equal(w.at) {
			list = append(list, p)
		}
	}
	return list
}

// defaultDue is the time after T at which the assignment of a market without a schedule is due.
const defaultDue = 90 * 24 * time.Hour

// addAssignments creates an assignment for each of the run's pairs at T.
func (w *world) addAssignments(ctx context.Context, tx bun.Tx, known *moment) error {
	for _, p := range w.pairs() {
		for i := range known.markets {
			m := &known.markets[i]
			if m.ID != p.Market {
				continue
			}
			due := cmp.Or(m.ClosesAt, w.at.Add(defaultDue))
			if !due.After(w.at) {
				continue // past its scheduled close and still open
			}
			draft := assignment.Draft{MarketID: m.ID, Outcome: m.Outcomes[m.Reference()], OpensAt: w.at.Add(-time.Microsecond), DueAt: due}
			if _, err := (assignment.Store{}).Create(ctx, tx, draft, w.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish publishes the feeds as they were at T.
func (w *world) publish(ctx context.Context, known *moment) error {
	cfg := w.app.Config()
	if at := known.marketsAt(); !at.IsZero() {
		reading := signal.Reading[market.Market]{
			Records: market.OpenByVolume(known.markets), AsOf: at, Source: known.markets[0].Source, Sample: known.sampleMarkets, Interval: cfg.MarketsInterval,
		}
		if err := w.app.Markets.Replicator.Publish(ctx, reading); err != nil {
			return err
		}
	}
	if reading, ok := known.newsReading(); ok {
		reading.Interval = cfg.NewsInterval
		return w.app.News.Replicator.Publish(ctx, reading)
	}
	return nil
}

// takeKeys adds the run's keys that are valid at T.
func (w *world) takeKeys(ctx context.Context, run *Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == len(run.Keys) {
		return nil
	}
	for _, k := range run.keysAt(w.at) {
		if err := (agent.Store{}).AddKey(ctx, w.app.DB, k); err != nil {
			return err
		}
	}
	w.keys = len(run.Keys)
	return nil
}
