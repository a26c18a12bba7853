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
	// contentVersion names the form of a stored snapshot; others are ignored.
	contentVersion = 1
	// maxContent bounds a stored snapshot after it is unpacked.
	maxContent = 64 << 20
	// cachedFor is how long the shared cache keeps a snapshot.
	cachedFor = 24 * time.Hour
	// lookEvery is how often a node looks for newer snapshots of others.
	lookEvery = 2 * time.Second
)

// Exchange carries the snapshots of one feed between nodes and over restarts.
type Exchange[T any] struct {
	feed  *Feed[T]
	db    *database.DB
	cache *cache.Cache
	log   *slog.Logger
}

// NewExchange makes the exchange of a feed.
func NewExchange[T any](feed *Feed[T], db *database.DB, c *cache.Cache, log *slog.Logger) *Exchange[T] {
	return &Exchange[T]{feed: feed, db: db, cache: c, log: log}
}

// Feed is the feed it serves.
func (x *Exchange[T]) Feed() *Feed[T] { return x.feed }

// content is a reading as it is stored.
type content[T any] struct {
	Version int
	Reading[T]
}

// row is the last good reading of a feed.
type row struct {
	bun.BaseModel `bun:"table:snapshots,alias:s"`

	Feed    string `bun:",pk"`
	TakenAt time.Time
	Content []byte
}

// Publish makes a reading current here, keeps it in the database and offers it to
// the other nodes. This node serves it also when the error is not nil; the cache
// failing is only logged, since the others look into the database too.
func (x *Exchange[T]) Publish(ctx context.Context, reading Reading[T]) error {
	reading.AsOf = database.Now(reading.AsOf)
	x.feed.Publish(reading)
	packed, err := pack(reading)
	if err != nil {
		return fmt.Errorf("pack snapshot of %s: %w", x.feed.Name(), err)
	}
	_, err = x.db.NewInsert().Model(&row{Feed: x.feed.Name(), TakenAt: reading.AsOf, Content: packed}).
		On("CONFLICT (feed) DO UPDATE").Set("taken_at = EXCLUDED.taken_at").Set("content = EXCLUDED.content").
		Where("s.taken_at < EXCLUDED.taken_at").Exec(ctx)
	if err != nil {
		err = fmt.Errorf("keep snapshot of %s: %w", x.feed.Name(), err)
	}
	x.offer(reading.AsOf, packed)
	return err
}

// offer puts the content into the shared cache before the mark that announces it.
func (x *Exchange[T]) offer(at time.Time, packed []byte) {
	if x.cache.Kind != cache.Redis {
		return
	}
	err := x.cache.Set(x.key("content"), packed, cachedFor)
	if err == nil {
		err = x.cache.Set(x.key("at"), []byte(at.Format(time.RFC3339Nano)), cachedFor)
	}
	if err != nil {
		x.log.Warn("snapshot not shared through the cache", "feed", x.feed.Name(), "error", err)
	}
}

// Restore takes up the last good reading of any node, so that a start without any
// upstream serves at once. It tells whether there was one.
func (x *Exchange[T]) Restore(ctx context.Context) (bool, error) { return x.fromDatabase(ctx) }

// Look takes up a newer reading of another node, if there is one.
func (x *Exchange[T]) Look(ctx context.Context) (bool, error) {
	if x.cache.Kind == cache.Redis {
		found, err := x.fromCache()
		if found {
			return true, nil
		}
		if err != nil {
			x.log.Debug("shared cache not read", "feed", x.feed.Name(), "error", err)
		}
	}
	return x.fromDatabase(ctx)
}

// Follow looks for newer readings every few seconds until ctx ends. It logs when the
// database stops answering and when it answers again.
func (x *Exchange[T]) Follow(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := x.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failing {
			failing = err != nil
			if failing {
				x.log.Warn("snapshots of other nodes cannot be read", "feed", x.feed.Name(), "error", err)
			} else {
				x.log.Info("snapshots of other nodes are read again", "feed", x.feed.Name())
			}
		}
	}
}

func (x *Exchange[T]) fromCache() (bool, error) {
	mark, err := x.cache.Get(x.key("at"))
	if err != nil || mark == nil {
		return false, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(mark))
	if err != nil {
		return false, fmt.Errorf("read mark: %w", err)
	}
	if !at.After(x.feed.Current().AsOf) {
		return false, nil
	}
	packed, err := x.cache.Get(x.key("content"))
	if err != nil || packed == nil {
		return false, err
	}
	return x.take(packed)
}

func (x *Exchange[T]) fromDatabase(ctx context.Context) (bool, error) {
	var r row
	err := x.db.Reader.NewSelect().Model(&r).
		Where("s.feed = ?", x.feed.Name()).Where("s.taken_at > ?", x.feed.Current().AsOf).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read snapshot of %s: %w", x.feed.Name(), err)
	}
	return x.take(r.Content)
}

func (x *Exchange[T]) take(packed []byte) (bool, error) {
	reading, err := unpack[T](packed)
	if err != nil {
		return false, fmt.Errorf("unpack snapshot of %s: %w", x.feed.Name(), err)
	}
	return x.feed.Publish(reading), nil
}

func (x *Exchange[T]) key(part string) string { return "snapshot:" + x.feed.Name() + ":" + part }

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
