package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
)

const (
	// topMarkets is how many markets a tick asks for. It ignores any further ones.
	topMarkets = 500
	// forgottenPerTick is how many open markets unobserved for long a tick requests by id, and inactivePerTick
	// how many inactive ones. So a day has room for 28,800 inactive markets.
	forgottenPerTick = 100
	inactivePerTick  = 20
	// watchedPerTick is how many markets a tick reads for a late change.
	watchedPerTick = 200
	// marketsPerBatch is how many markets one transaction stores. A market takes about 0.15 ms on SQLite.
	marketsPerBatch = 40
)

// Markets reads a market source once per Tick.
type Markets struct {
	Source     source.MarketSource
	DB         *database.DB
	Replicator *signal.Replicator[market.Market]
	Interval   time.Duration
	Now        func() time.Time
	Log        *slog.Logger
	// Watch lists at most limit more markets to read by id, because their outcome may still change. Nil means
	// none.
	Watch func(ctx context.Context, limit int) ([]string, error)
	// Ended returns those of the given markets that have closed or are decided. A listing that shows one of them as open
	// may be old, so Tick also reads it by id, and believes only that. Nil means none.
	Ended func(ctx context.Context, ids []string) ([]string, error)
	// The functions in After are called with the markets that a tick observed, once these are stored, for
	// example to fix baselines and to settle. They are called without markets if there is no reading or it
	// can't be stored, because they also continue earlier work. If one fails, the error is logged and the
	// others still run.
	After []func(ctx context.Context, observed []market.Market) error
	// Archive records each reading. It is nil without an archive.
	Archive *archive.Recorder

	store market.Store
}

// Tick reads the top markets. By id, it also reads the markets with open predictions, those unobserved for
// long, those that Watch lists and, once a day, inactive ones. It requests the tags of events whose markets have
// none. Then it stores the markets with their prices, publishes the snapshot and calls After.
//
// If the top markets can't be read, the last snapshot stays, and Tick still reads the others and calls After.
// next is the interval, or longer if the source asked for a longer pause. After a failure it is the pause that
// the source asked for. Tick is a worker.Job.
func (m *Markets) Tick(ctx context.Context) (next time.Duration, err error) {
	var rejects source.Rejects
	defer func() { keepRejects(ctx, m.DB, m.Log, m.Replicator.Feed().Name(), m.Now(), &rejects) }()
	reading := rejects.Into(ctx)
	got, ended, err := m.readTop(reading)
	top := got.Markets
	if err != nil {
		err = m.failed(ctx, err)
		return max(source.RetryAfter(err), m.withoutTop(reading, top, ended, err)), err
	}
	rest, missed, restErr := m.readRest(reading, top, ended)
	events, tagsErr := m.completeTags(reading, slices.Concat(got.Events, rest.Events), top, rest.Markets)
	observed := slices.Concat(top, rest.Markets)
	top = observed[:len(top)] // as keep changes them
	if err = m.keep(ctx, observed, events, missed); err != nil {
		observed = nil
	}
	// The snapshot shows what is stored, so that a filter finds the same in both.
	shown, shownErr := m.store.Shown(ctx, m.DB.Reader, top)
	open := market.OpenByVolume(shown)
	publishErr := m.Replicator.Publish(ctx, signal.Reading[market.Market]{
		Records: open, AsOf: top[0].ObservedAt, Source: top[0].Source, Sample: top[0].Sample, Interval: m.Interval,
	})
	if err = errors.Join(err, shownErr, publishErr); err != nil {
		err = m.failed(ctx, err)
		m.callAfter(ctx, observed)
		return 0, err
	}
	got.Dropped.Add(rest.Dropped)
	err = recordSuccess(ctx, m.DB, FeedState{
		Feed: m.Replicator.Feed().
			Name(), Source: top[0].Source, Count: len(open), Dropped: got.Dropped, SucceededAt: m.Now(),
	}, errors.Join(restErr, tagsErr), got.Fallback)
	m.callAfter(ctx, observed)
	return max(m.Interval, source.RetryAfter(got.Fallback), source.RetryAfter(restErr), source.RetryAfter(tagsErr)), err
}

// Planned stores when the next tick is due. It is for worker.Job.
func (m *Markets) Planned(ctx context.Context, at time.Time) {
	if err := recordPlan(ctx, m.DB, m.Replicator.Feed().Name(), at); err != nil {
		m.Log.Warn("time of the next tick not stored", "feed", m.Replicator.Feed().Name(), "error", err)
	}
}

// withoutTop goes on after a reading without open markets, which failed as cause says: it reads the other markets by
// id, unless the source asked for a pause, and calls After. So markets still settle. closed are the closed markets of
// the reading, and ended the markets that it left out; see readTop. pause is what the source asked for when it was asked by
// id.
func (m *Markets) withoutTop(ctx context.Context, closed []market.Market, ended []string, cause error) (pause time.Duration) {
	var rest source.Markets
	var readErr error
	if source.RetryAfter(cause) == 0 && ctx.Err() == nil {
		rest, _, readErr = m.readRest(ctx, closed, ended)
	}
	observed := slices.Concat(closed, rest.Markets)
	err := m.keep(ctx, observed, rest.Events, nil)
	if err != nil {
		observed = nil
	}
	if err != nil || readErr != nil {
		m.Log.Warn("markets of open predictions not all stored", "error", errors.Join(readErr, err))
	}
	m.callAfter(ctx, observed)
	return source.RetryAfter(readErr)
}

