package httpserver

import (
	"encoding/hex"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/config"
)

// bucketKey identifies what requests are counted against: an agent, an address, an owner, a /48 or the whole
// service. An IPv6 address is counted by its /64, since one client has at least that many addresses.
type bucketKey struct {
	kind byte // 'a' agent, 'b' /48, 'i' address, 'o' owner, 's' service
	who  [16]byte
}

func agentKey(id uuid.UUID) bucketKey { return bucketKey{'a', id} }

func (k bucketKey) isAgent() bool { return k.kind == 'a' }

func addrKey(addr netip.Addr) bucketKey {
	k := bucketKey{kind: 'i'}
	if addr.IsValid() {
		k.who = addr.As16()
		if addr.Is6() && !addr.Is4In6() {
			clear(k.who[8:])
		}
	}
	return k
}

// BlockShare bounds what all callers share: registrations, streams, downloads and places. All addresses of an IPv6 /48
// together get BlockShare times what one address without a key gets. A home connection often has a /56 or a /48, which
// counts as 256 or 65,536 addresses.
const BlockShare = 4

// blockKey returns the key of the /48 of an IPv6 address. It returns false for other addresses.
func blockKey(addr netip.Addr) (key bucketKey, ok bool) {
	if !addr.Is6() || addr.Is4In6() {
		return bucketKey{}, false
	}
	key = bucketKey{'b', addr.As16()}
	clear(key.who[6:])
	return key, true
}

// blockRate returns the limit of a /48 for a limit of an address.
func blockRate(rate config.Rate) config.Rate {
	rate.N *= BlockShare
	return rate
}

// shares returns how many shares of one caller the callers with this key get together.
func (k bucketKey) shares() int {
	if k.kind == 'b' {
		return BlockShare
	}
	return KeysShare
}

// verdict is the answer of one limit.
type verdict struct {
	ok        bool
	remaining int           // requests that could follow at once
	reset     time.Duration // until the whole quota is available again
	retry     time.Duration // until the next request passes; zero when ok
}

// next returns how long it takes until one more request is possible than now. A quota of N fills evenly: one
// request in every Per/N.
func (v verdict) next(rate config.Rate) time.Duration {
	return max(v.reset-rate.Per+time.Duration(v.remaining+1)*rate.Interval(), 0)
}

const (
	bucketShards = 64
	shardSize    = 1024 // entries; together at most 65,536 clients, about 3 MB
	evictSample  = 8
)

// buckets counts the requests of one class in this process. It uses the algorithm of redis_rate: GCRA, a
// leaky bucket that stores one time per client. Memory is bounded. A full shard drops the least used of a
// few random entries, which gives that client a full quota again.
type buckets struct {
	seed   maphash.Seed
	shards [bucketShards]bucketShard
}

type bucketShard struct {
	mu    sync.Mutex
	spent map[bucketKey]int64 // when the quota is whole again, Unix nanoseconds
}

func newBuckets() *buckets {
	b := &buckets{seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].spent = make(map[bucketKey]int64)
	}
	return b
}

// take counts n requests, or none if fewer than n are left. A negative n uncounts -n requests.
func (b *buckets) take(key bucketKey, rate config.Rate, now int64, n int) verdict {
	shard := &b.shards[maphash.Comparable(b.seed, key)%bucketShards]
	per, interval := int64(rate.Per), int64(rate.Interval())
	shard.mu.Lock()
	defer shard.mu.Unlock()
	whole, known := shard.spent[key]
	whole = max(whole, now)
	after := max(whole+int64(n)*interval, now)
	if wait := after - now - per; wait > 0 {
		left := int((per - (whole - now)) / interval)
		return verdict{remaining: left, reset: time.Duration(whole - now), retry: time.Duration(wait)}
	}
	if !known && len(shard.spent) >= shardSize {
		shard.evict()
	}
	shard.spent[key] = after
	return verdict{ok: true, remaining: int((per - (after - now)) / interval), reset: time.Duration(after - now)}
}

// evict makes room for one entry. Map iteration starts at a random place, so the first few entries are a
// sample.
func (s *bucketShard) evict() {
	var victim bucketKey
	least, seen := int64(math.MaxInt64), 0
	for key, whole := range s.spent {
		if whole < least {
			victim, least = key, whole
		}
		if seen++; seen == evictSample {
			break
		}
	}
	delete(s.spent, victim)
}

// name returns the key in Redis.
func (k bucketKey) name(prefix, class string) string {
	return prefix + class + ":" + string(k.kind) + hex.EncodeToString(k.who[:])
}
