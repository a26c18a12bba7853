package cache

import (
	"strings"
	"testing"
)

// FuzzAddress checks that an accepted REDIS_URL names a server, and that the error for a refused
// one doesn't quote the password.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"redis://user:secret@host:6379/1", "unix:///tmp/x.sock?db=2", "rediss://h?addr=b:1&master_name=m", "redis://:secret@[::1", "redis://h/x", "\x00", "unix://"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		o, err := parse(address)
		if err != nil && strings.Contains(address, "secret") && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error for %q quotes the password: %v", address, err)
		}
		if err == nil && len(o.Addrs) == 0 {
			t.Errorf("%q names no server", address)
		}
	})
}
