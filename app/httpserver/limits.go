package httpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/gofiber/fiber/v2"
	"github.com/redis/go-redis/v9"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	redisPatience = 25 * time.Millisecond // for one answer
	redisRest     = time.Second           // without Redis after a failure
	redisWarnings = time.Minute           // between two log lines about a failure
)

// Limits are the rate limits of the service. Snapshot answers are counted in this process. The other classes are
// counted over all nodes if Redis answers, and per process otherwise. Except for failed credentials, their answers
// carry RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, structured fields of RFC 9651).
// Snapshot answers carry these headers only when refused, because they are the same bytes for every caller.
type Limits struct {
	snapshot, reads, writes, failures, reports, clients class
	blockReports, blockClients, blockSignIns            class // of a /48

	strangers strangerLimits

	redis  *redis_rate.Limiter // nil: none
	prefix string              // of the keys in Redis
	// patience bounds one answer of Redis.
	patience time.Duration
	log      *slog.Logger
	now      func() time.Time

	restUntil atomic.Int64 // Unix nanoseconds; 0 while Redis answers
	warnAfter atomic.Int64 // Unix nanoseconds
}

type class struct {
	name   string
	noun   string // what is counted, in the plural
	caller string // who sends what is counted, as in "from this address"
	rate   config.Rate
	policy []byte // value of RateLimit-Policy
	local  *buckets
	block  *class // what all addresses of a /48 share, if that is limited beside the address
}

func newLimits(cfg *config.Config, client redis.UniversalClient, log *slog.Logger, now func() time.Time) *Limits {
	l := &Limits{
		snapshot: newClass("snapshot", "requests for signals, documents and files", ofAddress, cfg.RateLimitSnapshot),
		reads:    newClass("reads", "units of reads", ofKey, cfg.RateLimitReads),
		writes:   newClass("writes", "publications and other writes", ofKey, cfg.RateLimitWrites),
		failures: newClass("failures", "failed credentials", ofAddress, cfg.RateLimitFailures),
		reports:  newClass("reports", "reports", ofAddress, reportsOf(cfg)),
		clients:  newClass("clients", "registered apps", ofAddress, clientsOf(cfg)),

		blockReports: newClass("block-reports", "reports", ofBlock, blockRate(reportsOf(cfg))),
		blockClients: newClass("block-clients", "registered apps", ofBlock, blockRate(clientsOf(cfg))),
		blockSignIns: newClass("block-sign-ins", "visits to the sign-in of apps", ofBlock, blockRate(cfg.RateLimitWrites)),

		strangers: newStrangerLimits(cfg),
		patience:  redisPatience,
		log:       log,
		now:       now,
	}
	if client != nil {
		l.redis = redis_rate.NewLimiter(client)
	}
	return l
}

// reportsOf returns the limit on reports from one address. It is low, because a person reports few predictions.
// It is off if writes are not limited.
func reportsOf(cfg *config.Config) config.Rate {
	if cfg.RateLimitWrites.Off() {
		return config.Rate{}
	}
	return config.Rate{N: 6, Per: time.Hour}
}

// clientsOf returns the limit on registrations of apps from one address. Even a host that signs many people in
// registers each app only once. The limit is off if writes are not limited.
func clientsOf(cfg *config.Config) config.Rate {
	if cfg.RateLimitWrites.Off() {
		return config.Rate{}
	}
	return config.Rate{N: 60, Per: time.Hour}
}

// The callers that limits count.
const (
	ofAddress = "from this address"
	ofBlock   = "from all addresses of this IPv6 /48 together"
	ofKey     = "from this key, or this address if no key was sent"
	ofKeys    = "from all keys of this address or owner together"
	ofAll     = "in the whole service"
)

func newClass(name, noun, caller string, rate config.Rate) class {
	c := class{name: name, noun: noun, caller: caller, rate: rate}
	if !rate.Off() {
		c.policy = fmt.Appendf(nil, "%q;q=%d;w=%d", name, rate.N, int(rate.Per.Seconds()))
		c.local = newBuckets()
	}
	return c
}

// Snapshot returns middleware that limits the answers served from memory, per address and node.
func (l *Limits) Snapshot() fiber.Handler {
	if l.snapshot.rate.Off() {
		return pass
	}
	return func(c *fiber.Ctx) error {
		if refusal := l.takeSnapshot(c); refusal != nil {
			return refusal
		}
		return c.Next()
	}
}

// takeSnapshot counts a request like Snapshot. It returns the 429 to send, or nil. It also counts
// preflights.
func (l *Limits) takeSnapshot(c *fiber.Ctx) error { return l.takeSnapshots(c, 1, slower) }

// takeFiltered counts a request that takeSnapshot has counted as one again, so that it counts as Filtered requests. Like
// a read, it is never counted as more than the whole of the limit.
func (l *Limits) takeFiltered(c *fiber.Ctx) error {
	return l.takeSnapshots(c, l.moreForFiltered(), fmt.Sprintf(
		"A list with a filter counts as %d, unless the same one was sent since the last reading. ", Filtered)+
		"Wait %d s, or ask for it without compression.")
}

