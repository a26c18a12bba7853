package cache_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range cachetest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := cachetest.Open(t, kind)
			shared := kind == cache.Redis
			if c.Kind != kind || (c.Redis() != nil) != shared || (c.Storage != nil) != shared {
				t.Fatalf("kind %s, client %v, storage %v", c.Kind, c.Redis(), c.Storage)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestStorage(t *testing.T) {
	t.Parallel()
	c := cachetest.Open(t, cache.Redis)
	if err := c.Storage.Set("key", []byte("value"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Storage.Get("key"); string(got) != "value" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := c.Storage.Get("other"); got != nil || err != nil {
		t.Errorf("unknown key: %q, %v", got, err)
	}
	if err := c.Storage.Delete("key"); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Storage.Get("key"); got != nil || err != nil {
		t.Errorf("deleted: %q, %v", got, err)
	}
	if err := c.Storage.Reset(); err == nil {
		t.Error("Reset returned no error on a shared Redis")
	}
}

func TestKeysHaveThePrefix(t *testing.T) {
	t.Parallel()
	c := cachetest.Open(t, cache.Redis)
	if err := c.Storage.Set("key", []byte("v"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Redis().Exists(t.Context(), "key").Result(); n != 0 || err != nil {
		t.Errorf("the key without the prefix exists: %d, %v", n, err)
	}
}

func TestUnreachableRedisFails(t *testing.T) {
	t.Parallel()
	c, err := cache.Open("unix://"+filepath.Join(t.TempDir(), "none.sock"), "")
	if err != nil {
		t.Fatal("Open failed because Redis is down:", err)
	}
	defer c.Close()
	if _, err := c.Storage.Get("key"); err == nil {
		t.Error("Get returned no error")
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("Ping returned no error")
	}
}

func TestBadAddressIsNotQuoted(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://user:hunter2@host", "redis://user:hunter2@host:1/x", "redis://:hunter2@%zz"} {
		if _, err := cache.Open(address, ""); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
