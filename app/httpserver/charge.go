package httpserver

import (
	"context"
	"crypto/sha256"
	"net/netip"

	"github.com/gofiber/fiber/v2"
)

// charge is what a request costs one of the callers that it counts against.
type charge struct {
	class *class
	key   bucketKey
	n     int
}

// charges returns the charges of a request: own to its key, shared to its address and its owner, if that is known, and
// shared.block to its /48. Without a key it is own to its address.
func charges(c *fiber.Ctx, own, shared *class, n int) []charge {
	return chargesOf(PrincipalOf(c), ClientAddr(c), own, shared, n)
}

// chargesOf is charges for a request of p from an address. p is nil without a key.
func chargesOf(p Principal, addr netip.Addr, own, shared *class, n int) []charge {
	list := make([]charge, 0, 4)
	if !own.rate.Off() {
		list = append(list, charge{own, callerKey(p, addr), n})
	}
	if shared.rate.Off() {
		return list
	}
	for _, key := range sharersOf(p, addr) {
		list = append(list, charge{shared, key, n})
	}
	if key, ok := blockKey(addr); ok && p != nil && shared.block != nil {
		list = append(list, charge{shared.block, key, n})
	}
	return list
}

// addressCharges returns the charges for one registration, report or app: one to the address, against own, and one to
// its /48, against block.
func addressCharges(addr netip.Addr, own, block *class) (list []charge) {
	if own.rate.Off() {
		return nil
	}
	list = []charge{{own, addrKey(addr), 1}}
	if key, ok := blockKey(addr); ok {
		list = append(list, charge{block, key, 1})
	}
	return list
}

// sharersOf returns the callers that share their allowance with other keys: the address of a request with a key, and
// the owner of the key if that is known. Without a key there are none.
func sharersOf(p Principal, addr netip.Addr) []bucketKey {
	if p == nil {
		return nil
	}
	list := append(make([]bucketKey, 0, 2), addrKey(addr))
	if owned, ok := p.(Owned); ok && owned.OwnerID() != "" {
		sum := sha256.Sum256([]byte(owned.OwnerID()))
		list = append(list, bucketKey{'o', [16]byte(sum[:16])})
	}
	return list
}

// placeSharers returns the callers that share places with the request: its sharers, and the /48 of an IPv6 address.
func placeSharers(c *fiber.Ctx) []bucketKey {
	return appendBlock(sharersOf(PrincipalOf(c), ClientAddr(c)), ClientAddr(c))
}

func appendBlock(list []bucketKey, addr netip.Addr) []bucketKey {
	if block, ok := blockKey(addr); ok {
		list = append(list, block)
	}
	return list
}

// count is takeAll for a request, and announces the limit. v is the verdict of the exceeded limit.
func (l *Limits) count(c *fiber.Ctx, list []charge) (exceeded *class, v verdict) {
	exceeded, tightest := l.takeAll(c.UserContext(), list)
	tightest.announce(c)
	return exceeded, tightest.verdict
}

// uncount is giveBackAll for a request, and announces the limit.
func (l *Limits) uncount(c *fiber.Ctx, list []charge) {
	tightest := l.giveBackAll(c.UserContext(), list)
	tightest.announce(c)
}

// takeAll counts all charges, and returns the limit to announce. If a limit has too little left, takeAll counts none,
// and exceeded is that limit.
func (l *Limits) takeAll(ctx context.Context, list []charge) (exceeded *class, tightest announcement) {
	for i, ch := range list {
		v := l.take(ctx, ch.class, ch.key, ch.n)
		if tightest.add(ch.class, v); !v.ok {
			l.giveBackAll(ctx, list[:i])
			return ch.class, tightest
		}
	}
	return nil, tightest
}

// giveBackAll gives back charges that were counted, and returns the limit to announce.
func (l *Limits) giveBackAll(ctx context.Context, list []charge) (tightest announcement) {
	for _, ch := range list {
		tightest.add(ch.class, l.giveBack(ctx, ch.class, ch.key, ch.n))
	}
	return tightest
}

// announcement is the limit to announce: the refused one, else the one with the least left.
type announcement struct {
	class   *class
	verdict verdict
}

func (a *announcement) add(cl *class, v verdict) {
	if a.class == nil || !v.ok || v.remaining < a.verdict.remaining {
		a.class, a.verdict = cl, v
	}
}

func (a *announcement) announce(c *fiber.Ctx) {
	if a.class != nil {
		a.class.announce(c, a.verdict)
	}
}
