// Package cache is what nodes share for speed and may lose at any time: Redis, or
// the memory of this process. It is never the source of truth, and its failing
// never takes an endpoint down.
package cache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
	storage "github.com/gofiber/storage/redis/v3"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Kind names where the cache lives.
type Kind string

// The two kinds.
const (
	Redis  Kind = "redis"  // shared by all nodes
	Memory Kind = "memory" // of this process only
)

// keyPrefix sets our keys apart from those of other services in one Redis.
const keyPrefix = "pulsecast:"

// Cache is an open cache.
type Cache struct {
	// Storage holds small values with an expiry, for all nodes; nil if Kind is Memory,
	// since one process has nothing to share. Its Reset is refused.
	Storage fiber.Storage
	Kind    Kind
	client  redis.UniversalClient
}

// Open prepares the Redis at a redis://, rediss:// or unix:// address; with an empty
// one there is nothing to share. It does not connect: a Redis that is down is
// used as soon as it is up. Several "addr" parameters make it a cluster, one
// "master_name" a set of sentinels.
func Open(redisURL string) (*Cache, error) { return OpenPrefixed(redisURL, keyPrefix) }

// OpenPrefixed is Open with another prefix for the keys.
func OpenPrefixed(redisURL, prefix string) (*Cache, error) {
	if redisURL == "" {
		return &Cache{Kind: Memory}, nil
	}
	options, err := parse(redisURL)
	if err != nil {
		return nil, err
	}
	client := redis.NewUniversalClient(options)
	return &Cache{Storage: prefixed{storage.NewFromConnection(client), prefix}, Kind: Redis, client: client}, nil
}

// parse never quotes the address: it may hold a password.
func parse(address string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("REDIS_URL: not a valid address")
	}
	query := u.Query()
	more, master := query["addr"], query.Get("master_name")
	query.Del("addr")
	query.Del("master_name")
	u.RawQuery = query.Encode()
	one, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, errors.New("REDIS_URL: must be redis://[user:password@]host:port[/db], rediss://… or unix://path")
	}
	return &redis.UniversalOptions{
		Addrs: append([]string{one.Addr}, more...), MasterName: master,
		Username: one.Username, Password: one.Password, DB: one.DB, TLSConfig: one.TLSConfig,
		// One quick attempt: a request never waits long for a cache.
		DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
		PoolTimeout: 500 * time.Millisecond, DialerRetries: 1, MaxRetries: -1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}, nil
}

// Redis is the client, for atomic limits and publish-subscribe; nil in memory.
func (c *Cache) Redis() redis.UniversalClient { return c.client }

// Ping tells whether the cache answers.
func (c *Cache) Ping(ctx context.Context) error {
	if c.client == nil {
		return nil
	}
	if err := c.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// Close closes the connections.
func (c *Cache) Close() error {
	if c.Storage == nil {
		return nil
	}
	return c.Storage.Close()
}

// prefixed puts a prefix before every key.
type prefixed struct {
	*storage.Storage
	prefix string
}

func (p prefixed) Get(key string) ([]byte, error) { return p.Storage.Get(p.prefix + key) }

func (p prefixed) Set(key string, value []byte, expiry time.Duration) error {
	return p.Storage.Set(p.prefix+key, value, expiry)
}

func (p prefixed) Delete(key string) error { return p.Storage.Delete(p.prefix + key) }

// Reset would empty the whole Redis, of other services too.
func (p prefixed) Reset() error { return errors.New("cache: Reset is refused on a shared Redis") }