// uncountFiltered takes back what takeFiltered has counted.
func (l *Limits) uncountFiltered(c *fiber.Ctx) {
	if !l.snapshot.rate.Off() {
		l.snapshot.local.take(addrKey(ClientAddr(c)), l.snapshot.rate, l.now().UnixNano(), -l.moreForFiltered())
	}
}

func (l *Limits) moreForFiltered() int { return min(int(Filtered), l.snapshot.rate.N) - 1 }

// takeSnapshots counts n requests for answers from memory. advice is that of refusalWith.
func (l *Limits) takeSnapshots(c *fiber.Ctx, n int, advice string) error {
	if l.snapshot.rate.Off() || n <= 0 {
		return nil
	}
	v := l.snapshot.local.take(addrKey(ClientAddr(c)), l.snapshot.rate, l.now().UnixNano(), n)
	if v.ok {
		return nil
	}
	l.snapshot.announce(c, v)
	return l.snapshot.refusalWith(v, advice)
}

// allowSnapshot counts a request like Snapshot and reports whether it is allowed.
func (l *Limits) allowSnapshot(addr netip.Addr) bool {
	return l.snapshot.rate.Off() || l.snapshot.local.take(addrKey(addr), l.snapshot.rate, l.now().UnixNano(), 1).ok
}

// Reads returns middleware that limits reads. It counts per agent if RequireAgent or OptionalAgent ran
// before and found one, else per address. For a request with a key it also counts all keys of the address and,
// if the owner is known, all keys of the owner.
func (l *Limits) Reads() fiber.Handler {
	count := l.limit(&l.reads, &l.strangers.sharedReads)
	return func(c *fiber.Ctx) error {
		of(c.Context()).units = 1
		return count(c)
	}
}

// Writes returns middleware that limits publishing. It counts like Reads.
func (l *Limits) Writes() fiber.Handler { return l.limit(&l.writes, &l.strangers.sharedWrites) }

func (l *Limits) limit(own, shared *class) fiber.Handler {
	if own.rate.Off() && shared.rate.Off() {
		return pass
	}
	return func(c *fiber.Ctx) error {
		if cl, v := l.count(c, charges(c, own, shared, 1)); cl != nil {
			return cl.refusal(v)
		}
		return c.Next()
	}
}

// WriteOf counts a request like Writes, for an agent whose key isn't the bearer of the request. It returns the 429 to
// send, or nil.
func (l *Limits) WriteOf(c *fiber.Ctx, p Principal) error {
	if cl, v := l.count(c, chargesOf(p, ClientAddr(c), &l.writes, &l.strangers.sharedWrites, 1)); cl != nil {
		return cl.refusal(v)
	}
	return nil
}

// Reports returns middleware that limits reports of readers without a key, per address and per /48.
func (l *Limits) Reports() fiber.Handler { return l.guard(&l.reports, &l.blockReports) }

// Clients returns middleware that limits the registration of apps, per address and per /48.
func (l *Limits) Clients() fiber.Handler { return l.guard(&l.clients, &l.blockClients) }

// SignIns returns middleware that limits visits to the sign-in of apps. They count as writes of the address, and also
// per /48, because each may make the service read a document from any host.
func (l *Limits) SignIns() fiber.Handler { return l.guard(&l.writes, &l.blockSignIns) }

// Failure counts a failed credential against an address. It returns the 429 to send if there were too many,
// else nil.
func (l *Limits) Failure(ctx context.Context, addr netip.Addr) error {
	if l.failures.rate.Off() {
		return nil
	}
	if v := l.take(ctx, &l.failures, addrKey(addr), 1); !v.ok {
		return l.failures.refusal(v)
	}
	return nil
}

func pass(c *fiber.Ctx) error { return c.Next() }

func (l *Limits) guard(own, block *class) fiber.Handler {
	if own.rate.Off() {
		return pass
	}
	return func(c *fiber.Ctx) error {
		if cl, v := l.count(c, addressCharges(ClientAddr(c), own, block)); cl != nil {
			return cl.refusal(v)
		}
		return c.Next()
	}
}

// MaxWrites returns how many publications the limits allow at once, or 0 if there is no limit.
func (l *Limits) MaxWrites() int {
	if own, shared := l.writes.rate.N, l.strangers.sharedWrites.rate.N; own == 0 || (shared != 0 && shared < own) {
		return shared
	}
	return l.writes.rate.N
}

// MoreWrites counts n publications of a request beyond the one that Writes has counted. If a limit has
// fewer left, MoreWrites counts none and returns the 429 to send. If keyed is set, the request has an Idempotency-Key,
// and the 429 is for a caller that found no stored request with this key. giveBack uncounts up to n of them, which
// were not stored. Call it at most once.
func (l *Limits) MoreWrites(c *fiber.Ctx, n int, keyed bool) (giveBack func(unstored int), err error) {
	if n <= 0 {
		return func(int) {}, nil
	}
	list := charges(c, &l.writes, &l.strangers.sharedWrites, n)
	cl, v := l.count(c, list)
	if cl == nil {
		return func(unstored int) {
			for i := range list {
				list[i].n = min(unstored, n)
			}
			l.uncount(c, list)
		}, nil
	}
	advice := "Nothing was stored. Send no more than are left, or send the same request again in %d s."
	if keyed { // an earlier request with this key may still be stored, and one under another key would repeat it
		advice = "No request with this Idempotency-Key was stored so far. Send the same request again in %d s, or, if no earlier one is still running, send no more than are left under another key."
	}
	return nil, problem.RateLimited(fmt.Sprintf("%d publications are left of %s, and these are %d. "+advice,
		v.remaining, cl.rate, n+1, max(seconds(v.retry), 1)), v.retry)
}

