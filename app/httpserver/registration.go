package httpserver

import (
	"context"
	"crypto/sha256"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
)

// strangerLimits bound what one person can do with many agents. They limit the registrations from an address
// and in the whole service, and the publications of all keys of an address or an owner.
type strangerLimits struct {
	registrations, ceiling, sharedWrites class
}

func newStrangerLimits(cfg *config.Config) strangerLimits {
	return strangerLimits{
		registrations: newClass("registrations", "new agents", ofAddress, cfg.RegistrationRate),
		ceiling:       newClass("all-registrations", "new agents", ofAll, cfg.RegistrationCeiling),
		sharedWrites:  newClass("shared-writes", "publications", ofKeys, cfg.RateLimitWritesAddress),
	}
}

// Owned is a Principal with a known owner.
type Owned interface {
	// OwnerID returns the provider's name of the owner, or "" if it isn't known.
	OwnerID() string
}

// AdmitAgent returns a function that counts a registration against the request's address and the whole
// service. Call the function once all other checks of the registration have passed. It returns the 429 to
// send, or nil.
func (l *Limits) AdmitAgent(c *fiber.Ctx) func(context.Context) error {
	return func(ctx context.Context) error {
		own, all := &l.strangers.registrations, &l.strangers.ceiling
		tightest := announcement{}
		if !own.rate.Off() {
			v := l.take(ctx, own, addrKey(ClientAddr(c)), 1)
			tightest.add(own, v)
			if !v.ok {
				tightest.announce(c)
				return own.refusalWith(v, "Wait %d s, or use the key of an agent that you have.")
			}
		}
		if !all.rate.Off() {
			v := l.take(ctx, all, bucketKey{kind: 's'}, 1)
			tightest.add(all, v)
			if !v.ok {
				tightest.announce(c)
				return all.refusalWith(v, "Wait %d s and try again; nothing is wrong with your request.")
			}
		}
		tightest.announce(c)
		return nil
	}
}

// countWrites counts n publications against the key, then against the address and the owner, and announces
// the limit with the least left. It returns the 429 to send, or nil.
func (l *Limits) countWrites(c *fiber.Ctx, n int, refusal func(cl *class, v verdict) error) error {
	tightest := announcement{}
	for _, w := range l.writers(c) {
		v := l.take(c.UserContext(), w.class, w.key, n)
		tightest.add(w.class, v)
		if !v.ok {
			tightest.announce(c)
			return refusal(w.class, v)
		}
	}
	tightest.announce(c)
	return nil
}

// writer is a caller that a publication counts against, with its limit.
type writer struct {
	class *class
	key   bucketKey
}

// writers returns the callers that the publications of a request count against. Without a key that is only
// the address, under the limit of a key.
func (l *Limits) writers(c *fiber.Ctx) []writer {
	var list []writer
	if !l.writes.rate.Off() {
		list = append(list, writer{&l.writes, counted(c)})
	}
	shared, p := &l.strangers.sharedWrites, PrincipalOf(c)
	if shared.rate.Off() || p == nil {
		return list
	}
	list = append(list, writer{shared, addrKey(ClientAddr(c))})
	if owned, ok := p.(Owned); ok && owned.OwnerID() != "" {
		sum := sha256.Sum256([]byte(owned.OwnerID()))
		list = append(list, writer{shared, bucketKey{'o', [16]byte(sum[:16])}})
	}
	return list
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
