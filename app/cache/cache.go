// Package cache holds what nodes share for speed and may lose at any time, in Redis. It
// is never the source of truth, and its failure never takes an endpoint down. Without
// Redis nothing is shared: the cache is empty and every node uses its own memory.
package cache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	storage "github.com/gofiber/storage/redis/v3"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Kind names where the cache lives.
type Kind string

// The two kinds.
const (
	Redis  Kind = "redis"  // shared by all nodes
	Memory Kind = "memory" // nothing is shared
)

// keyPrefix sets our keys apart from those of other services in one Redis.
const keyPrefix = "pulsecast:"

// Cache is an open cache.
type Cache struct {
	Kind    Kind
	prefix  string
	storage *storage.Storage      // nil without Redis
	client  redis.UniversalClient // nil without Redis
}

// Open prepares the Redis at a redis://, rediss:// or unix:// address. With an
// empty address nothing is shared. It doesn't connect: a Redis that is down is used as
// soon as it is up. Several "addr" parameters make it a cluster, one
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
	return &Cache{Kind: Redis, prefix: prefix, storage: storage.NewFromConnection(client), client: client}, nil
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

// Redis returns the client, for atomic limits; nil without Redis.
func (c *Cache) Redis() redis.UniversalClient { return c.client }

// Ping returns an error if Redis doesn't answer.
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
	if c.storage == nil {
		return nil
	}
	return c.storage.Close()
}

// Get returns the value of a key, or nil if there is none.
func (c *Cache) Get(key string) ([]byte, error) {
	if c.storage == nil {
		return nil, nil
	}
	return c.storage.Get(c.prefix + key)
}

// Set shares a value for a while; without Redis it does nothing.
func (c *Cache) Set(key string, value []byte, expiry time.Duration) error {
	if c.storage == nil {
		return nil
	}
	return c.storage.Set(c.prefix+key, value, expiry)
}
