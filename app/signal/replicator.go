package signal

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// contentVersion is the version of the format of a stored snapshot. Other versions are ignored.
	contentVersion = 1
	// maxContent is the largest size of an unpacked snapshot, in bytes.
	maxContent = 64 << 20
	// cachedFor is how long the shared cache keeps a snapshot.
	cachedFor = 24 * time.Hour
	// lookEvery is how often a node looks for newer snapshots from other nodes.
	lookEvery = 2 * time.Second
)

// Replicator carries the snapshots of one feed between nodes, and keeps them over restarts.
type Replicator[T any] struct {
	feed  *Feed[T]
	db    *database.DB
	cache *cache.Cache
	log   *slog.Logger
}

// NewReplicator returns the replicator of a feed.
func NewReplicator[T any](feed *Feed[T], db *database.DB, c *cache.Cache, log *slog.Logger) *Replicator[T] {
	return &Replicator[T]{feed: feed, db: db, cache: c, log: log}
}

// Feed returns the feed it replicates.
func (r *Replicator[T]) Feed() *Feed[T] { return r.feed }

// content is the stored form of a reading.
type content[T any] struct {
	Version int
	Reading[T]
}

// row holds the last good reading of a feed.
type row struct {
	bun.BaseModel `bun:"table:snapshots,alias:s"`

	Feed    string `bun:",pk"`
	TakenAt time.Time
	Content []byte
}

// Publish makes a reading current on this node, stores it in the database and offers it to the other nodes.
// This node serves the reading even if Publish returns an error. A failure of the cache is only logged, because
// the other nodes also look in the database.
func (r *Replicator[T]) Publish(ctx context.Context, reading Reading[T]) error {
	reading.AsOf = database.Stored(reading.AsOf)
	r.feed.Publish(reading)
	packed, err := pack(reading)
	if err != nil {
		return fmt.Errorf("pack snapshot of %s: %w", r.feed.Name(), err)
	}
	_, err = r.db.NewInsert().Model(&row{Feed: r.feed.Name(), TakenAt: reading.AsOf, Content: packed}).
		On("CONFLICT (feed) DO UPDATE").Set("taken_at = EXCLUDED.taken_at").Set("content = EXCLUDED.content").
		Where("s.taken_at < EXCLUDED.taken_at OR s.taken_at > ?", database.LatestPlausible(r.feed.now())).Exec(ctx)
	if err != nil {
		err = fmt.Errorf("store snapshot of %s: %w", r.feed.Name(), err)
	}
	r.offer(reading.AsOf, packed)
	return err
}

// offer writes the content to the shared cache, and then the mark that announces it.
func (r *Replicator[T]) offer(at time.Time, packed []byte) {
	if r.cache.Kind != cache.Redis {
		return
	}
	err := r.cache.Storage.Set(r.key("content"), packed, cachedFor)
	if err == nil {
		err = r.cache.Storage.Set(r.key("at"), []byte(at.Format(time.RFC3339Nano)), cachedFor)
	}
	if err != nil {
		r.log.Warn("snapshot not shared through the cache", "feed", r.feed.Name(), "error", err)
	}
}

// Drop deletes the last good reading of each feed from a database.
func Drop(ctx context.Context, db bun.IDB) error {
	if _, err := db.NewDelete().Model((*row)(nil)).Where("TRUE").Exec(ctx); err != nil {
		return fmt.Errorf("drop snapshots: %w", err)
	}
	return nil
}

// errUnusable is the error for a snapshot that can't be unpacked.
var errUnusable = errors.New("unusable snapshot")

// Restore loads the last good reading of any node, so that a node can serve at once after a start. It reports
// whether there was one. It logs a snapshot that can't be unpacked and goes on without it, because the next reading
// replaces it.
func (r *Replicator[T]) Restore(ctx context.Context) (bool, error) {
	found, err := r.fromDatabase(ctx)
	if errors.Is(err, errUnusable) {
		r.log.Error("the start goes on without the last reading", "feed", r.feed.Name(), "error", err)
		return false, nil
	}
	return found, err
}

// Refresh loads a newer reading of another node, or any other if the current one is from a clock that was ahead. It
// reports whether there was one.
func (r *Replicator[T]) Refresh(ctx context.Context) (bool, error) {
	if r.cache.Kind == cache.Redis {
		found, err := r.fromCache()
		if found {
			return true, nil
		}
		if err != nil {
			r.log.Debug("shared cache not read", "feed", r.feed.Name(), "error", err)
		}
	}
	return r.fromDatabase(ctx)
}

// Follow looks for newer readings every few seconds until ctx ends. It logs when the database stops answering,
// and when it answers again.
func (r *Replicator[T]) Follow(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := r.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failing {
			failing = err != nil
			if failing {
				r.log.Warn("snapshots of other nodes cannot be read", "feed", r.feed.Name(), "error", err)
			} else {
				r.log.Info("snapshots of other nodes are read again", "feed", r.feed.Name())
			}
		}
	}
}

func (r *Replicator[T]) fromCache() (bool, error) {
	mark, err := r.cache.Storage.Get(r.key("at"))
	if err != nil || mark == nil {
		return false, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(mark))
	if err != nil {
		return false, fmt.Errorf("read mark: %w", err)
	}
	if !r.feed.Current().givesWay(at, r.feed.now()) {
		return false, nil
	}
	packed, err := r.cache.Storage.Get(r.key("content"))
	if err != nil || packed == nil {
		return false, err
	}
	return r.take(packed)
}

func (r *Replicator[T]) fromDatabase(ctx context.Context) (bool, error) {
	var kept row
	current, replacing := r.feed.Current(), "s.taken_at > ?"
	if current.ahead(r.feed.now()) {
		replacing = "s.taken_at <> ?"
	}
	err := r.db.Reader.NewSelect().Model(&kept).
		Where("s.feed = ?", r.feed.Name()).Where(replacing, current.AsOf).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read snapshot of %s: %w", r.feed.Name(), err)
	}
	return r.take(kept.Content)
}

func (r *Replicator[T]) take(packed []byte) (bool, error) {
	reading, err := unpack[T](packed)
	if err != nil {
		return false, fmt.Errorf("%w of %s: %w", errUnusable, r.feed.Name(), err)
	}
	return r.feed.Publish(reading), nil
}

func (r *Replicator[T]) key(part string) string { return "snapshot:" + r.feed.Name() + ":" + part }

func pack[T any](reading Reading[T]) ([]byte, error) {
	return packContent(content[T]{contentVersion, reading})
}

func packContent[T any](c content[T]) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(c); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unpack[T any](packed []byte) (Reading[T], error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Reading[T]{}, err
	}
	var c content[T]
	if err := json.NewDecoder(io.LimitReader(r, maxContent)).Decode(&c); err != nil {
		return Reading[T]{}, err
	}
	if c.Version != contentVersion {
		return Reading[T]{}, fmt.Errorf("version %d, want %d", c.Version, contentVersion)
	}
	return c.Reading, nil
}
