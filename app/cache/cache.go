// Package cache opens the cache that nodes share: Redis, or the memory of the process if there
// is only one node. Its content may be lost at any time. It is never the source of truth, and
// every endpoint works without it.
package cache

import (
	"cmp"
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

// Kind says where the cache is.
type Kind string

// The values of Kind.
const (
	Redis  Kind = "redis"  // shared by all nodes
	Memory Kind = "memory" // of this process only
)

// keyPrefix distinguishes our keys from those of other services in the same Redis, unless Open gets another prefix.
const keyPrefix = "pulsecast:"

// Cache is an open cache.
type Cache struct {
	// Storage holds small values with an expiry for all nodes. It is nil if Kind is Memory, because
	// one process has nothing to share. Its Reset returns an error.
	Storage fiber.Storage
	Kind    Kind
	Prefix  string // of every key in Redis
	client  redis.UniversalClient
}

// Open returns a cache for the Redis at a redis://, rediss:// or unix:// address. With an empty
// address, the cache has the kind Memory. Open doesn't connect, so a Redis that is down is used as
// soon as it is up. Parameters "addr" add the servers of a cluster, and a parameter "master_name"
// makes the servers sentinels. Services that share a Redis need different prefixes for their keys; "" stands for
// "pulsecast:". Open returns an error for a bad address.
func Open(redisURL, prefix string) (*Cache, error) {
	prefix = cmp.Or(prefix, keyPrefix)
	if redisURL == "" {
		return &Cache{Kind: Memory}, nil
	}
	options, err := parse(redisURL)
	if err != nil {
		return nil, err
	}
	client := redis.NewUniversalClient(options)
	return &Cache{Storage: prefixed{storage.NewFromConnection(client), prefix}, Kind: Redis, Prefix: prefix, client: client}, nil
}

// parse returns the client options for an address. Its errors don't quote the address, because it
// may hold a password.
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
		// One attempt with short timeouts, because a request must not wait long for a cache.
		DialTimeout: 500 * time.Millisecond, ReadTimeout: time.Second, WriteTimeout: time.Second,
		PoolTimeout: 500 * time.Millisecond, DialerRetries: 1, MaxRetries: -1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}, nil
}

// Redis returns the client, for atomic limits and publish-subscribe. It is nil if Kind is Memory.
func (c *Cache) Redis() redis.UniversalClient { return c.client }

// Ping returns an error if Redis doesn't answer. It returns nil if Kind is Memory.
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

// prefixed adds a prefix to every key.
type prefixed struct {
	*storage.Storage
	prefix string
}

func (p prefixed) Get(key string) ([]byte, error) { return p.Storage.Get(p.prefix + key) }

func (p prefixed) Set(key string, value []byte, expiry time.Duration) error {
	return p.Storage.Set(p.prefix+key, value, expiry)
}

func (p prefixed) Delete(key string) error { return p.Storage.Delete(p.prefix + key) }

// Reset returns an error, because it would empty the whole Redis, which other services may use.
func (p prefixed) Reset() error { return errors.New("cache: Reset is refused on a shared Redis") }