// counted returns the key that a request counts against: its agent, else its address.
func counted(c *fiber.Ctx) bucketKey { return callerKey(PrincipalOf(c), ClientAddr(c)) }

func callerKey(p Principal, addr netip.Addr) bucketKey {
	if p != nil {
		return agentKey(p.AgentID())
	}
	return addrKey(addr)
}

// take counts n requests, or none if fewer than n are left. It counts in Redis, or in this process if Redis
// is absent or doesn't answer: a limit must never stop the service.
func (l *Limits) take(ctx context.Context, cl *class, key bucketKey, n int) verdict {
	now := l.now().UnixNano()
	if l.redis != nil && l.asksRedis(now) {
		bounded, cancel := context.WithTimeout(ctx, l.patience)
		defer cancel()
		result, err := l.redis.AllowN(bounded, key.name(l.prefix, cl.name), cl.inRedis(), n)
		if err == nil {
			l.restUntil.Store(0)
			v := verdict{
				ok: result.Allowed > 0, remaining: result.Remaining,
				reset: result.ResetAfter, retry: max(result.RetryAfter, 0),
			}
			if !v.ok {
				v.remaining = cl.left(v.reset)
			}
			return v
		}
		if ctx.Err() != nil { // an ended request says nothing about Redis
			return cl.local.take(key, cl.rate, now, n)
		}
		l.restUntil.Store(now + int64(redisRest))
		if due := l.warnAfter.Load(); now >= due && l.warnAfter.CompareAndSwap(due, now+int64(redisWarnings)) {
			l.log.Warn("rate limits: redis does not answer, counting per process", "cause", err)
		}
	}
	return cl.local.take(key, cl.rate, now, n)
}

// giveBack uncounts n requests. They stay counted if Redis has counted them and doesn't answer now.
func (l *Limits) giveBack(ctx context.Context, cl *class, key bucketKey, n int) verdict {
	if l.redis == nil || l.restUntil.Load() != 0 {
		return cl.local.take(key, cl.rate, l.now().UnixNano(), -n)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.patience)
	defer cancel()
	name := key.name(l.prefix, cl.name)
	result, err := l.redis.AllowN(ctx, name, cl.inRedis(), -n)
	if err == nil && result.ResetAfter <= 0 { // Redis keeps its old value if the quota is whole again
		err = l.redis.Reset(ctx, name)
	}
	if err != nil { // the units stay counted
		return cl.local.take(key, cl.rate, l.now().UnixNano(), 0)
	}
	reset := max(result.ResetAfter, 0)
	return verdict{ok: true, remaining: cl.left(reset), reset: reset}
}

// asksRedis reports whether to ask Redis. After a failure, one request at a time tries whether Redis is
// back.
func (l *Limits) asksRedis(now int64) bool {
	until := l.restUntil.Load()
	return until == 0 || now >= until && l.restUntil.CompareAndSwap(until, now+int64(redisRest))
}

// inRedis returns the limit as Redis counts it.
func (cl *class) inRedis() redis_rate.Limit {
	return redis_rate.Limit{Rate: cl.rate.N, Burst: cl.rate.N, Period: cl.rate.Per}
}

// left returns how many requests could follow at once if the whole quota is available again after reset.
func (cl *class) left(reset time.Duration) int {
	return int((cl.rate.Per - reset) / cl.rate.Interval())
}

// announce sets the two header fields of the draft. The parameter t is the number of seconds until one more
// request is possible. Retry-After must not be smaller than t.
func (cl *class) announce(c *fiber.Ctx, v verdict) {
	buf := make([]byte, 0, 48)
	buf = strconv.AppendQuote(buf, cl.name)
	buf = strconv.AppendInt(append(buf, ";r="...), int64(v.remaining), 10)
	buf = strconv.AppendInt(append(buf, ";t="...), int64(seconds(v.next(cl.rate))), 10)
	h := &c.Response().Header
	h.SetCanonical(rateLimitPolicy, cl.policy)
	h.SetCanonical(rateLimit, buf)
}

// slower is the advice of most refusals.
const slower = "Wait %d s, then send them more slowly."

func (cl *class) refusal(v verdict) error { return cl.refusalWith(v, slower) }

// refusalWith is refusal with another advice, which has a verb for the seconds to wait.
func (cl *class) refusalWith(v verdict, advice string) error {
	return problem.RateLimited(fmt.Sprintf("More than %s %s %s. "+advice, cl.rate, cl.noun, cl.caller, max(seconds(v.retry), 1)), v.retry)
}
