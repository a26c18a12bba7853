package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
)

const (
	// perCommunity is how many items of one community a tick accepts.
	perCommunity = 100
	// carriedFor is how long a community's last items stay in the snapshot while readings leave the community
	// out. A fallback source covers only some communities.
	carriedFor = 24 * time.Hour
	// itemsPerBatch is how many items one transaction stores.
	itemsPerBatch = 100
)

// News reads a news source once per Tick.
type News struct {
	Source     source.NewsSource
	DB         *database.DB
	Replicator *signal.Replicator[news.Item]
	Interval   time.Duration // the least interval; the source may require a longer one
	Now        func() time.Time
	Log        *slog.Logger
	// Archive records each reading. It is nil without an archive.
	Archive *archive.Recorder

	store news.Store
}

// Tick reads the communities, stores the items and publishes the snapshot. It leaves out items that are erased, although
// a source may still list them. If the source fails, or the database can't say which items are erased, the last snapshot
// stays.
//
// next is the longer of Interval and the interval that the source requires. After a failure it is the pause that the
// source asked for. Tick is a worker.Job.
func (n *News) Tick(ctx context.Context) (next time.Duration, err error) {
	var rejects source.Rejects
	defer func() { keepRejects(ctx, n.DB, n.Log, n.Replicator.Feed().Name(), n.Now(), &rejects) }()
	got, err := n.Source.Read(rejects.Into(ctx))
	if err != nil {
		err = fmt.Errorf("read news: %w", err)
		return source.RetryAfter(err), n.failed(ctx, err)
	}
	at := dated(got.ObservedAt, n.Now())
	items, dropped := soundNews(got, at)
	if items = capped(items); len(items) == 0 {
		return 0, n.failed(ctx, &source.Error{Reason: "empty", Err: errors.New("no news in the answer")})
	}
	interval := max(n.Interval, n.Source.Interval())
	keepErr := n.keep(ctx, items)
	shown, err := n.store.Shown(ctx, n.DB.Reader, slices.Concat(items, n.carried(items, at)))
	if err != nil {
		return 0, n.failed(ctx, errors.Join(keepErr, err))
	}
	shown = news.RoundRobin(shown)
	err = errors.Join(keepErr, n.Replicator.Publish(ctx, signal.Reading[news.Item]{
		Records: shown, AsOf: at, Source: got.Source, Sample: items[0].Sample, Interval: interval,
	}))
	if err != nil {
		return 0, n.failed(ctx, err)
	}
	return interval, recordSuccess(ctx, n.DB, FeedState{
		Feed: n.Replicator.Feed().Name(), Source: got.Source, Count: len(shown), Dropped: dropped, SucceededAt: n.Now(),
	}, got.Partial, got.Fallback)
}

// DropErased publishes the snapshot again without the items that were erased since it was taken, if there are any. Call
// it after an erasure, because no tick replaces the snapshot while the source fails.
func (n *News) DropErased(ctx context.Context) error {
	if _, err := n.Replicator.Refresh(ctx); err != nil {
		return err
	}
	reading := n.Replicator.Feed().Current().Reading
	shown, err := n.store.Shown(ctx, n.DB.Reader, reading.Records)
	if err != nil || len(shown) == len(reading.Records) {
		return err
	}
	reading.Records = shown
	reading.AsOf = reading.AsOf.Add(time.Microsecond) // nodes replace a snapshot only by a later one
	return n.Replicator.Publish(ctx, reading)
}

// keep stores the items and records their reading in the archive.
func (n *News) keep(ctx context.Context, items []news.Item) error {
	return storeNews(ctx, n.DB, n.Archive, items, func(ctx context.Context, tx bun.IDB, batch []news.Item) error {
		return n.store.ObserveAt(ctx, tx, batch, n.Now())
	})
}

// storeNews passes the items in batches to each of writes, and appends each batch to the archive if there is one. One
// transaction stores one batch, because other writers wait for it on SQLite. If one fails, the batches before it stay.
func storeNews(
	ctx context.Context, db *database.DB, to *archive.Recorder, items []news.Item, writes ...func(context.Context, bun.IDB, []news.Item) error,
) error {
	for batch := range slices.Chunk(items, itemsPerBatch) {
		archived := func() {}
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			for _, store := range writes {
				if err := store(ctx, tx, batch); err != nil {
					return err
				}
			}
			if to == nil {
				return nil
			}
			archived, err = to.News(ctx, tx, batch)
			return err
		})
		if err != nil {
			return err
		}
		archived()
	}
	return nil
}

// Planned stores when the next tick is due. It is for worker.Job.
func (n *News) Planned(ctx context.Context, at time.Time) {
	if err := recordPlan(ctx, n.DB, n.Replicator.Feed().Name(), at); err != nil {
		n.Log.Warn("time of the next tick not stored", "feed", n.Replicator.Feed().Name(), "error", err)
	}
}

// carried returns the snapshot's items of communities that a reading leaves out, unless they are too old. It
// leaves out samples, because live news replaces all of them.
func (n *News) carried(items []news.Item, at time.Time) []news.Item {
	read := map[string]bool{}
	for _, item := range items {
		read[item.Community] = true
	}
	var out []news.Item
	for _, item := range n.Replicator.Feed().Current().Records {
		if !read[item.Community] && !item.Sample && at.Sub(item.ObservedAt) <= carriedFor {
			out = append(out, item)
		}
	}
	return out
}

func capped(items []news.Item) []news.Item {
	counts := map[string]int{}
	out := items[:0]
	for _, item := range items {
		if counts[item.Community]++; counts[item.Community] <= perCommunity {
			out = append(out, item)
		}
	}
	return out
}

func (n *News) failed(ctx context.Context, cause error) error {
	return failed(ctx, n.DB, n.Replicator.Feed().Name(), n.Now(), cause)
}
