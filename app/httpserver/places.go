package httpserver

import (
	"errors"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// Places bounds how many of one thing, such as long answers or connections, a node has at a time, and how many of them
// one caller gets.
type Places struct {
	most int

	mu    sync.Mutex
	taken int
	shares
}

// ErrShare and ErrFull are the reasons for having no place: the caller has its share, or all places are taken.
var (
	ErrShare = errors.New("the caller has its share of the places")
	ErrFull  = errors.New("all places are taken")
)

// NewPlaces makes places of which one caller may have a share. The keys of one address or owner together may have
// KeysShare times as many, and the addresses of one /48 together BlockShare times as many.
func NewPlaces(most, share int) *Places {
	return &Places{most: most, shares: newShares(share)}
}

// Enter takes a place for a request. The place counts against the agent of the request, else against its address. It
// also counts against the address, owner and /48 that the caller shares places with. err is ErrShare or ErrFull. If it
// is nil, the caller must call leave once the answer is sent.
func (p *Places) Enter(c *fiber.Ctx) (leave func(), err error) {
	return p.enter(counted(c), placeSharers(c)...)
}

func (p *Places) enter(by bucketKey, sharers ...bucketKey) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.usedUp(by, sharers):
		return nil, ErrShare
	case p.taken >= p.most:
		return nil, ErrFull
	}
	p.taken++
	p.hold(by, sharers, 1)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		p.hold(by, sharers, -1)
	}), nil
}