// readTop reads the top markets. It leaves out those that the source lists as open although they have ended, and returns
// their ids in ended. With the error "empty" it also returns the closed ones.
func (m *Markets) readTop(ctx context.Context) (got source.Markets, ended []string, err error) {
	if got, err = m.Source.Top(ctx, topMarkets); err != nil {
		return source.Markets{}, nil, fmt.Errorf("read top markets: %w", err)
	}
	at := m.dated(got.ObservedAt)
	got.Markets, got.Dropped = soundMarkets(got, at)
	got.Events = soundEvents(got.Events, at)
	got.Markets = got.Markets[:min(len(got.Markets), topMarkets)]
	if m.Ended != nil {
		var open []string
		for i := range got.Markets {
			if !got.Markets[i].Closed {
				open = append(open, got.Markets[i].ID)
			}
		}
		if ended, err = m.Ended(ctx, open); err != nil {
			return source.Markets{}, nil, err
		}
		got.Markets = slices.DeleteFunc(got.Markets, func(m market.Market) bool { return slices.Contains(ended, m.ID) })
	}
	if len(market.OpenByVolume(got.Markets)) == 0 {
		return got, ended, &source.Error{Reason: "empty", Err: errors.New("no open market in the answer")}
	}
	return got, ended, nil
}

// readRest reads by id the markets that top doesn't hold: those with open predictions first, then those that ended.
// missed are the forgotten and inactive markets that the source seems not to know. With an error, it also returns what it
// has read so far.
func (m *Markets) readRest(
	ctx context.Context, top []market.Market, ended []string,
) (rest source.Markets, missed []string, err error) {
	wanted, err := prediction.Store{}.LiveMarkets(ctx, m.DB.Reader)
	if err != nil {
		return rest, nil, err
	}
	forgotten, err := m.store.Forgotten(ctx, m.DB.Reader, m.Now(), forgottenPerTick)
	if err != nil {
		return rest, nil, err
	}
	inactive, err := m.store.Inactive(ctx, m.DB.Reader, m.Now(), inactivePerTick)
	if err != nil {
		return rest, nil, err
	}
	var watched []string
	if m.Watch != nil {
		if watched, err = m.Watch(ctx, watchedPerTick); err != nil {
			return rest, nil, err
		}
	}
	seen := make(map[string]bool, len(top))
	for _, known := range top {
		seen[known.ID] = true
	}
	var ids []string
	for _, id := range slices.Concat(wanted, ended, forgotten, watched, inactive) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return rest, nil, nil
	}
	got, err := m.Source.ByID(ctx, ids)
	if err != nil {
		m.Log.Warn("not all markets read by id", "count", len(got.Markets), "asked", len(ids), "error", err)
		err = fmt.Errorf("read markets by id: %w", err)
	}
	if len(top) > 0 && len(got.Markets) > 0 { // a reading without any market proves nothing
		missed = slices.DeleteFunc(slices.Concat(forgotten, inactive), func(id string) bool { return !slices.Contains(got.Missing, id) })
	}
	at := m.dated(got.ObservedAt)
	rest.Markets, rest.Dropped = soundMarkets(got, at)
	rest.Events = soundEvents(got.Events, at)
	return rest, missed, err
}

// keep stores a reading in short transactions, because other writers wait for each of them on SQLite. If one fails,
// the batches before it stay, and the next tick reads all markets again. It changes observed to what it stores.
func (m *Markets) keep(ctx context.Context, observed []market.Market, events []market.Event, missed []string) error {
	if err := errors.Join(m.store.KeepScalar(ctx, m.DB.Reader, observed), m.store.KeepOrder(ctx, m.DB.Reader, observed)); err != nil {
		return err
	}
	for _, b := range market.Batches(observed, events, marketsPerBatch) {
		if err := m.keepBatch(ctx, b); err != nil {
			return err
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return m.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := m.store.Missed(ctx, tx, missed, m.Now()); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Markets)
	})
}

// keepBatch stores a batch and appends it to the archive, in one transaction. So each price is in both or in
// neither, and baselines computed from the archive equal those of the service.
func (m *Markets) keepBatch(ctx context.Context, b market.Batch) error {
	archived := func() {}
	err := m.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if err := m.store.ObserveBatch(ctx, tx, b, m.Now()); err != nil {
			return err
		}
		if m.Archive != nil {
			if archived, err = m.Archive.Markets(ctx, tx, b.Markets, b.Events()); err != nil {
				return err
			}
		}
		return generation.Move(ctx, tx, generation.Markets)
	})
	if err == nil {
		archived()
	}
	return err
}

// callAfter calls the functions in After, unless the node stops.
func (m *Markets) callAfter(ctx context.Context, observed []market.Market) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	for _, after := range m.After {
		if err := guarded(ctx, observed, after); err != nil {
			m.Log.Error("a step after reading the markets failed", "job", "markets", "error", err)
		}
	}
}

// guarded turns a panic into an error, so that the next functions still run.
func guarded(
	ctx context.Context, observed []market.Market, after func(context.Context, []market.Market) error,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return after(ctx, observed)
}

// failed records a failure and returns it.
func (m *Markets) failed(ctx context.Context, cause error) error {
	return failed(ctx, m.DB, m.Replicator.Feed().Name(), m.Now(), cause)
}

// dated returns when a response was received, but never a time after now.
func (m *Markets) dated(at time.Time) time.Time { return dated(at, m.Now()) }

// dated returns at, or now if at is unknown or later.
func dated(at, now time.Time) time.Time {
	if at.IsZero() || at.After(now) {
		at = now
	}
	return database.Stored(at)
}
