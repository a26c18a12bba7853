// Package cachetest opens caches of each kind for tests.
package cachetest

import (
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/cache"
)

// Kinds lists the kinds of caches that tests run on.
var Kinds = []cache.Kind{cache.Memory, cache.Redis}

// Open returns an empty cache of a kind, which is closed when the test ends. Redis needs the
// variable TEST_REDIS_URL, which "make test" sets. Each cache uses another prefix for its keys.
func Open(t testing.TB, kind cache.Kind) *cache.Cache {
	t.Helper()
	var address string
	if kind == cache.Redis {
		if address = os.Getenv("TEST_REDIS_URL"); address == "" {
			t.Skip("TEST_REDIS_URL is not set: run the suite by make test, which starts a private Redis")
		}
	}
	c, err := cache.Open(address, "test-"+uuid.NewString()+":")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
