package httpserver

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
)

// strangerLimits bound what one person can do with many agents. They limit the registrations from an address
// and in the whole service, and the reads and publications of all keys of an address or an owner.
type strangerLimits struct {
	registrations, ceiling, sharedReads, sharedWrites class
}

func newStrangerLimits(cfg *config.Config) strangerLimits {
	return strangerLimits{
		registrations: newClass("registrations", "new agents", ofAddress, cfg.RegistrationRate),
		ceiling:       newClass("all-registrations", "new agents", ofAll, cfg.RegistrationCeiling),
		sharedReads:   newClass("shared-reads", "reads", ofKeys, cfg.RateLimitReadsAddress),
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
