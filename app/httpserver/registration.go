package httpserver

import (
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
)

// strangerLimits bound what one person can do with many agents. They limit the registrations from an address, from a
// /48 and in the whole service, the reads and writes of all keys of an address or an owner, and the writes of a /48.
type strangerLimits struct {
	registrations, blockRegistrations, ceiling, sharedReads, sharedWrites class
}

func newStrangerLimits(cfg *config.Config) strangerLimits {
	const writes = "publications and other writes"
	blockWrites := newClass("block-writes", writes, ofBlock, blockRate(cfg.RateLimitWritesAddress))
	sharedWrites := newClass("shared-writes", writes, ofKeys, cfg.RateLimitWritesAddress)
	sharedWrites.block = &blockWrites
	return strangerLimits{
		registrations:      newClass("registrations", "new agents", ofAddress, cfg.RegistrationRate),
		blockRegistrations: newClass("block-registrations", "new agents", ofBlock, blockRate(cfg.RegistrationRate)),
		ceiling:            newClass("all-registrations", "new agents", ofAll, cfg.RegistrationCeiling),
		sharedReads:        newClass("shared-reads", "units of reads", ofKeys, cfg.RateLimitReadsAddress),
		sharedWrites:       sharedWrites,
	}
}

// Owned is a Principal with a known owner.
type Owned interface {
	// OwnerID returns the provider's name of the owner, or "" if it isn't known.
	OwnerID() string
}

// AdmitAgent returns a function that counts a registration against the request's address, its /48 and the whole
// service, or against none of them if it returns the 429 to send. Call the function once all other checks of the
// registration have passed, and undo if the agent is not created after all.
func (l *Limits) AdmitAgent(c *fiber.Ctx) func() (undo func(), err error) {
	return func() (undo func(), err error) {
		own, block, all := &l.strangers.registrations, &l.strangers.blockRegistrations, &l.strangers.ceiling
		list := addressCharges(ClientAddr(c), own, block)
		if !all.rate.Off() {
			list = append(list, charge{all, bucketKey{kind: 's'}, 1})
		}
		switch exceeded, v := l.count(c, list); exceeded {
		case own, block:
			return nil, exceeded.refusalWith(v, "Wait %d s, or use the key of an agent that you have.")
		case all:
			return nil, all.refusalWith(v, "Wait %d s and try again; nothing is wrong with your request.")
		}
		return func() { l.uncount(c, list) }, nil
	}
}
